// Lists of actions: where stages are, and which lists are whole.
#include "apc/Schedule/Pipeline/Actions.h"

#include "apc/Support/Error.h"

namespace apc {

uint32_t PipelineShape::workerOf(uint32_t stage) const {
  uint32_t place = stage % workers;
  return placement == Placement::Loop || chunkOf(stage) % 2 == 0 ? place : workers - 1 - place;
}

uint32_t PipelineShape::stageOf(uint32_t worker, uint32_t chunk) const {
  return chunk * workers + (placement == Placement::Loop || chunk % 2 == 0 ? worker : workers - 1 - worker);
}

bool PipelineShape::feedsNext(uint32_t stage) const {
  return stage + 1 < numStages() && !(placement == Placement::Mirrored && stage + 1 == workers);
}

namespace {

/// Walks the list of one worker and keeps, for each of its stages, micro-batches and pieces, how far it has come.
class WorkerCheck {
public:
  WorkerCheck(const PipelineShape &shape, uint32_t worker)
      : shape(shape), worker(worker), done(size_t(shape.chunks) * shape.microBatches * shape.pieces, Done::Nothing) {}

  llvm::Error take(const Action &action) {
    if (action.stage >= shape.numStages() || shape.workerOf(action.stage) != worker ||
        action.microBatch >= shape.microBatches || action.piece >= shape.pieces)
      return fault(action, "is not this worker's");
    Done &state = stateOf(action, action.piece);
    switch (action.kind) {
    case ActionKind::Forward:
      return advance(action, state, Done::Nothing, Done::Forward, "stands there twice");
    case ActionKind::InputGradient:
      return advance(action, state, Done::Forward, Done::InputGradient, "has no F before it, or stands there twice");
    case ActionKind::Backward:
      return advance(action, state, Done::Forward, Done::All, "has no F before it, or stands there twice");
    case ActionKind::WeightGradient:
      return advance(action, state, Done::InputGradient, Done::All, "has no I before it, or stands there twice");
    }
    llvm_unreachable("every kind is one of four");
  }

  llvm::Error finish() const {
    for (size_t index = 0; index < done.size(); ++index)
      if (done[index] != Done::All)
        return inputError("worker {0}: micro-batch {1} of chunk {2} has no whole backward pass", worker,
                          index / shape.pieces % shape.microBatches, index / shape.pieces / shape.microBatches);
    return llvm::Error::success();
  }

private:
  enum class Done : uint8_t { Nothing, Forward, InputGradient, All };

  Done &stateOf(const Action &action, uint32_t piece) {
    return done[(size_t(shape.chunkOf(action.stage)) * shape.microBatches + action.microBatch) * shape.pieces + piece];
  }

  llvm::Error advance(const Action &action, Done &state, Done from, Done to, llvm::StringRef otherwise) {
    if (state != from)
      return fault(action, otherwise);
    bool isForward = action.kind == ActionKind::Forward;
    if (isForward && action.piece > 0 && stateOf(action, action.piece - 1) == Done::Nothing)
      return fault(action, "runs before the piece in front of it");
    if (!isForward && action.piece + 1 < shape.pieces && stateOf(action, action.piece + 1) < to)
      return fault(action, "runs before the piece behind it");
    state = to;
    return llvm::Error::success();
  }

  llvm::Error fault(const Action &action, llvm::StringRef message) const {
    return inputError("worker {0}: {1} {2}", worker, printActions(shape, Slot{action}), message);
  }

  const PipelineShape &shape;
  uint32_t worker;
  std::vector<Done> done;
};

} // namespace

llvm::Error checkActionLists(const ActionLists &lists) {
  if (lists.workers.size() != lists.shape.workers)
    return inputError("{0} lists of actions for {1} workers", lists.workers.size(), lists.shape.workers);
  uint64_t numUnits = uint64_t(lists.shape.chunks) * lists.shape.microBatches * lists.shape.pieces;
  for (uint32_t worker = 0; worker < lists.shape.workers; ++worker) {
    if (numUnits > 2 * lists.workers[worker].size()) // each takes two actions, of which a slot holds at most two
      return inputError("worker {0}: {1} slots cannot hold {2} forward and {2} backward actions", worker,
                        lists.workers[worker].size(), numUnits);
    WorkerCheck check(lists.shape, worker);
    for (const Slot &slot : lists.workers[worker]) {
      if (llvm::Error error = check.take(slot.action))
        return error;
      if (!slot.beside)
        continue;
      if (slot.action.kind != ActionKind::Forward || slot.beside->kind == ActionKind::Forward ||
          slot.beside->kind == ActionKind::WeightGradient)
        return inputError("worker {0}: {1}: only F runs beside B or I", worker, printActions(lists.shape, slot));
      if (llvm::Error error = check.take(*slot.beside))
        return error;
    }
    if (llvm::Error error = check.finish())
      return error;
  }
  return llvm::Error::success();
}

} // namespace apc
