// The backward pass of GPT-3 1.3B as it is derived here, held against the one that PyTorch's autograd wrote: one file
// holds forward pass, loss and all gradients.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Autodiff/TrainingStep.h"
#include "apc/IR/Apc.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Import/Import.h"
#include "apc/Transforms/BuildGraph.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

double contractionFlops(mlir::ModuleOp module) {
  OpGraph graph = valueOf(graphOfModel(module, "gpt3_1_3b_train_step"));
  double sum = 0;
  for (const GraphOp &op : graph.ops)
    if (const FactorRule &rule = graph.ruleOf(OpId(&op - graph.ops.data())); rule.work == Work::Contraction)
      sum += static_cast<double>(op.repeats) * rule.flops();
  return sum;
}

/// Shapes by name of the results whose names `strip` leaves something of.
std::map<std::string, std::string> gradientShapes(mlir::func::FuncOp main,
                                                  llvm::function_ref<bool(llvm::StringRef &)> strip) {
  std::map<std::string, std::string> shapes;
  for (auto [value, type] : llvm::zip_equal(namePlan(main).outputValues, main.getResultTypes()))
    if (llvm::StringRef name = value; strip(name)) {
      llvm::raw_string_ostream text(shapes[name.str()]);
      type.print(text);
    }
  return shapes;
}

} // namespace

TEST_CASE("The backward pass of GPT-3 1.3B has the FLOPs and the gradients of the one that PyTorch exported") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportedModel exported = valueOf(importOnnx(std::string(APC_MODELS) + "/gpt3_1_3b_train_step.onnx", {}, context));
  std::map<std::string, std::string> expected =
      gradientShapes(mainOf(*exported.module), [](llvm::StringRef &name) { return name.consume_front("grad."); });
  CHECK(expected.size() == 292);

  TrainingOptions options;
  options.derivesBackward = true; // the gradients beside the loss are then read by nobody, and gone
  options.returnsGradients = true;
  TrainingStep step = valueOf(buildTrainingStep(*exported.module, options));
  CHECK(gradientShapes(mainOf(*step.module), [](llvm::StringRef &name) { return name.consume_back(".grad"); }) ==
        expected);

  double ours = contractionFlops(*step.module), theirs = contractionFlops(*exported.module);
  CHECK(theirs == Approx(3 * 24.78e12).epsilon(1e-3));
  CHECK(ours == Approx(theirs).epsilon(1e-6));
}
