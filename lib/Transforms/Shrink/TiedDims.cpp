// Unites the dims that share a factor.
#include "TiedDims.h"

#include "apc/IR/Apc.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

TiedDims::TiedDims(mlir::func::FuncOp main) {
  for (mlir::BlockArgument argument : main.getArguments())
    addValue(argument);
  for (mlir::Operation &op : main.front().without_terminator()) {
    for (mlir::Value result : op.getResults())
      addValue(result);
    if (llvm::isa<ParameterOp>(op) && dims[op.getResult(0)].size() >= 2)
      llvm::append_range(weights, dims[op.getResult(0)]);
    if (!llvm::isa<ParameterOp, ConstantOp, NoneOp>(op))
      addOp(&op);
  }
}

unsigned TiedDims::addNode(int64_t size) {
  sizes.push_back(size);
  sets.grow(static_cast<unsigned>(sizes.size()));
  return static_cast<unsigned>(sizes.size()) - 1;
}

void TiedDims::addValue(mlir::Value value) {
  llvm::SmallVector<unsigned, 4> &nodes = dims[value];
  for (int64_t size : dimsOf(value))
    nodes.push_back(addNode(size));
}

void TiedDims::addOp(mlir::Operation *op) {
  auto operation = llvm::dyn_cast<OperatorInterface>(op);
  mlir::FailureOr<FactorRule> rule = operation ? operation.getRule() : mlir::FailureOr<FactorRule>();
  if (mlir::failed(rule))
    return;
  llvm::SmallVector<unsigned, 6> &nodes = factors[op];
  for (const Factor &factor : rule->factors)
    nodes.push_back(addNode(factor.size));
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule->operands))
    tie(op, *rule, value, tensor);
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule->results))
    tie(op, *rule, value, tensor);
  rules.emplace(op, std::move(*rule));
}

void TiedDims::tie(mlir::Operation *op, const FactorRule &rule, mlir::Value value, const RuleTensor &tensor) {
  for (auto [node, dim] : llvm::zip(dims[value], tensor.dims)) {
    bool hasMajor = false;
    for (FactorId id : dim) {
      unsigned factor = factors[op][id.index()];
      if (hasMajor)
        minors.push_back(factor);
      if (hasMajor || (rule.factor(id).size == 1 && dim.size() > 1))
        continue;
      hasMajor = true;
      sets.join(factor, node);
    }
  }
}

llvm::BitVector TiedDims::scalable(int64_t divisor) const {
  llvm::BitVector found(static_cast<unsigned>(sizes.size()));
  for (unsigned node : weights)
    found.set(sets.findLeader(node));
  for (unsigned node : minors)
    found.reset(sets.findLeader(node));
  for (auto [node, size] : llvm::enumerate(sizes))
    if (size % divisor != 0)
      found.reset(sets.findLeader(static_cast<unsigned>(node)));
  return found;
}

} // namespace apc
