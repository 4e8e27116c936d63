// Ops of the stages looked up by name among those of the model.
#include "apc/Partition/VerifyStageOps.h"

#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The place of an op of the model.
struct OpPlace {
  bool isRepeated = false;       ///< with every micro-batch
  std::optional<unsigned> stage; ///< in which it was found
};

bool isRepeated(mlir::Operation *op, MicroBatchEndOp end) { return end && op->isBeforeInBlock(end); }

/// Adds the results of an op that computes the same in every stage and with every micro-batch: it reads parameters that
/// the stage holds, constants, and what such ops make. Several stages may have it.
bool isFixed(mlir::Operation *op, llvm::DenseSet<mlir::Value> &fixed) {
  auto receive = llvm::dyn_cast<ReceiveOp>(op);
  const bool isSource = op->getNumOperands() == 0 && op->getNumResults() > 0 &&
                        (!receive || receive.getRole() == valueRoleName(ValueRole::Parameter));
  const bool isOwn = isSource || (op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
                                    return fixed.contains(operand);
                                  }));
  if (isOwn)
    fixed.insert(op->result_begin(), op->result_end());
  return isOwn && !isSource;
}

llvm::Error findStageOps(mlir::ModuleOp module, unsigned stage, llvm::StringMap<OpPlace> &places) {
  auto main = mainOf(module);
  MicroBatchEndOp end = microBatchEndOf(main);
  PlanNames names = namePlan(main);
  llvm::DenseSet<mlir::Value> fixed;
  for (mlir::Operation &op : main.front()) {
    const bool isOfEach = isFixed(&op, fixed);
    auto named = names.ops.find(&op);
    if (named == names.ops.end() || llvm::isa<ParameterOp, ReceiveOp>(op))
      continue;
    const std::string &name = named->second;
    auto found = places.find(name);
    if (found == places.end())
      return noPlanError("stage {0}: the model has no op '{1}'", stage, name);
    OpPlace &place = found->second;
    if (place.stage && !isOfEach)
      return noPlanError("op '{0}' stands in the stages {1} and {2}", name, *place.stage, stage);
    place.stage = stage;
    bool isOften = microBatchesOf(main) > 1;
    if (isOften && isRepeated(&op, end) != place.isRepeated)
      return noPlanError("stage {0}: op '{1}' runs {2}", stage, name,
                         place.isRepeated ? "once a step, in the model with every micro-batch"
                                          : "with every micro-batch, in the model once a step");
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error verifyStageOps(mlir::ModuleOp model, llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> stages) {
  auto main = mainOf(model);
  MicroBatchEndOp end = microBatchEndOf(main);
  llvm::StringMap<OpPlace> places;
  PlanNames names = namePlan(main);
  for (const auto &[op, name] : names.ops)
    places[name].isRepeated = isRepeated(op, end);
  for (unsigned stage = 0; stage < stages.size(); ++stage) {
    mlir::OwningOpRef<mlir::ModuleOp> const &module = stages[stage];
    if (llvm::Error error = findStageOps(module.get(), stage, places))
      return error;
  }
  for (mlir::Operation &op : main.front())
    if (auto named = names.ops.find(&op); named != names.ops.end() && !llvm::isa<ParameterOp>(op))
      if (!places[named->second].stage)
        return noPlanError("no stage runs op '{0}' of the model", named->second);
  return llvm::Error::success();
}

} // namespace apc
