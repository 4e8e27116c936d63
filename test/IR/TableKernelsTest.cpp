// Look-ups, boxes and optimizers where ONNX's own cases do not reach.
#include "CheckKernels.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

// Node 0 tests feature 0 against 1, node 1 is in {2, 4} of feature 1; NaN takes the true side of node 1 alone.
TEST_CASE("Trees compare in every mode, send NaN to the named side and sum their leaves") {
  auto tree = [](std::string rest) {
    return R"(leaf_targetids = array<i64: 0, 1, 0>, leaf_weights = dense<[1.0, 2.0, 4.0]> : tensor<3xf32>,
              nodes_falseleafs = array<i64: 0, 1>, nodes_falsenodeids = array<i64: 1, 2>, nodes_featureids = array<i64: 0, 1>,
              nodes_missing_value_tracks_true = array<i64: 0, 1>, nodes_splits = dense<[1.0, 0x7FC00000]> : tensor<2xf32>,
              nodes_trueleafs = array<i64: 1, 1>, nodes_truenodeids = array<i64: 0, 1>, n_targets = 2 : i64, )" +
           rest;
  };
  auto op = [&](std::string name, std::string mode, std::string rest, std::string expected) {
    return "%" + name + " = \"apc.tree_ensemble\"(%x) {" +
           tree("membership_values = dense<[2.0, 4.0, 0x7FC00000]> : tensor<3xf32>, nodes_modes = dense<[" + mode +
                ", 6]> : tensor<2xui8>, " + rest + ", expected = [dense<" + expected + "> : tensor<3x2xf32>]") +
           "} : (tensor<3x2xf32>) -> tensor<3x2xf32>\n";
  };
  std::string one = "tree_roots = array<i64: 0>", two = "tree_roots = array<i64: 0, 1>";
  checkEvaluation("%x = apc.constant dense<[[1.0, 2.0], [2.0, 3.0], [0x7FC00000, 0x7FC00000]]> : tensor<3x2xf32>\n" +
                  op("le", "0", one, "[[1.0, 0.0], [4.0, 0.0], [0.0, 2.0]]") +
                  op("lt", "1", one, "[[0.0, 2.0], [4.0, 0.0], [0.0, 2.0]]") +
                  op("ge", "2", one, "[[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]") +
                  op("gt", "3", one, "[[0.0, 2.0], [1.0, 0.0], [0.0, 2.0]]") +
                  op("eq", "4", one, "[[1.0, 0.0], [4.0, 0.0], [0.0, 2.0]]") +
                  op("ne", "5", one, "[[0.0, 2.0], [1.0, 0.0], [1.0, 0.0]]") +
                  op("sum", "0", two, "[[1.0, 2.0], [8.0, 0.0], [0.0, 4.0]]") +
                  op("mean", "0", two + ", aggregate_function = 0 : i64", "[[5.0e-01, 1.0], [4.0, 0.0], [0.0, 2.0]]") +
                  op("min", "2", two + ", aggregate_function = 2 : i64", "[[1.0, 2.0], [1.0, 0.0], [0.0, 2.0]]") +
                  op("max", "2", two + ", aggregate_function = 3 : i64", "[[1.0, 2.0], [4.0, 0.0], [0.0, 2.0]]") +
                  op("softmax", "0", one + ", post_transform = 1 : i64",
                     "[[0.731058597, 0.268941432], [0.98201379, 0.0179862101], [0.119202919, 0.880797088]]") +
                  op("logistic", "0", one + ", post_transform = 2 : i64",
                     "[[0.731058597, 5.0e-01], [0.98201379, 5.0e-01], [5.0e-01, 0.880797088]]") +
                  op("zero", "0", one + ", post_transform = 3 : i64", "[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]"));
}

TEST_CASE("A score at 0.975 is 1.96 deviations out") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<0.0> : tensor<1x1xf32>
    %0 = "apc.tree_ensemble"(%x) {post_transform = 4 : i64, leaf_targetids = array<i64: 0>, leaf_weights = dense<0.975> : tensor<1xf64>,
         nodes_falseleafs = array<i64: 1>, nodes_falsenodeids = array<i64: 0>, nodes_featureids = array<i64: 0>, nodes_modes = dense<0> : tensor<1xui8>,
         nodes_splits = dense<0.5> : tensor<1xf32>, nodes_trueleafs = array<i64: 1>, nodes_truenodeids = array<i64: 0>, tree_roots = array<i64: 0>,
         expected = [dense<1.959964> : tensor<1x1xf32>]} : (tensor<1x1xf32>) -> tensor<1x1xf32>
  )mlir");
}

TEST_CASE("Labels come from tensors, with a default of their own") {
  checkEvaluation(R"mlir(
    %x = apc.constant dense<[2.5, 1.0, 7.0]> : tensor<3xf64>
    %0 = "apc.label_encoder"(%x) {keys_tensor = dense<[1.0, 2.5]> : tensor<2xf64>, values_tensor = dense<[4, 5]> : tensor<2xi16>,
         default_tensor = dense<9> : tensor<1xi16>, expected = [dense<[5, 4, 9]> : tensor<3xi16>]} : (tensor<3xf64>) -> tensor<3xi16>
    %1 = "apc.label_encoder"(%x) {keys_tensor = dense<[1.0, 2.5]> : tensor<2xf64>, values_int64s = array<i64: 4, 5>, default_int64 = 8 : i64,
         expected = [dense<[5, 4, 8]> : tensor<3xi64>]} : (tensor<3xf64>) -> tensor<3xi64>
  )mlir");
}

// Grams [7] and [7, 8] of the list 7 8 7 9 8: with a skip of one, 7 9 and 8 9 are two apart, and so are 7 and
// the last 8.
TEST_CASE("N-grams are counted with skips and weighted as the mode says") {
  auto op = [](std::string name, std::string rest) {
    return "%" + name +
           R"( = "apc.tf_idf_vectorizer"(%x) {min_gram_length = 1 : i64, max_gram_length = 2 : i64, ngram_counts = array<i64: 0, 1>,
               ngram_indexes = array<i64: 1, 0>, pool_int64s = array<i64: 7, 7, 8>, weights = array<f32: 0.5, 3.0>, )" +
           rest + "} : (tensor<5xi64>) -> tensor<2xf32>\n";
  };
  checkEvaluation(
      "%x = apc.constant dense<[7, 8, 7, 9, 8]> : tensor<5xi64>\n" +
      op("a", R"(mode = "TF", max_skip_count = 0 : i64, expected = [dense<[1.0, 2.0]> : tensor<2xf32>])") +
      op("b", R"(mode = "TF", max_skip_count = 1 : i64, expected = [dense<2.0> : tensor<2xf32>])") +
      op("c", R"(mode = "IDF", max_skip_count = 0 : i64, expected = [dense<[3.0, 5.0e-01]> : tensor<2xf32>])") +
      op("d", R"(mode = "TFIDF", max_skip_count = 1 : i64, expected = [dense<[6.0, 1.0]> : tensor<2xf32>])"));
}

// Boxes 0 and 1 share half of their union, box 2 stands apart.
TEST_CASE("Boxes are taken by score, ties by place, and only above a threshold") {
  checkEvaluation(R"mlir(
    %boxes = apc.constant dense<[[[0.0, 0.0, 3.0, 1.0], [1.0, 0.0, 4.0, 1.0], [9.0, 9.0, 8.0, 8.0]]]> : tensor<1x3x4xf32>
    %tied = apc.constant dense<[[[0.5, 0.5, 0.75]]]> : tensor<1x1x3xf32>
    %all = apc.constant dense<9> : tensor<i64>
    %half = apc.constant dense<0.5> : tensor<f32>
    %less = apc.constant dense<0.4> : tensor<f32>
    %none = apc.none
    %0 = "apc.non_max_suppression"(%boxes, %tied, %all, %half, %none) {expected = [dense<[[0, 0, 2], [0, 0, 0], [0, 0, 1]]> : tensor<3x3xi64>]} : (tensor<1x3x4xf32>, tensor<1x1x3xf32>, tensor<i64>, tensor<f32>, none) -> tensor<3x3xi64>
    %1 = "apc.non_max_suppression"(%boxes, %tied, %all, %less, %none) {expected = [dense<[[0, 0, 2], [0, 0, 0]]> : tensor<2x3xi64>]} : (tensor<1x3x4xf32>, tensor<1x1x3xf32>, tensor<i64>, tensor<f32>, none) -> tensor<2x3xi64>
    %2 = "apc.non_max_suppression"(%boxes, %tied, %all, %less, %half) {expected = [dense<[[0, 0, 2]]> : tensor<1x3xi64>]} : (tensor<1x3x4xf32>, tensor<1x1x3xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<1x3xi64>
    %3 = "apc.non_max_suppression"(%boxes, %tied, %none, %less, %none) {expected = [dense<> : tensor<0x3xi64>]} : (tensor<1x3x4xf32>, tensor<1x1x3xf32>, none, tensor<f32>, none) -> tensor<0x3xi64>
  )mlir");
}

// Adagrad: rate 1 / (1 + 2 * 0.5) = 0.5, H = 0 + 2^2, X = 3 - 0.5 * 2 / 2. Momentum: V = 0.5 * 2 + 0.25 * 2, T being
// above 0.
TEST_CASE("Optimizers count their steps") {
  checkEvaluation(R"mlir(
    %r = apc.constant dense<1.0> : tensor<f32>
    %t = apc.constant dense<2> : tensor<i64>
    %x = apc.constant dense<3.0> : tensor<1xf32>
    %g = apc.constant dense<2.0> : tensor<1xf32>
    %h = apc.constant dense<0.0> : tensor<1xf32>
    %0:2 = "apc.adagrad"(%r, %t, %x, %g, %h) {decay_factor = 0.5 : f32, epsilon = 0.0 : f32, expected = [dense<2.5> : tensor<1xf32>, dense<4.0> : tensor<1xf32>]} : (tensor<f32>, tensor<i64>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>)
    %1:2 = "apc.momentum"(%r, %t, %x, %g, %g) {alpha = 0.5 : f32, beta = 0.25 : f32, mode = "standard", norm_coefficient = 0.0 : f32, expected = [dense<1.5> : tensor<1xf32>, dense<1.5> : tensor<1xf32>]} : (tensor<f32>, tensor<i64>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>)
    %2:3 = "apc.adam"(%r, %t, %x, %g, %h, %h) {alpha = 0.5 : f32, beta = 0.75 : f32, epsilon = 0.0 : f32, norm_coefficient_post = 0.5 : f32, expected = [dense<1.05904150> : tensor<1xf32>, dense<1.0> : tensor<1xf32>, dense<1.0> : tensor<1xf32>]} : (tensor<f32>, tensor<i64>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
  )mlir");
}

/// The values after steps of Adam from 1 at a rate of 0.01 with the gradients 0.5, -0.25 and 1, each step with an
/// epsilon of its own.
static std::vector<double> stepsOfAdam(llvm::ArrayRef<double> epsilons) {
  mlir::MLIRContext context;
  context.loadDialect<apc::ApcDialect, mlir::func::FuncDialect>();
  mlir::Builder builder(&context);
  auto type = mlir::RankedTensorType::get({1}, builder.getF64Type());
  auto constant = [&](double value) { return mlir::DenseElementsAttr::get(type, value); };
  auto rate = mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, builder.getF64Type()), 0.01);
  const double gradients[] = {0.5, -0.25, 1};
  llvm::SmallVector<mlir::DenseElementsAttr, 1> held = {constant(1), constant(0), constant(0)};
  std::vector<double> found;
  for (int64_t step = 0; step < 3; ++step) {
    auto count = mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, builder.getI64Type()), step + 1);
    std::string text = llvm::formatv(
        R"mlir(func.func @f(%r: tensor<f64>, %t: tensor<i64>, %x: tensor<1xf64>, %g: tensor<1xf64>, %v: tensor<1xf64>, %h: tensor<1xf64>) {{
          %0:3 = "apc.adam"(%r, %t, %x, %g, %v, %h) {{alpha = 0.9 : f32, beta = 0.999 : f32, epsilon = {0:e8} : f32} :
              (tensor<f64>, tensor<i64>, tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>)
          return
        })mlir",
        epsilons[step]);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    REQUIRE(module);
    module->walk([&](apc::OperatorInterface op) {
      auto results = apc::foldConstants(op, {rate, count, held[0], constant(gradients[step]), held[1], held[2]});
      REQUIRE(results);
      held = *results;
    });
    found.push_back(held[0].getValues<double>()[0]);
  }
  return found;
}

// ONNX, and Hugging Face's AdamW, add epsilon to the root that is not corrected; PyTorch to the corrected one, which is
// the same where ONNX's is sqrt(1 - beta2^t) times as large. Attributes have 32 bits.
TEST_CASE("Adam adds a large epsilon where ONNX does, and gives PyTorch's steps by an epsilon of its own") {
  auto check = [](const std::vector<double> &found, llvm::ArrayRef<double> expected) {
    for (size_t step = 0; step < expected.size(); ++step)
      CHECK(found[step] == Approx(expected[step]).epsilon(0).margin(3e-8));
  };
  check(stepsOfAdam({0.1, 0.1, 0.1}), {0.998634729, 0.998234771, 0.996484871});
  auto corrected = [](int step) { return 0.1 * std::sqrt(1 - std::pow(0.999, step)); };
  check(stepsOfAdam({corrected(1), corrected(2), corrected(3)}), {0.991666667, 0.989541106, 0.983824077});
}
