// Liveness of a straight-line program.
#include "ProgramLiveness.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Support/Saturating.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

namespace apc {

namespace {

/// The place of the first op. Arguments of `main` are there before it: one that nobody reads is gone when it runs.
constexpr size_t firstOp = 1;

/// True for ops that move nothing: their rule says so, and they read a tensor. Masks and kept addends move nothing:
/// they are applied while their op reads the value. Rearrangements may be read or written through.
bool isView(mlir::Operation *op) {
  if (llvm::isa<RankInterface>(op))
    return op->getNumOperands() > 0;
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  if (!interface || op->getNumOperands() == 0 || !shapeOf(op->getOperand(0)))
    return false;
  mlir::FailureOr<FactorRule> rule = interface.getRule();
  return mlir::succeeded(rule) && (rule->work == Work::View || rule->isRearrangement());
}

int64_t bytesOf(mlir::Value value) {
  auto shape = shapeOf(value);
  return shape ? shape->bytes() : 0;
}

/// True for ops whose results take the place of parameters before the first step: all that they read is loaded, some of
/// it no constant, and their results need no more bytes. `loaded` and `constants` have what came before.
bool runsAtLoad(mlir::Operation *op, const llvm::DenseSet<mlir::Value> &loaded,
                const llvm::DenseSet<mlir::Value> &constants) {
  auto isLoaded = [&](mlir::Value value) { return loaded.contains(value); };
  if (!llvm::isa<OperatorInterface>(op) || llvm::none_of(op->getOperands(), isLoaded) ||
      !llvm::all_of(op->getOperands(), [&](mlir::Value value) { return isLoaded(value) || constants.contains(value); }))
    return false;
  int64_t read = 0, made = 0;
  for (mlir::Value operand : op->getOperands())
    read += bytesOf(operand);
  for (mlir::Value result : op->getResults())
    made += bytesOf(result);
  return made <= read;
}

/// Does the op know what it reads there: a causal mask, or what is made into one? \p known: what is made of weights and
/// known by all who read it.
bool knows(mlir::OpOperand &use, const llvm::DenseSet<mlir::Value> &known) {
  auto interface = llvm::dyn_cast<OperatorInterface>(use.getOwner());
  mlir::FailureOr<FactorRule> rule = interface ? interface.getRule() : mlir::FailureOr<FactorRule>();
  if (mlir::succeeded(rule) && rule->attention)
    return rule->attention->knowsMask(use.getOperandNumber());
  return use.getOwner()->getNumResults() > 0 &&
         llvm::all_of(use.getOwner()->getResults(), [&](mlir::Value result) { return known.contains(result); });
}

/// Values that the kernels that read them know, so that nothing holds them: masks of fused attentions with causal
/// masks, made of parameters and constants alone. \p weights: all that is made of these.
llvm::DenseSet<mlir::Value> madeByReaders(mlir::func::FuncOp main, const llvm::DenseSet<mlir::Value> &weights) {
  llvm::DenseSet<mlir::Value> known;
  for (mlir::Operation &op : llvm::reverse(main.front()))
    for (mlir::Value result : op.getResults())
      if (weights.contains(result) && !result.use_empty() &&
          llvm::all_of(result.getUses(), [&](mlir::OpOperand &use) { return knows(use, known); }))
        known.insert(result);
  return known;
}

/// The names of parameters and states whose new values `main` returns.
llvm::StringSet<> overwrittenParameters(mlir::func::FuncOp main) {
  llvm::StringSet<> names;
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (auto name = main.getResultAttrOfType<mlir::StringAttr>(index, replacesAttribute))
      names.insert(name.getValue());
  return names;
}

/// Results of `main` that are written over the parameter or state that they replace.
llvm::DenseSet<mlir::Value> writtenInPlace(mlir::func::FuncOp main) {
  llvm::DenseSet<mlir::Value> values;
  for (auto [index, value] : llvm::enumerate(main.front().getTerminator()->getOperands()))
    if (main.getResultAttr(static_cast<unsigned>(index), replacesAttribute))
      values.insert(value);
  return values;
}

/// A value from the op that makes it to its last user.
struct Life {
  size_t begin, end;
  int64_t bytes;
  bool isSum;   ///< over micro-batches
  bool isFixed; ///< made of parameters and constants alone: the same for all micro-batches, which share it
};

/// Copies of a micro-batch have values and inputs of their own. \p end: of the part that they run; may be null.
int64_t timesHeld(MicroBatchEndOp end, mlir::Value value) {
  auto runsOften = [&](mlir::Operation *op) { return end && op->isBeforeInBlock(end); };
  bool isOfRun = value.getDefiningOp() ? runsOften(value.getDefiningOp()) : llvm::any_of(value.getUsers(), runsOften);
  return isOfRun ? end.getCopies() : 1;
}

/// By op, the bytes that live there.
std::vector<int64_t> liveBytes(llvm::ArrayRef<Life> lives, size_t numOps, bool withSums) {
  std::vector<int64_t> live(numOps + 1);
  for (const Life &life : lives)
    if (withSums || !life.isSum) {
      live[life.begin] += life.bytes;
      live[std::min(life.end + 1, numOps)] -= life.bytes;
    }
  for (size_t at = 1; at <= numOps; ++at)
    live[at] += live[at - 1];
  return live;
}

/// `ends` are the ops that end parts; `live` is what lives at each op with sums.
std::vector<PartBytes> partBytes(llvm::ArrayRef<Life> lives, llvm::ArrayRef<int64_t> live,
                                 llvm::ArrayRef<size_t> ends) {
  std::vector<int64_t> ofMicroBatch = liveBytes(lives, live.size() - 1, /*withSums=*/false);
  std::vector<PartBytes> parts;
  size_t begin = 0;
  for (size_t end : ends) {
    PartBytes &part = parts.emplace_back();
    for (; begin <= end; ++begin)
      part.peak = std::max(part.peak, ofMicroBatch[begin]);
    for (const Life &life : lives)
      part.held += !life.isSum && !life.isFixed && life.begin <= end && life.end > end ? life.bytes : 0;
  }
  if (!ends.empty())
    parts.push_back({*std::max_element(live.begin() + static_cast<ptrdiff_t>(begin), live.end()), 0});
  return parts;
}

/// Adds the sums of a program, its peak and its parts from the lives of its values.
void addLives(mlir::func::FuncOp main, llvm::ArrayRef<Life> lives, ProgramBytes &bytes) {
  size_t count = firstOp;
  std::vector<size_t> ends;
  for (mlir::Operation &op : main.front()) {
    if (isPartEnd(&op))
      ends.push_back(count);
    ++count;
  }
  for (const Life &life : lives)
    bytes.sums += life.isSum ? life.bytes : 0;
  std::vector<int64_t> live = liveBytes(lives, count, /*withSums=*/true);
  bytes.peak = bytes.parameters + bytes.states + *llvm::max_element(live);
  bytes.parts = partBytes(lives, live, ends);
}

} // namespace

ProgramBytes programBytes(mlir::func::FuncOp main) {
  llvm::DenseMap<mlir::Operation *, size_t> positions;
  llvm::DenseMap<mlir::Value, mlir::Value> storage; ///< of views
  size_t count = firstOp;
  for (mlir::Operation &op : main.front())
    positions[&op] = count++;
  auto storageOf = [&](mlir::Value value) {
    auto found = storage.find(value);
    return found == storage.end() ? value : found->second;
  };
  llvm::DenseSet<mlir::Value> constants; ///< whole and in pieces: plans do not count them
  auto isPieceOfConstant = [&](mlir::OpResult result) {
    return llvm::isa<CollectiveInterface>(result.getOwner()) &&
           constants.contains(result.getOwner()->getOperand(result.getResultNumber()));
  };
  llvm::DenseSet<mlir::Value> fixed;  ///< parameters, and what is made of them or of constants alone
  llvm::DenseSet<mlir::Value> loaded; ///< parameters, pieces of them, and what is made of them at load
  llvm::DenseSet<mlir::Value> handedOver = writtenInPlace(main);
  llvm::StringSet<> overwritten = overwrittenParameters(main);
  ProgramBytes bytes;
  llvm::DenseMap<mlir::Value, std::pair<size_t, size_t>> lives;
  for (mlir::BlockArgument argument : main.getArguments())
    lives[argument] = {0, 0};
  for (mlir::Operation &op : main.front()) {
    for (mlir::Value operand : op.getOperands())
      if (auto found = lives.find(storageOf(operand)); found != lives.end())
        found->second.second = positions[&op];
    // A value that follows from the rank alone, such as the offset of a piece, is a constant of the rank's program.
    bool followsFromRank = llvm::isa<RankInterface>(op) && op.getNumOperands() == 0;
    if (llvm::isa<ConstantOp, NoneOp>(op) || followsFromRank) {
      constants.insert(op.getResult(0));
      continue;
    }
    if (auto parameter = llvm::dyn_cast<ParameterOp>(op)) {
      bool isState = isOptimizerState(parameter.getSource());
      (isState ? bytes.states : bytes.parameters) += bytesOf(op.getResult(0));
      if (!isState && !overwritten.contains(parameter.getName()))
        loaded.insert(op.getResult(0));
      if (!isState)
        fixed.insert(op.getResult(0));
      continue;
    }
    if (auto receive = llvm::dyn_cast<ReceiveOp>(op); receive && receive.getRole() != "input") {
      (receive.getRole() == "parameter" ? bytes.parameters : bytes.states) += bytesOf(op.getResult(0));
      if (receive.getRole() == "parameter")
        fixed.insert(op.getResult(0));
      continue; // a copy that comes anew with each step
    }
    bool isFixed = op.getNumOperands() > 0 && llvm::all_of(op.getOperands(), [&](mlir::Value value) {
                     return fixed.contains(value) || constants.contains(value);
                   });
    if (isFixed)
      fixed.insert(op.result_begin(), op.result_end());
    bool atLoad = runsAtLoad(&op, loaded, constants), view = atLoad || isView(&op);
    for (mlir::OpResult result : op.getResults()) {
      bool isPiece = llvm::isa<CollectiveInterface>(op) && loaded.contains(op.getOperand(result.getResultNumber()));
      if (atLoad || isPiece)
        loaded.insert(result);
      if (isPieceOfConstant(result))
        constants.insert(result);
      else if (handedOver.contains(result))
        continue;
      else if (view)
        storage[result] = storageOf(op.getOperand(0));
      else
        lives[result] = {op.hasTrait<Accumulates>() ? 0 : positions[&op], positions[&op]};
    }
  }
  for (mlir::Value value : madeByReaders(main, fixed))
    lives.erase(value);
  std::vector<Life> all;
  MicroBatchEndOp end = microBatchEndOf(main);
  for (auto &[value, life] : lives) {
    bool isSum = value.getDefiningOp() && value.getDefiningOp()->hasTrait<Accumulates>();
    int64_t times = isSum ? 1 : timesHeld(end, value);
    all.push_back({life.first, life.second, multiplySaturating(bytesOf(value), times), isSum, fixed.contains(value)});
  }
  addLives(main, all, bytes);
  return bytes;
}

} // namespace apc
