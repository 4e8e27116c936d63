// The copies of forward ops.
#include "Recompute.h"

#include "KeptValues.h"

#include "apc/Graph/RecomputedNames.h"
#include "apc/IR/AttributeNames.h"

#include "mlir/IR/IRMapping.h"

namespace apc {

namespace {

/// Copies forward ops, each once.
class Replayer {
public:
  Replayer(const PlanNames &names, const KeptValues &kept, llvm::ArrayRef<mlir::Operation *> forward)
      : names(names), kept(kept) {
    for (auto [index, op] : llvm::enumerate(forward))
      positions[op] = index;
  }

  /// Lets `gradient` read copies where its operands are not kept.
  void replayFor(mlir::Operation *gradient);

private:
  /// The ops without a copy that `value` is made by, in any order.
  void collect(mlir::Value value, llvm::SmallVectorImpl<mlir::Operation *> &ops);
  void copy(mlir::Operation *op, mlir::OpBuilder &builder);

  const PlanNames &names;
  const KeptValues &kept;
  llvm::DenseMap<mlir::Operation *, size_t> positions;
  llvm::DenseSet<mlir::Operation *> copied;
  mlir::IRMapping copies;
};

void Replayer::collect(mlir::Value value, llvm::SmallVectorImpl<mlir::Operation *> &ops) {
  llvm::SmallVector<mlir::Value> open{value};
  while (!open.empty()) {
    mlir::Value next = open.pop_back_val();
    if (!kept.isRecomputed(next) || !copied.insert(next.getDefiningOp()).second)
      continue;
    ops.push_back(next.getDefiningOp());
    llvm::append_range(open, next.getDefiningOp()->getOperands());
  }
}

void Replayer::copy(mlir::Operation *op, mlir::OpBuilder &builder) {
  llvm::StringRef name = names.ops.find(op)->second;
  // Operands that are kept are read as they are; copies of the others are in the mapping.
  mlir::Operation *made = op->clone();
  for (mlir::OpOperand &operand : made->getOpOperands())
    if (kept.isRecomputed(operand.get()))
      operand.set(copies.lookup(operand.get()));
  builder.insert(made);
  made->setLoc(mlir::NameLoc::get(builder.getStringAttr(name + recomputedSuffix)));
  made->setAttr(tieAttribute, builder.getStringAttr(name));
  llvm::SmallVector<std::string, 2> values;
  for (mlir::Value result : op->getResults()) {
    auto known = names.values.find(result);
    values.push_back(known == names.values.end() ? "" : known->second + recomputedSuffix.str());
  }
  made->setAttr(valuesAttribute,
                builder.getStrArrayAttr(llvm::SmallVector<llvm::StringRef, 2>(values.begin(), values.end())));
  copies.map(op->getResults(), made->getResults());
}

void Replayer::replayFor(mlir::Operation *gradient) {
  mlir::OpBuilder builder(gradient);
  for (mlir::OpOperand &operand : gradient->getOpOperands()) {
    if (!kept.isRecomputed(operand.get()))
      continue;
    llvm::SmallVector<mlir::Operation *> ops;
    collect(operand.get(), ops);
    llvm::sort(ops, [&](mlir::Operation *a, mlir::Operation *b) { return positions.at(a) < positions.at(b); });
    for (mlir::Operation *op : ops)
      copy(op, builder);
    operand.set(copies.lookup(operand.get()));
  }
}

/// The ops of the backward pass that `gradients` are made by, in order.
std::vector<mlir::Operation *> neededOps(mlir::func::FuncOp main, const PlanNames &names,
                                         const llvm::DenseSet<mlir::Value> &gradients) {
  std::vector<mlir::Operation *> needed;
  llvm::DenseSet<mlir::Value> read = gradients;
  for (mlir::Operation &op : llvm::reverse(main.front().without_terminator())) {
    bool isNeeded = llvm::any_of(op.getResults(), [&](mlir::Value result) { return read.contains(result); });
    if (!isNeeded || names.ops.contains(&op) || llvm::isa<ConstantOp, NoneOp, ParameterOp>(op))
      continue;
    needed.push_back(&op);
    for (mlir::Value operand : op.getOperands())
      read.insert(operand);
  }
  std::reverse(needed.begin(), needed.end());
  return needed;
}

} // namespace

void recomputeForward(mlir::func::FuncOp main, const PlanNames &names, const RecomputedLayers &recomputed,
                      const llvm::DenseSet<mlir::Value> &gradients) {
  if (recomputed.policy == RecomputePolicy::None) // and so is that of the rest
    return;
  std::vector<mlir::Operation *> forward;
  for (mlir::Operation &op : main.front().without_terminator())
    if (names.ops.contains(&op))
      forward.push_back(&op);
  std::vector<mlir::Operation *> needed = neededOps(main, names, gradients);
  llvm::DenseSet<mlir::Value> read;
  for (mlir::Operation *op : needed)
    for (mlir::Value operand : op->getOperands())
      if (mlir::Operation *maker = operand.getDefiningOp(); maker && names.ops.contains(maker))
        read.insert(operand);
  KeptValues kept(forward, recomputed, read);
  Replayer replayer(names, kept, forward);
  for (mlir::Operation *op : needed)
    replayer.replayFor(op);
}

} // namespace apc
