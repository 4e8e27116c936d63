// Removes layers from a module.
#include "apc/Transforms/KeepLayers.h"

#include "apc/IR/Apc.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/IR/Program/Repetition.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace apc {

namespace {

class LayerCutter {
public:
  LayerCutter(mlir::func::FuncOp main, const RepeatedRun &run, size_t count)
      : main(main), run(run), count(count), goneResults(main.getNumResults()) {
    for (size_t at = count * run.period; at < run.ops.size(); ++at)
      gone.insert(run.ops[at]);
  }

  llvm::Error cut() {
    for (size_t segment = count; segment < run.count; ++segment)
      for (size_t index = 0; index < run.period; ++index)
        for (unsigned result = 0; result < run.op(segment, index)->getNumResults(); ++result)
          if (llvm::Error error = replace(segment, index, result))
            return error;
    mlir::Operation *end = main.front().getTerminator();
    end->eraseOperands(goneResults);
    if (mlir::failed(main.eraseResults(goneResults)))
      return internalError("results of the layers left out cannot be removed");
    for (size_t at = run.ops.size(); at-- > count * run.period;)
      run.ops[at]->erase();
    return llvm::Error::success();
  }

private:
  llvm::Error replace(size_t segment, size_t index, unsigned result);

  mlir::func::FuncOp main;
  const RepeatedRun &run;
  size_t count;
  llvm::SmallPtrSet<mlir::Operation *, 32> gone;
  llvm::BitVector goneResults;
};

/// Moves the uses of a value of a removed layer. Values of the last layer are replaced by those of the last layer kept;
/// results of `main` that come from other removed layers, or would then stand twice, are removed.
llvm::Error LayerCutter::replace(size_t segment, size_t index, unsigned result) {
  mlir::Value value = run.op(segment, index)->getResult(result);
  mlir::Value kept = run.op(count - 1, index)->getResult(result);
  mlir::Operation *end = main.front().getTerminator();
  bool isReturned = llvm::is_contained(end->getOperands(), kept);
  for (mlir::OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
    if (gone.contains(use.getOwner()))
      continue;
    bool isLast = segment + 1 == run.count;
    if (use.getOwner() == end && (isReturned || !isLast)) {
      goneResults.set(use.getOperandNumber());
      use.set(kept);
    } else if (isLast) {
      use.set(kept);
    } else {
      std::string reader = namePlan(main).ops.lookup(use.getOwner());
      return inputError("layers cannot be left out: op '{0}' reads a value of layer {1} of {2}", reader, segment + 1,
                        run.count);
    }
  }
  return llvm::Error::success();
}

/// Parameters, constants and arguments that nothing reads any more.
llvm::Error removeUnused(mlir::func::FuncOp main) {
  for (mlir::Operation &op : llvm::make_early_inc_range(main.front().without_terminator()))
    if (llvm::isa<ParameterOp, ConstantOp, NoneOp>(op) && op.use_empty())
      op.erase();
  llvm::BitVector unused(main.getNumArguments());
  for (mlir::BlockArgument argument : main.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  if (mlir::failed(main.eraseArguments(unused)))
    return internalError("inputs of the layers left out cannot be removed");
  return llvm::Error::success();
}

} // namespace

llvm::Expected<unsigned> keepLayers(mlir::ModuleOp module, int64_t count) {
  auto main = mainOf(module);
  if (!main || count < 1)
    return inputError("{0} layers cannot be kept; 1 is the least", count);
  std::vector<RepeatedRun> runs = findRepeatedRuns(main);
  if (runs.empty())
    return inputError("the model has no layers that repeat");
  unsigned gone = 0;
  for (const RepeatedRun &run : runs) {
    if (run.count <= static_cast<size_t>(count))
      continue;
    if (llvm::Error error = LayerCutter(main, run, static_cast<size_t>(count)).cut())
      return error;
    gone += static_cast<unsigned>(run.count) - static_cast<unsigned>(count);
  }
  if (llvm::Error error = removeUnused(main))
    return error;
  return gone;
}

} // namespace apc
