// Operators that ops of the dialect stand for together: names, weights, and faults of nodes.
#include "ModelText.h"

using namespace apc::test;
using Catch::Contains;

namespace {

std::string floats(const std::string &name, Names values) {
  std::string text = "attribute { name: \"" + name + "\" type: 6";
  for (const std::string &value : values)
    text += " floats: " + value;
  return text + " } ";
}
std::string strings(const std::string &name, Names values) {
  std::string text = "attribute { name: \"" + name + "\" type: 8";
  for (const std::string &value : values)
    text += " strings: \"" + value + "\"";
  return text + " } ";
}

/// A model of one node called "n" over x [3, 2].
std::string modelOf(const std::string &op, const std::string &attributes, Names outputs = {"y"}) {
  std::string graph = node(op, {"x"}, outputs, "name: \"n\" domain: \"ai.onnx.ml\" " + attributes);
  for (const std::string &name : outputs)
    graph += output(name);
  return serialize(graph + input("x", {"3", "2"}), 17, "opset_import { domain: \"ai.onnx.ml\" version: 3 }");
}

std::string faultOf(const std::string &op, const std::string &attributes, Names outputs = {"y"}) {
  return importError(modelOf(op, attributes, outputs));
}

} // namespace

TEST_CASE("the op of a composite's result is called like the node, others after it") {
  auto model = importText(modelOf("Scaler", floats("offset", {"1"}) + floats("scale", {"2", "3"})));
  CHECK_THAT(model->text(), Contains("loc(\"n/sub\")") && Contains("apc.values = [\"y\"]} : (tensor<3x2xf32>, "
                                                                   "tensor<2xf32>) -> tensor<3x2xf32> loc(\"n\")"));
  CHECK(model->report.operators == std::map<std::string, int64_t>{{"ai.onnx.ml.Scaler", 1}});
  CHECK(model->report.notes.empty());
}

TEST_CASE("coefficients are weights; offsets and tables are not") {
  auto model = importText(modelOf("LinearClassifier",
                                  floats("coefficients", {"1", "2", "3", "4"}) + floats("intercepts", {"5", "6"}) +
                                      ints("classlabels_ints", {"7", "8"}),
                                  {"y", "z"}));
  CHECK_THAT(model->text(), Contains("apc.parameter \"n/coefficients\" \"initializer\"") &&
                                Contains("apc.parameter \"n/intercepts\" \"initializer\"") &&
                                Contains("apc.constant dense<[7, 8]>"));
  model = importText(modelOf("LinearClassifier",
                             floats("coefficients", {"1", "2"}) + ints("classlabels_ints", {"7", "8"}), {"y", "z"}));
  CHECK_THAT(model->text(), Contains("apc.parameter \"n/coefficients\"") && Contains("apc.constant dense<[-1.0") &&
                                Contains("apc.constant dense<[1.0"));
}

TEST_CASE("an operator of ONNX Runtime without its domain is read as if it had it") {
  std::string graph = node("NhwcConv", {"x", "w"}, {"y"}) + input("x", {"1", "4", "4", "2"}) +
                      input("w", {"3", "2", "2", "2"}) + output("y");
  auto model = importText(serialize(graph, 17));
  CHECK_THAT(model->text(), Contains("apc.conv") && Contains("tensor<1x3x3x3xf32>"));
  CHECK(llvm::is_contained(model->report.notes,
                           "operator NhwcConv is none of ONNX's; it is read as that of the domain com.microsoft"));
}

TEST_CASE("results that nothing names are not computed, and an operator may change nothing") {
  std::string scores = floats("coefficients", {"1", "2"}) + ints("classlabels_ints", {"7", "8"});
  auto model = importText(serialize(node("LinearClassifier", {"x"}, {"y"}, "domain: \"ai.onnx.ml\" " + scores) +
                                        input("x", {"3", "2"}) + output("y"),
                                    17, "opset_import { domain: \"ai.onnx.ml\" version: 1 }"));
  CHECK_THAT(model->text(), Contains("apc.where") && !Contains("apc.mul"));
  CHECK_THAT(importText(modelOf("Scaler", ""))->text(), Contains("apc.identity") && Contains("loc(\"n\")"));
}

TEST_CASE("an attribute that a composite has not is noted") {
  auto model = importText(modelOf("Scaler", floats("offset", {"1"}) + integer("axis", 1)));
  REQUIRE(model->report.notes.size() == 1);
  CHECK_THAT(model->report.notes[0], Contains("attribute 'axis' of node 'n' (Scaler) is none of the operator's"));
}

TEST_CASE("faults of composites name node, attribute and what is accepted") {
  CHECK_THAT(faultOf("Scaler", floats("offset", {"1", "2", "3"})),
             Contains("node 'n' (Scaler): attribute 'offset' has 3 entries for an input of shape [3, 2]; one, or one "
                      "for each feature"));
  CHECK_THAT(faultOf("Scaler", integer("scale", 1)),
             Contains("'scale' is of another kind; a list of floats is needed"));
  CHECK_THAT(faultOf("Scaler", "", {"y", "z"}), Contains("has 2 outputs, at most 1 are accepted"));
  CHECK_THAT(faultOf("Normalizer", "attribute { name: \"norm\" type: 3 s: \"L3\" }"),
             Contains("'norm' is 'L3'; MAX, L1, L2 are accepted"));
  CHECK_THAT(faultOf("LinearRegressor", floats("coefficients", {"1", "2", "3"})),
             Contains("'coefficients' has 3 entries for 2 features and 1 scores"));
  CHECK_THAT(faultOf("LinearClassifier",
                     floats("coefficients", {"1", "2"}) + strings("classlabels_strings", {"a", "b"}), {"y", "z"}),
             Contains("'classlabels_strings' holds strings; numbers in 'classlabels_ints' are accepted"));
  CHECK_THAT(faultOf("LabelEncoder", strings("keys_strings", {"a"}) + ints("values_int64s", {"1"})),
             Contains("'keys_strings' holds strings; numbers in 'keys_int64s', 'keys_floats' or 'keys_tensor' are "
                      "accepted"));
  CHECK_THAT(faultOf("OneHotEncoder", strings("cats_strings", {"a"})), Contains("'cats_strings' holds strings"));
}

TEST_CASE("trees that do not hang together are faults") {
  auto regressor = [](Names trees, Names whenFalse, const std::string &modes, const std::string &weightAt) {
    return ints("nodes_treeids", trees) + ints("nodes_nodeids", {"0", "1", "2"}) +
           ints("nodes_featureids", {"0", "0", "0"}) + floats("nodes_values", {"0", "0", "0"}) +
           strings("nodes_modes", {modes, "LEAF", "LEAF"}) + ints("nodes_truenodeids", {"1", "0", "0"}) +
           ints("nodes_falsenodeids", whenFalse) + ints("target_treeids", {"0"}) + ints("target_nodeids", {weightAt}) +
           ints("target_ids", {"0"}) + floats("target_weights", {"1"});
  };
  Names one = {"0", "0", "0"}, right = {"2", "0", "0"};
  CHECK(faultOf("TreeEnsembleRegressor", regressor(one, right, "BRANCH_LEQ", "1")) == "imported");
  CHECK_THAT(faultOf("TreeEnsembleRegressor", regressor(one, {"9", "0", "0"}, "BRANCH_LEQ", "1")),
             Contains("node 0 of tree 0 leads to node 9, which is not there"));
  CHECK_THAT(faultOf("TreeEnsembleRegressor", regressor(one, {"1", "0", "0"}, "BRANCH_LEQ", "1")),
             Contains("tree 0 has 2 nodes to which none leads; one is needed"));
  CHECK_THAT(faultOf("TreeEnsembleRegressor", regressor(one, right, "BRANCH", "1")),
             Contains("'nodes_modes' has 'BRANCH'; LEAF, BRANCH_LEQ"));
  CHECK_THAT(faultOf("TreeEnsembleRegressor", regressor(one, right, "BRANCH_LEQ", "0")),
             Contains("a weight stands at node 0 of tree 0, which is no leaf"));
  CHECK_THAT(faultOf("TreeEnsembleRegressor", regressor({"0", "0"}, right, "BRANCH_LEQ", "1")),
             Contains("attributes 'nodes_...' have 3 and 2 entries"));
  CHECK_THAT(faultOf("TreeEnsembleClassifier", strings("classlabels_strings", {"a", "b"}), {"y", "z"}),
             Contains("'classlabels_strings' holds strings; numbers in 'classlabels_int64s' are accepted"));
}

TEST_CASE("support vectors that do not fit are faults") {
  std::string labels = ints("classlabels_ints", {"1", "2", "3"}), vectors = ints("vectors_per_class", {"1", "1", "1"});
  CHECK_THAT(faultOf("SVMRegressor", integer("n_supports", 2) + floats("rho", {"1"}) +
                                         floats("support_vectors", {"1", "2"}) + floats("coefficients", {"1", "2"})),
             Contains("'support_vectors' has 2 entries for 2 vectors of 2 features"));
  CHECK_THAT(faultOf("SVMClassifier", labels + vectors + floats("coefficients", {"1"}), {"y", "z"}),
             Contains("'vectors_per_class' and 'coefficients' have 3 and 1 entries; a count for each of 3 classes"));
  CHECK_THAT(faultOf("SVMClassifier", labels + vectors + floats("prob_a", {"1", "2", "3"}), {"y", "z"}),
             Contains("probabilities of two classes, by one of each, are accepted"));
}

TEST_CASE("forests have more entries than other lists") {
  std::string list = "attribute { name: \"keys_int64s\" type: 7", values = list;
  for (int i = 0; i < 70000; ++i)
    list += " ints: " + std::to_string(i);
  values = list;
  values.replace(values.find("keys"), 4, "values");
  CHECK_THAT(importText(serialize(node("LabelEncoder", {"x"}, {"y"},
                                       "domain: \"ai.onnx.ml\" " + list + " } " + values + " }") +
                                      input("x", {"3"}, 7) + output("y"),
                                  17, "opset_import { domain: \"ai.onnx.ml\" version: 2 }"))
                 ->text(),
             Contains("apc.label_encoder"));
}

TEST_CASE("operators that make maps are refused as such") {
  CHECK_THAT(faultOf("ZipMap", ints("classlabels_int64s", {"1", "2"})), Contains("ai.onnx.ml.ZipMap (n (maps))"));
}
