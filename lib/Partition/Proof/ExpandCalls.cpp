// Inlines functions of straight-line code.
#include "ExpandCalls.h"

#include "apc/IR/MainFunction.h"

#include "mlir/IR/IRMapping.h"

namespace apc {

static bool expand(mlir::func::CallOp call) {
  auto callee = call->getParentOfType<mlir::ModuleOp>().lookupSymbol<mlir::func::FuncOp>(call.getCallee());
  if (!callee || callee.isExternal() || callee == call->getParentOfType<mlir::func::FuncOp>())
    return false;
  mlir::OpBuilder builder(call);
  mlir::IRMapping mapping;
  mapping.map(callee.getArguments(), call.getOperands());
  for (mlir::Operation &op : callee.front().without_terminator())
    builder.clone(op, mapping);
  for (auto [result, value] : llvm::zip_equal(call.getResults(), callee.front().getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookup(value));
  call.erase();
  return true;
}

mlir::OwningOpRef<mlir::ModuleOp> expandCalls(mlir::ModuleOp program) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = program.clone();
  auto main = mainOf(*copy);
  if (!main)
    return {};
  constexpr unsigned maxDepth = 8;
  for (unsigned depth = 0; depth < maxDepth; ++depth) {
    auto calls = llvm::to_vector(main.getOps<mlir::func::CallOp>());
    if (calls.empty())
      return copy;
    for (mlir::func::CallOp call : calls)
      if (!expand(call))
        return {};
  }
  return {};
}

} // namespace apc
