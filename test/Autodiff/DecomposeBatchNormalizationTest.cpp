// Batch normalisation in parts.
#include "apc/Autodiff/DecomposeBatchNormalization.h"
#include "GradientPrograms.h"

#include "apc/IR/Ops/Normalization/Normalization.h"

#include "mlir/IR/Verifier.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// One batch normalisation over [4, 3, 2] with `attributes`; results Y, running mean and running variance where it
/// `trains`.
std::string batchText(const std::string &attributes, bool trains) {
  std::string made = trains ? "tensor<4x3x2xf64>, tensor<3xf64>, tensor<3xf64>" : "tensor<4x3x2xf64>";
  return "func.func @main(%x: tensor<4x3x2xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64>, "
         "%v: tensor<3xf64>) -> (" +
         made + ") {\n%y:5 = \"apc.batch_normalization\"(%x, %s, %b, %m, %v) {" + attributes +
         "} : (tensor<4x3x2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> (" + made +
         (trains ? ", none, none" : ", none, none, none, none") + ") loc(\"bn\")\nreturn %y#0" +
         (trains ? ", %y#1, %y#2 : " : " : ") + made + "\n}";
}

void checkAlike(const std::vector<Tensor> &found, const std::vector<Tensor> &expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    for (size_t j = 0; j < expected[i].floats.size(); ++j)
      CHECK(found[i].floats.at(j) == Approx(expected[i].floats[j]).epsilon(1e-12).margin(1e-12));
}

} // namespace

TEST_CASE("Batch normalisation in parts gives what the op gives in training, running statistics too") {
  GradientProgram program(batchText("training_mode = 1 : i64, momentum = 0.75 : f32, epsilon = 0.1 : f32", true));
  std::vector<Tensor> expected = runOn(*program.module, program.inputs);
  decomposeBatchNormalization(program.main());
  REQUIRE(mlir::succeeded(mlir::verify(*program.module)));
  CHECK(program.main().getOps<BatchNormalizationOp>().empty());
  checkAlike(runOn(*program.module, program.inputs), expected);
}

TEST_CASE("Batch normalisation for inference trains with the statistics of the batch") {
  GradientProgram inference(batchText("epsilon = 0.1 : f32", false));
  GradientProgram training(batchText("training_mode = 1 : i64, epsilon = 0.1 : f32", true));
  decomposeBatchNormalization(inference.main());
  std::vector<Tensor> expected = runOn(*training.module, training.inputs);
  checkAlike(runOn(*inference.module, inference.inputs), {expected.front()});
}
