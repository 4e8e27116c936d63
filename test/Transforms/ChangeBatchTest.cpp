// Models at another batch: dims that carry it change, others of the same size do not.
#include "apc/Transforms/ChangeBatch.h"
#include "../ValueOf.h"
#include "Parsed.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/Support/Error.h"

#include "mlir/IR/Verifier.h"

using namespace apc;

namespace {

struct BatchedModel : Parsed {
  using Parsed::Parsed;

  std::string print() {
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    return text;
  }
  std::string refusalOf(int64_t batch) {
    llvm::Error error = changeBatch(mainOf(*module), batch);
    return error ? takeMessage(std::move(error)).second : "";
  }
};

/// Tokens [4, 6] of a table of 24 rows, so that 24 is a batch of tokens as well as a vocabulary; the reshape to rows of
/// tokens and its inverse hold the batch in constants.
const char *const tokens = R"(
func.func @main(%ids: tensor<4x6xi64> {apc.name = "ids"}, %labels: tensor<4x6xi64> {apc.name = "labels"}) -> tensor<f32> {
  %none = apc.none
  %table = apc.parameter "table" "initializer" : tensor<24x8xf32>
  %w = apc.parameter "w" "initializer" : tensor<8x24xf32>
  %0 = "apc.gather"(%table, %ids) {axis = 0 : i64} : (tensor<24x8xf32>, tensor<4x6xi64>) -> tensor<4x6x8xf32> loc("embed")
  %rows = apc.constant dense<[24, 8]> : tensor<2xi64>
  %1 = "apc.reshape"(%0, %rows) : (tensor<4x6x8xf32>, tensor<2xi64>) -> tensor<24x8xf32> loc("rows")
  %2 = "apc.matmul"(%1, %w) : (tensor<24x8xf32>, tensor<8x24xf32>) -> tensor<24x24xf32> loc("head")
  %flat = apc.constant dense<24> : tensor<1xi64>
  %3 = "apc.reshape"(%labels, %flat) : (tensor<4x6xi64>, tensor<1xi64>) -> tensor<24xi64> loc("flat")
  %4:2 = "apc.softmax_cross_entropy_loss"(%2, %3, %none) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<24x24xf32>, tensor<24xi64>, none) -> (tensor<f32>, none) loc("loss")
  return %4#0 : tensor<f32>
}
)";

} // namespace

TEST_CASE("The batch is found by factors, and constants that hold it follow") {
  for (auto [batch, rows] : {std::pair(2, "12"), std::pair(8, "48"), std::pair(3, "18")}) {
    BatchedModel model(tokens);
    CHECK(valueOf(batchOf(mainOf(*model.module))) == 4);
    REQUIRE(model.refusalOf(batch) == "");
    CHECK(mlir::succeeded(mlir::verify(*model.module)));
    std::string text = model.print(), size = std::to_string(batch), all = rows;
    INFO(text);
    CHECK_THAT(text, Catch::Contains("tensor<" + size + "x6x8xf32>"));
    CHECK_THAT(text, Catch::Contains("dense<[" + all + ", 8]>"));
    CHECK_THAT(text, Catch::Contains("-> tensor<" + all + "x24xf32>")); // the vocabulary stays
    CHECK_THAT(text, Catch::Contains("tensor<" + all + "xi64>"));
    CHECK_THAT(text, Catch::Contains("apc.parameter \"table\" \"initializer\" : tensor<24x8xf32>"));
    CHECK(valueOf(batchOf(mainOf(*model.module))) == batch);
  }
}

TEST_CASE("A model of one sample takes several where every dim of 1 stands in the place of the batch") {
  BatchedModel model(R"(
func.func @main(%ids: tensor<1x8xi64> {apc.name = "ids"}, %mask: tensor<1x1x8x8xf32> {apc.name = "mask"}) -> tensor<8x16xf32> {
  %table = apc.parameter "table" "initializer" : tensor<24x16xf32>
  %bias = apc.parameter "bias" "initializer" : tensor<1x8x16xf32>
  %w = apc.parameter "w" "initializer" : tensor<16x16xf32>
  %0 = "apc.gather"(%table, %ids) {axis = 0 : i64} : (tensor<24x16xf32>, tensor<1x8xi64>) -> tensor<1x8x16xf32>
  %1 = "apc.add"(%0, %bias) : (tensor<1x8x16xf32>, tensor<1x8x16xf32>) -> tensor<1x8x16xf32>
  %heads = apc.constant dense<[1, 8, 4, 4]> : tensor<4xi64>
  %2 = "apc.reshape"(%1, %heads) : (tensor<1x8x16xf32>, tensor<4xi64>) -> tensor<1x8x4x4xf32>
  %q = "apc.transpose"(%2) {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x8x4x4xf32>) -> tensor<1x4x8x4xf32>
  %k = "apc.transpose"(%2) {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x8xf32>
  %3 = "apc.matmul"(%q, %k) : (tensor<1x4x8x4xf32>, tensor<1x4x4x8xf32>) -> tensor<1x4x8x8xf32>
  %4 = "apc.add"(%3, %mask) : (tensor<1x4x8x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x4x8x8xf32>
  %5 = "apc.matmul"(%4, %q) : (tensor<1x4x8x8xf32>, tensor<1x4x8x4xf32>) -> tensor<1x4x8x4xf32>
  %6 = "apc.transpose"(%5) {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x4x8x4xf32>) -> tensor<1x8x4x4xf32>
  %rows = apc.constant dense<[8, 16]> : tensor<2xi64>
  %7 = "apc.reshape"(%6, %rows) : (tensor<1x8x4x4xf32>, tensor<2xi64>) -> tensor<8x16xf32>
  %8 = "apc.matmul"(%7, %w) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %back = apc.constant dense<[1, 8, 16]> : tensor<3xi64>
  %9 = "apc.reshape"(%8, %back) : (tensor<8x16xf32>, tensor<3xi64>) -> tensor<1x8x16xf32>
  %10 = "apc.reshape"(%9, %rows) : (tensor<1x8x16xf32>, tensor<2xi64>) -> tensor<8x16xf32>
  return %10 : tensor<8x16xf32>
})");
  REQUIRE(model.refusalOf(3) == "");
  CHECK(mlir::succeeded(mlir::verify(*model.module)));
  std::string text = model.print();
  INFO(text);
  CHECK_THAT(text, Catch::Contains("dense<[3, 8, 4, 4]>") && Catch::Contains("dense<[24, 16]>") &&
                       Catch::Contains("dense<[3, 8, 16]>"));
  CHECK_THAT(text, Catch::Contains("(tensor<3x4x8x4xf32>, tensor<3x4x4x8xf32>) -> tensor<3x4x8x8xf32>"));
  CHECK_THAT(text, Catch::Contains("(tensor<3x4x8x8xf32>, tensor<3x1x8x8xf32>) -> tensor<3x4x8x8xf32>"));
  CHECK_THAT(text, Catch::Contains("\"bias\" \"initializer\" : tensor<1x8x16xf32>"));
  CHECK(valueOf(batchOf(mainOf(*model.module))) == 3);
}

TEST_CASE("The model's own batch changes nothing") {
  BatchedModel model(tokens), same(tokens);
  CHECK(model.refusalOf(4) == "");
  CHECK(model.print() == same.print());
}

TEST_CASE("A mean over the batch counts the samples that there are then") {
  BatchedModel model(R"(
func.func @main(%x: tensor<4x3xf32> {apc.name = "x"}) -> tensor<f32> {
  %axes = apc.constant dense<[0, 1]> : tensor<2xi64>
  %0 = "apc.reduce_mean"(%x, %axes) {keepdims = 0 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<f32> loc("mean")
  return %0 : tensor<f32>
})");
  REQUIRE(model.refusalOf(8) == "");
  INFO(model.print());
  CHECK_THAT(model.print(), Catch::Contains("tensor<8x3xf32>") && !Catch::Contains("count"));
}

TEST_CASE("The batch may stand inside a dim, as heads of an attention have it") {
  BatchedModel model(R"(
func.func @main(%x: tensor<6x7x8xf32> {apc.name = "x"}) -> tensor<42x8xf32> {
  %0 = "apc.transpose"(%x) {perm = array<i64: 1, 0, 2>} : (tensor<6x7x8xf32>) -> tensor<7x6x8xf32> loc("turn")
  %heads = apc.constant dense<[7, 12, 4]> : tensor<3xi64>
  %1 = "apc.reshape"(%0, %heads) : (tensor<7x6x8xf32>, tensor<3xi64>) -> tensor<7x12x4xf32> loc("heads")
  %rows = apc.constant dense<[42, 8]> : tensor<2xi64>
  %2 = "apc.reshape"(%1, %rows) : (tensor<7x12x4xf32>, tensor<2xi64>) -> tensor<42x8xf32> loc("rows")
  return %2 : tensor<42x8xf32>
})");
  REQUIRE(model.refusalOf(3) == "");
  INFO(model.print());
  CHECK_THAT(model.print(), Catch::Contains("-> tensor<7x6x4xf32>") && Catch::Contains("-> tensor<21x8xf32>"));
}

TEST_CASE("Numbers of their own for each sample do not allow another batch") {
  auto adding = [](const std::string &what) {
    return R"(
func.func @main(%x: tensor<4x3xf32> {apc.name = "x"}) -> tensor<4x3xf32> {
  )" + what +
           R"(
  %0 = "apc.add"(%x, %w) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32> loc("sum")
  return %0 : tensor<4x3xf32>
})";
  };
  CHECK(BatchedModel(adding(R"(%w = apc.parameter "w" "initializer" : tensor<4x3xf32>)")).refusalOf(2) ==
        "parameter 'w' holds the batch of 4; it does not allow one of 2");
  CHECK_THAT(BatchedModel(
                 adding(R"(%w = apc.constant dense<[[1.,2.,3.],[1.,2.,3.],[1.,2.,3.],[1.,2.,4.]]> : tensor<4x3xf32>)"))
                 .refusalOf(2),
             Catch::Contains("does not allow a batch of 2 in the place of 4: a constant has numbers of its own"));
  CHECK(BatchedModel(adding(R"(%w = apc.constant dense<1.0> : tensor<4x3xf32>)")).refusalOf(2) == "");
}

TEST_CASE("Indices of a pooling, which number all samples together, do not allow another batch") {
  BatchedModel model(R"(
func.func @main(%x: tensor<4x2x4x4xf32> {apc.name = "x"}) -> (tensor<4x2x2x2xf32>, tensor<4x2x2x2xi64>) {
  %0:2 = "apc.max_pool"(%x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<4x2x4x4xf32>) -> (tensor<4x2x2x2xf32>, tensor<4x2x2x2xi64>) loc("pool")
  return %0#0, %0#1 : tensor<4x2x2x2xf32>, tensor<4x2x2x2xi64>
})");
  CHECK(model.refusalOf(2) == "op 'pool' (max_pool) does not allow a batch of 2 in the place of 4: its indices number "
                              "the elements of all samples together");
}

TEST_CASE("A model without inputs has no batch") {
  BatchedModel model(R"(
func.func @main() -> tensor<2xf32> {
  %w = apc.parameter "w" "initializer" : tensor<2xf32>
  return %w : tensor<2xf32>
})");
  CHECK(model.refusalOf(2) == "no input has a dim that could carry the batch");
}

TEST_CASE("Inputs and outputs say which of their dims is the batch, and those for all samples say nothing") {
  const std::string masked = R"(
func.func @main(%scores: tensor<4x2x6x6xf32> {apc.name = "scores"}, %bias: tensor<2x1x6xf32> {apc.name = "bias"}, %turned: tensor<6x6x2x4xf32> {apc.name = "turned"}) -> (tensor<4x2x6x6xf32>, tensor<2x1x6xf32>) {
  %0 = "apc.add"(%scores, %bias) : (tensor<4x2x6x6xf32>, tensor<2x1x6xf32>) -> tensor<4x2x6x6xf32>
  %1 = "apc.transpose"(%turned) {perm = array<i64: 3, 2, 1, 0>} : (tensor<6x6x2x4xf32>) -> tensor<4x2x6x6xf32>
  %2 = "apc.add"(%0, %1) : (tensor<4x2x6x6xf32>, tensor<4x2x6x6xf32>) -> tensor<4x2x6x6xf32>
  return %2, %bias : tensor<4x2x6x6xf32>, tensor<2x1x6xf32>
})";
  auto dimOf = [](mlir::Attribute dim) { return dim ? llvm::cast<mlir::IntegerAttr>(dim).getInt() : -1; };
  auto check = [&](mlir::func::FuncOp main) {
    CHECK(dimOf(main.getArgAttr(0, batchDimAttribute)) == 0);
    CHECK(dimOf(main.getArgAttr(1, batchDimAttribute)) == -1);
    CHECK(dimOf(main.getArgAttr(2, batchDimAttribute)) == 3);
    CHECK(dimOf(main.getResultAttr(0, batchDimAttribute)) == 0);
    CHECK(dimOf(main.getResultAttr(1, batchDimAttribute)) == -1);
  };
  BatchedModel model(masked), changed(masked);
  markBatch(mainOf(*model.module));
  check(mainOf(*model.module));
  // A batch of 1 is told from a dim of 1 by what the model came with.
  REQUIRE(changed.refusalOf(1) == "");
  markBatch(mainOf(*changed.module));
  check(mainOf(*changed.module));
}
