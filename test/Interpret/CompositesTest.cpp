// Operators of ONNX that ops of the dialect stand for together: imported, run whole, and each of their ops cut in every
// legal way. Numbers are worked out by hand; those called so are ONNX Runtime's.
#include "../Import/ModelText.h"
#include "../ValueOf.h"
#include "StrategySamples.h"

#include "apc/IR/Kernels/Evaluate.h"
#include "apc/Interpret/Compare.h"
#include "apc/Interpret/Run.h"
#include "apc/Transforms/BuildGraph.h"

#include <cmath>
#include <limits>

using namespace apc;
using apc::test::ints;

namespace {

using Reals = std::vector<double>;
using Texts = std::vector<std::string>;

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

std::string floats(const std::string &name, const Reals &values) {
  std::string text = "attribute { name: \"" + name + "\" type: 6";
  for (double value : values)
    text += std::isnan(value) ? " floats: nan" : " floats: " + std::to_string(value);
  return text + " } ";
}
std::string real(const std::string &name, const std::string &value) {
  return "attribute { name: \"" + name + "\" type: 1 f: " + value + " } ";
}
std::string word(const std::string &name, const std::string &value) {
  return "attribute { name: \"" + name + "\" type: 3 s: \"" + value + "\" } ";
}
std::string words(const std::string &name, const Texts &values) {
  std::string text = "attribute { name: \"" + name + "\" type: 8";
  for (const std::string &value : values)
    text += " strings: \"" + value + "\"";
  return text + " } ";
}

/// Elements row by row; integers where `isInteger`.
struct Numbers {
  llvm::SmallVector<int64_t, 4> dims;
  Reals values;
  bool isInteger = false;

  Tensor tensor(mlir::MLIRContext &context) const {
    mlir::Builder builder(&context);
    mlir::Type element = isInteger ? mlir::Type(builder.getI64Type()) : builder.getF32Type();
    Tensor made = zeros(mlir::RankedTensorType::get(dims, element));
    for (size_t i = 0; i < values.size(); ++i)
      setElement(made, static_cast<int64_t>(i), Number::of(values[i]));
    roundToElement(made);
    return made;
  }
};

std::string dimsText(const Numbers &numbers) {
  std::string text;
  for (int64_t dim : numbers.dims)
    text += " dim { dim_value: " + std::to_string(dim) + " }";
  return text;
}

/// A model of one node.
std::string modelOf(const std::string &op, const std::string &attributes, const std::vector<Numbers> &inputs,
                    size_t numOutputs) {
  std::string domain = op == "NhwcConv" ? "com.microsoft" : "ai.onnx.ml";
  std::string node = "node { name: \"n\" op_type: \"" + op + "\" domain: \"" + domain + "\" " + attributes, values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string name = "x" + std::to_string(i);
    node += " input: \"" + name + "\"";
    values += "input { name: \"" + name + "\" type { tensor_type { elem_type: " + (inputs[i].isInteger ? "7" : "1") +
              " shape {" + dimsText(inputs[i]) + " } } } }\n";
  }
  for (size_t i = 0; i < numOutputs; ++i) {
    node += " output: \"y" + std::to_string(i) + "\"";
    values += test::output("y" + std::to_string(i));
  }
  return test::serialize(node + " }\n" + values, 17,
                         "opset_import { domain: \"" + domain + "\" version: " + (op == "LabelEncoder" ? "4" : "3") +
                             " }");
}

/// The node gives `expected` on one device, and under every strategy of each of its ops.
void check(const std::string &op, const std::string &attributes, const std::vector<Numbers> &inputs,
           const std::vector<Numbers> &expected) {
  INFO(op << " " << attributes);
  ImportOptions options;
  options.findWeights = false;
  auto model = test::importText(modelOf(op, attributes, inputs, expected.size()), options);
  REQUIRE(model->module);
  Sample sample{*model->module, {}, 0, {}, {}};
  for (const Numbers &input : inputs)
    sample.inputs.push_back(input.tensor(model->context));
  sample.expected = valueOf(run(*model->module, sample.inputs, sample));
  REQUIRE(sample.expected.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK(findDifference(sample.expected[i], expected[i].tensor(model->context), {1e-5, 1e-5}).value_or("") == "");
  mlir::FailureOr<OpGraph> graph = buildGraph(*model->module);
  REQUIRE(mlir::succeeded(graph));
  sample.graph = *graph;
  size_t numStrategies = 0;
  for (sample.op = inputs.size(); sample.op < sample.graph.ops.size(); ++sample.op)
    for (const char *mesh : {"[a=2 | b=2]", "[a=3]"})
      numStrategies += checkStrategies(sample, mesh);
  CHECK(numStrategies > 0);
}

const Numbers rows{{3, 2}, {3, -4, 0, 0, -2, -8}};

/// Two trees of one test each, on features 0 and 1 of two: x0 <= 0.5 and x1 > -1.
std::string twoTrees(const std::string &kind, const std::vector<std::array<double, 4>> &weights) {
  Reals amounts;
  std::string lists[3];
  const char *names[] = {"treeids", "nodeids", "ids"};
  for (const auto &[tree, node, id, weight] : weights) {
    for (auto [list, number] : {std::pair(0, tree), std::pair(1, node), std::pair(2, id)})
      lists[list] += " ints: " + std::to_string(static_cast<int64_t>(number));
    amounts.push_back(weight);
  }
  std::string text =
      ints("nodes_treeids", {"4", "4", "4", "9", "9", "9"}) + ints("nodes_nodeids", {"0", "1", "2", "0", "1", "2"}) +
      ints("nodes_featureids", {"0", "0", "0", "1", "0", "0"}) + floats("nodes_values", {0.5, 0, 0, -1, 0, 0}) +
      words("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"}) +
      ints("nodes_truenodeids", {"1", "0", "0", "1", "0", "0"}) +
      ints("nodes_falsenodeids", {"2", "0", "0", "2", "0", "0"}) + floats(kind + "_weights", amounts);
  for (size_t i = 0; i < 3; ++i)
    text += "attribute { name: \"" + kind + "_" + names[i] + "\" type: 7" + lists[i] + " } ";
  return text;
}
const Numbers corners{{5, 2}, {0, 0, 0, -2, 1, 0, 1, -2, missing, 0}};

} // namespace

TEST_CASE("features are scaled and normalised") {
  check("Scaler", floats("offset", {1, 2}) + floats("scale", {2, 0.5}), {rows}, {{{3, 2}, {4, -3, -2, -1, -6, -5}}});
  check("Scaler", floats("offset", {1}), {{{3}, {1, 2, 3}, true}}, {{{3}, {0, 1, 2}}});
  check("Normalizer", word("norm", "MAX"), {rows}, {{{3, 2}, {1, -4.0 / 3, 0, 0, 1, 4}}});
  check("Normalizer", word("norm", "L1"), {rows}, {{{3, 2}, {3.0 / 7, -4.0 / 7, 0, 0, -0.2, -0.8}}});
  check("Normalizer", word("norm", "L2"), {rows},
        {{{3, 2}, {0.6, -0.8, 0, 0, -1 / std::sqrt(17), -4 / std::sqrt(17)}}});
}

TEST_CASE("features are filled in, put side by side and counted out") {
  check("Imputer", floats("imputed_value_floats", {7, 8}) + real("replaced_value_float", "nan"),
        {{{2, 2}, {1, missing, missing, 5}}}, {{{2, 2}, {1, 8, 7, 5}}});
  check("Imputer", ints("imputed_value_int64s", {"7"}), {{{2, 2}, {1, 0, 0, 5}, true}}, {{{2, 2}, {1, 7, 7, 5}, true}});
  check("FeatureVectorizer", ints("inputdimensions", {"1", "2"}), {rows, {{3, 1}, {5, 6, 7}}},
        {{{3, 3}, {3, 5, 0, 0, 6, 0, -2, 7, 0}}});
  check("OneHotEncoder", ints("cats_int64s", {"4", "2"}), {{{3}, {2, 3, 4}, true}}, {{{3, 2}, {0, 1, 0, 0, 1, 0}}});
}

TEST_CASE("labels are those of the equal keys, NaN among them") {
  check("LabelEncoder", floats("keys_floats", {1, missing, 1}) + ints("values_int64s", {"10", "20", "30"}),
        {{{2, 2}, {1, missing, 9, 1}}}, {{{2, 2}, {10, 20, -1, 10}, true}});
  check("LabelEncoder",
        ints("keys_int64s", {"5", "6"}) + floats("values_floats", {0.5, 0.25}) + real("default_float", "-3"),
        {{{3}, {6, 7, 5}, true}}, {{{3}, {0.25, -3, 0.5}}});
}

TEST_CASE("linear models give scores and labels") {
  Numbers x{{3, 2}, {1, 2, 0, 0, -1, 1}};
  check("LinearRegressor",
        floats("coefficients", {1, 2, 3, 4}) + floats("intercepts", {0.5, 0}) + test::integer("targets", 2), {x},
        {{{3, 2}, {5.5, 11, 0.5, 0, 1.5, 1}}});
  std::string three = floats("coefficients", {1, 0, 0, 1, -1, 0}) + ints("classlabels_ints", {"7", "3", "9"});
  check("LinearClassifier", three, {x}, {{{3}, {3, 7, 3}, true}, {{3, 3}, {1, 2, -1, 0, 0, 0, -1, 1, 1}}});
  double e = std::exp(1), sum = e + e * e + 1 / e, last = 2 * e + 1 / e;
  check("LinearClassifier", three + word("post_transform", "SOFTMAX"), {x},
        {{{3}, {3, 7, 3}, true},
         {{3, 3}, {e / sum, e * e / sum, 1 / e / sum, 1.0 / 3, 1.0 / 3, 1.0 / 3, 1 / e / last, e / last, e / last}}});
  check("LinearClassifier", three + word("post_transform", "SOFTMAX_ZERO"), {x},
        {{{3}, {3, 7, 3}, true},
         {{3, 3}, {e / sum, e * e / sum, 1 / e / sum, 0, 0, 0, 1 / e / last, e / last, e / last}}});
  std::string two = floats("coefficients", {1, -1}) + ints("classlabels_ints", {"7", "3"});
  check("LinearClassifier", two, {x}, {{{3}, {7, 7, 7}, true}, {{3, 2}, {2, -1, 1, 0, 3, -2}}});
  double low = 1 / (1 + e), least = 1 / (1 + e * e);
  check("LinearClassifier", two + word("post_transform", "LOGISTIC"), {x},
        {{{3}, {7, 7, 7}, true}, {{3, 2}, {1 - low, low, 0.5, 0.5, 1 - least, least}}});
  check("LinearRegressor", floats("coefficients", {1, 2}) + word("post_transform", "PROBIT"), {{{1, 2}, {0.775, 0.1}}},
        {{{1, 1}, {1.959964}}});
}

TEST_CASE("support vectors regress by every kernel") {
  Numbers x{{3, 2}, {1, 2, 0, 0, -1, 1}};
  std::string two = floats("support_vectors", {1, 0, 0, 1}) + floats("coefficients", {2, -1}) + floats("rho", {0.5}) +
                    test::integer("n_supports", 2);
  check("SVMRegressor", two, {x}, {{{3, 1}, {0.5, 0.5, -2.5}}});
  check("SVMRegressor", two + test::integer("one_class", 1), {x}, {{{3, 1}, {1, 1, -1}}});
  check("SVMRegressor", floats("coefficients", {2, -1}) + floats("rho", {0.5}), {x}, {{{3, 1}, {0.5, 0.5, -2.5}}});
  auto kernel = [&](const std::string &type) {
    return two + word("kernel_type", type) + floats("kernel_params", {0.5, 1, 2});
  };
  check("SVMRegressor", kernel("POLY"), {x}, {{{3, 1}, {1, 1.5, -1.25}}});
  check("SVMRegressor", kernel("SIGMOID"), {x},
        {{{3, 1},
          {2 * std::tanh(1.5) - std::tanh(2) + 0.5, std::tanh(1) + 0.5, 2 * std::tanh(0.5) - std::tanh(1.5) + 0.5}}});
  double one = std::exp(-0.5), root = std::exp(-1), half = std::exp(-2.5);
  check("SVMRegressor", kernel("RBF"), {x},
        {{{3, 1}, {2 * std::exp(-2) - root + 0.5, one + 0.5, 2 * half - one + 0.5}}});
}

TEST_CASE("support vectors classify by wins of pairs") {
  Numbers x{{3, 2}, {1, 2, 0, 0, -1, 1}};
  std::string three = floats("support_vectors", {1, 0, 0, 1, -1, -1}) + floats("coefficients", {1, -1, -1, 1, 1, -1}) +
                      floats("rho", {0, 0, 0}) + ints("vectors_per_class", {"1", "1", "1"}) +
                      ints("classlabels_ints", {"7", "8", "9"});
  check("SVMClassifier", three, {x}, {{{3}, {8, 9, 8}, true}, {{3, 3}, {-1, 4, 5, 0, 0, 0, -2, -1, 1}}});
  std::string two = floats("support_vectors", {1, 0, 0, 1}) + floats("coefficients", {1, -1}) + floats("rho", {1.5}) +
                    ints("vectors_per_class", {"1", "1"}) + ints("classlabels_ints", {"7", "8"});
  Numbers labels{{3}, {7, 7, 8}, true};
  check("SVMClassifier", two, {x}, {labels, {{3, 2}, {-0.5, 0.5, -1.5, 1.5, 0.5, -0.5}}});
  check("SVMClassifier", two + word("post_transform", "SOFTMAX"), {x},
        {labels, {{3, 2}, {0.5, 0.5, -0.5, 1.5, 1.5, -0.5}}});
  auto chance = [](double line) { return 1 / (1 + std::exp(line)); };
  check(
      "SVMClassifier", two + floats("prob_a", {-2}) + floats("prob_b", {0.25}), {x},
      {labels,
       {{3, 2}, {chance(-0.75), 1 - chance(-0.75), chance(-2.75), 1 - chance(-2.75), chance(1.25), 1 - chance(1.25)}}});
  check("SVMClassifier",
        floats("coefficients", {1, 0, 0, 1, -1, -1}) + floats("rho", {0.5}) + ints("classlabels_ints", {"7", "8", "9"}),
        {x}, {{{3}, {8, 7, 8}, true}, {{3, 3}, {1.5, 2.5, -2.5, 0.5, 0.5, 0.5, -0.5, 1.5, 0.5}}});
}

TEST_CASE("trees regress in every aggregate, with a base") {
  std::string one =
      twoTrees("target", {{4, 1, 0, 1}, {4, 2, 0, 2}, {9, 1, 0, 10}, {9, 2, 0, 20}}) + test::integer("n_targets", 1);
  auto add = [&](const std::string &aggregate) { return one + word("aggregate_function", aggregate); };
  check("TreeEnsembleRegressor", add("SUM"), {corners}, {{{5, 1}, {11, 21, 12, 22, 12}}});
  check("TreeEnsembleRegressor", add("AVERAGE") + floats("base_values", {100}), {corners},
        {{{5, 1}, {105.5, 110.5, 106, 111, 106}}});
  check("TreeEnsembleRegressor", add("MIN"), {corners}, {{{5, 1}, {1, 1, 2, 2, 2}}});
  check("TreeEnsembleRegressor", add("MAX"), {corners}, {{{5, 1}, {10, 20, 10, 20, 10}}});
  check("TreeEnsembleRegressor", one + ints("nodes_missing_value_tracks_true", {"1", "0", "0", "0", "0", "0"}),
        {corners}, {{{5, 1}, {11, 21, 12, 22, 11}}});
}

TEST_CASE("a leaf may have several targets, and none of one") {
  std::string two = twoTrees("target", {{4, 1, 0, 1}, {4, 2, 1, 2}, {9, 1, 0, 10}, {9, 1, 1, 11}, {9, 2, 0, 20}}) +
                    test::integer("n_targets", 2);
  check("TreeEnsembleRegressor", two, {corners}, {{{5, 2}, {11, 11, 21, 0, 10, 13, 20, 2, 10, 13}}});
  check("TreeEnsembleRegressor", two + word("aggregate_function", "MIN"), {corners},
        {{{5, 2}, {1, 11, 1, 0, 10, 2, 20, 2, 10, 2}}});
}

TEST_CASE("a tree may be a single leaf") {
  check("TreeEnsembleRegressor",
        ints("nodes_treeids", {"0"}) + ints("nodes_nodeids", {"5"}) + ints("nodes_featureids", {"0"}) +
            floats("nodes_values", {0}) + words("nodes_modes", {"LEAF"}) + ints("nodes_truenodeids", {"0"}) +
            ints("nodes_falsenodeids", {"0"}) + ints("target_treeids", {"0"}) + ints("target_nodeids", {"5"}) +
            ints("target_ids", {"0"}) + floats("target_weights", {7}) + test::integer("n_targets", 1),
        {rows}, {{{3, 1}, {7, 7, 7}}});
}

TEST_CASE("trees classify among three") {
  std::string three = twoTrees("class", {{4, 1, 0, 0.1},
                                         {4, 1, 1, 0.9},
                                         {4, 2, 1, 0.5},
                                         {4, 2, 2, 0.5},
                                         {9, 1, 1, 0.2},
                                         {9, 1, 0, 0.8},
                                         {9, 2, 2, 0.7},
                                         {9, 2, 1, 0.3}}) +
                      ints("classlabels_int64s", {"10", "20", "30"});
  check("TreeEnsembleClassifier", three, {corners},
        {{{5}, {20, 20, 10, 30, 10}, true},
         {{5, 3}, {0.9, 1.1, 0, 0.1, 1.2, 0.7, 0.8, 0.7, 0.5, 0, 0.8, 1.2, 0.8, 0.7, 0.5}}});
  check("TreeEnsembleClassifier", three + floats("base_values", {0.1, 0.25, 0.9}), {corners},
        {{{5}, {20, 30, 30, 30, 30}, true},
         {{5, 3}, {1, 1.35, 0.9, 0.2, 1.45, 1.6, 0.9, 0.95, 1.4, 0.1, 1.05, 2.1, 0.9, 0.95, 1.4}}});
}

// ONNX Runtime's numbers.
TEST_CASE("trees classify among two by the weights of one") {
  std::string labels = ints("classlabels_int64s", {"10", "20"});
  auto weighing = [&](double id, double least) {
    return twoTrees("class", {{4, 1, id, least}, {4, 2, id, 0.5}, {9, 1, id, 0.2}, {9, 2, id, 0.3}}) + labels;
  };
  Numbers halves{{5}, {10, 10, 20, 20, 20}, true}, above{{5}, {20, 20, 20, 20, 20}, true};
  check("TreeEnsembleClassifier", weighing(0, 0.1), {corners},
        {halves, {{5, 2}, {0.7, 0.3, 0.6, 0.4, 0.3, 0.7, 0.2, 0.8, 0.3, 0.7}}});
  check("TreeEnsembleClassifier", weighing(0, -0.1), {corners},
        {above, {{5, 2}, {-0.1, 0.1, -0.2, 0.2, -0.7, 0.7, -0.8, 0.8, -0.7, 0.7}}});
  check("TreeEnsembleClassifier", weighing(0, 0.1) + word("post_transform", "LOGISTIC"), {corners},
        {halves,
         {{5, 2},
          {0.4255575, 0.5744425, 0.4013124, 0.5986877, 0.3318123, 0.6681877, 0.3100255, 0.6899745, 0.3318123,
           0.6681877}}});
  check("TreeEnsembleClassifier", weighing(1, 0.1) + word("post_transform", "SOFTMAX"), {corners},
        {halves,
         {{5, 2},
          {0.4255575, 0.5744425, 0.4013123, 0.5986877, 0.3318122, 0.6681877, 0.3100255, 0.6899745, 0.3318122,
           0.6681877}}});
  check("TreeEnsembleClassifier", weighing(0, 0.1) + floats("base_values", {0.25}), {corners},
        {above, {{5, 2}, {0.45, 0.55, 0.35, 0.65, 0.05, 0.95, -0.05, 1.05, 0.05, 0.95}}});
}

// Weights stand with their channels last as well: [outputs, height, width, channels].
TEST_CASE("convolutions of channels that stand last") {
  check("NhwcConv", ints("kernel_shape", {"2", "1"}),
        {{{1, 2, 1, 2}, {1, 2, 3, 4}}, {{2, 2, 1, 2}, {1, 10, 100, 1000, 1, 1, 1, 1}}, {{2}, {0.5, 0}}},
        {{{1, 1, 1, 2}, {4321.5, 10}}});
  check("NhwcConv", test::integer("group", 2) + ints("strides", {"2"}),
        {{{2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}, {{2, 1, 1}, {10, 100}}},
        {{{2, 2, 2}, {10, 200, 50, 600, 70, 800, 110, 1200}}});
}
