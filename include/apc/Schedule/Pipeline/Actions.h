// The order in which the workers of a pipeline act: one list of actions per worker, and its text form.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace apc {

/// The work of a stage for one micro-batch: F; I, gradients of inputs; W, gradients of weights; B, which is I and W.
enum class ActionKind : uint8_t { Forward, InputGradient, WeightGradient, Backward };

/// Stage 5's backward pass of micro-batch 3: {Backward, 5, 3}. Where micro-batches are cut along the sequence, `piece`
/// says which part.
struct Action {
  ActionKind kind = ActionKind::Forward;
  uint32_t stage = 0;
  uint32_t microBatch = 0;
  uint32_t piece = 0;

  friend bool operator==(const Action &, const Action &) = default;
};

/// One action, or a forward and a backward action that run interleaved with each other.
struct Slot {
  Action action;
  std::optional<Action> beside = std::nullopt;

  friend bool operator==(const Slot &, const Slot &) = default;
};

/// The worker of stage k among p workers. `Loop`: k mod p. `V`: up and down in turn; of two chunks k or 2p-1-k.
/// `Mirrored`: as V, but the stages from p on are a second copy of the model that runs the other way. Stage p is the
/// copy's first stage; it does not read from stage p-1.
enum class Placement : uint8_t { Loop, V, Mirrored };

/// Four workers with two chunks each are eight stages; in V placement, worker 0 holds the stages 0 and 7.
struct PipelineShape {
  Placement placement = Placement::Loop;
  uint32_t workers = 1;
  uint32_t chunks = 1;       ///< stages of a worker; `Mirrored`: 2, one for each copy
  uint32_t microBatches = 1; ///< that a stage sees; each copy of `Mirrored` has its own
  uint32_t pieces = 1;       ///< of a micro-batch, along the sequence

  uint32_t numStages() const { return workers * chunks; }
  uint32_t workerOf(uint32_t stage) const;
  uint32_t chunkOf(uint32_t stage) const { return stage / workers; }
  uint32_t stageOf(uint32_t worker, uint32_t chunk) const;
  /// Whether `stage` hands its result to stage + 1.
  bool feedsNext(uint32_t stage) const;

  friend bool operator==(const PipelineShape &, const PipelineShape &) = default;
};

/// A worker runs its list in this order and waits, where its next action cannot begin.
struct ActionLists {
  PipelineShape shape;
  std::vector<std::vector<Slot>> workers;

  friend bool operator==(const ActionLists &, const ActionLists &) = default;
};

/// An input error unless every worker has, for each of its stages, micro-batches and pieces, one F, and behind it one B
/// or one I with one W behind that. Pieces go forwards in their order and backwards against it.
llvm::Error checkActionLists(const ActionLists &lists);

/// "F0 F1 f0 (F2b0) B0": the letter of the kind, capital for a worker's first chunk and small for its second, then the
/// micro-batch. Of other chunks F0@2; with pieces F2.1; in brackets two actions that run interleaved.
std::string printActions(const PipelineShape &shape, llvm::ArrayRef<Slot> slots);

/// One line per worker: "r0 F0 F1 B0 B1".
std::string printActionLists(const ActionLists &lists);

/// Reads lines as `printActionLists` writes them; the numbers of workers, chunks, micro-batches and pieces follow from
/// the text. Errors name `source`, line and action.
llvm::Expected<ActionLists> parseActionLists(llvm::StringRef text, Placement placement, llvm::StringRef source);

} // namespace apc
