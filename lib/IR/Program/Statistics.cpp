// Sums over a module.
#include "apc/IR/Program/Statistics.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/Opaque.h"

#include "mlir/IR/Diagnostics.h"

namespace apc {

namespace {

void addParameter(ParameterOp parameter, ModuleStatistics &sums) {
  auto shape = shapeOf(parameter.getOutput());
  if (!shape)
    return;
  auto role = parameter->getAttrOfType<mlir::StringAttr>(roleAttribute);
  if (role && role.getValue() == "constant") {
    sums.constantBytes += shape->bytes();
    return;
  }
  sums.parameters += shape->numElements();
  sums.parameterBytes += shape->bytes();
}

} // namespace

ModuleStatistics statistics(mlir::ModuleOp module) {
  ModuleStatistics sums;
  DiagnosticCapture quiet(module.getContext());
  module.walk([&](OperatorInterface op) {
    if (auto parameter = llvm::dyn_cast<ParameterOp>(op.getOperation()))
      return addParameter(parameter, sums);
    if (llvm::isa<ConstantOp, NoneOp>(op.getOperation()))
      return;
    ++sums.nodes;
    ++sums.operators[operatorNameOf(op).str()];
    auto rule = op.getRule();
    if (mlir::failed(rule))
      return;
    sums.forwardFlops += rule->flops();
    if (rule->work == Work::Contraction)
      sums.contractionFlops += rule->flops();
  });
  return sums;
}

} // namespace apc
