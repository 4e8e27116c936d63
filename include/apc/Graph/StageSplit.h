// A step cut into the stages of a pipeline: the stage and the part of every op, and the values between stages.
#pragma once

#include "apc/Graph/OpGraph.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <vector>

namespace apc {

/// The part of a stage's work that an op belongs to. The first three run with every micro-batch.
enum class StagePart : uint8_t {
  Forward,
  InputGradients,  ///< backward; an earlier stage waits for it
  WeightGradients, ///< backward, for which no other stage waits: gradients of weights, and all of the first stage; but
                   ///< a gradient of a weight that an earlier stage adds up is awaited there
  Update,          ///< runs once a step: norms of gradients, the optimizer
};

/// The time at which a value leaves its stage.
enum class TransferTime : uint8_t {
  Forward,  ///< with every micro-batch, in the forward pass
  Backward, ///< with every micro-batch, in the backward pass; gradients of weights that several stages read, too
  Step,     ///< once a step: what parameters and constants alone make; sums over micro-batches; norms
};

/// A value that other stages read. It goes from its stage straight to each reader, whatever stages lie between.
struct StageTransfer {
  ValueId value;
  unsigned from = 0;
  std::vector<unsigned> to; ///< ascending
  int64_t bytes = 0;        ///< of the whole value, once
  TransferTime time = TransferTime::Forward;

  friend bool operator==(const StageTransfer &, const StageTransfer &) = default;
};

/// An input, a parameter or a state that several stages read.
struct SharedSource {
  ValueId value;
  std::vector<unsigned> stages; ///< ascending

  friend bool operator==(const SharedSource &, const SharedSource &) = default;
};

/// A step of two layers, cut between them: x . A = h | h . B = y, with gradients and updates.
///
///   stage 0: x, A, x . A, dA, update of A        stage 1: B, h . B, loss, dB, dh, update of B
///   transfers: h (0 -> 1, Forward), dh (1 -> 0, Backward); dh is in InputGradients, dA and dB in WeightGradients
struct StageSplit {
  unsigned numStages = 1;
  std::vector<unsigned> stages;         ///< by op; of a source that several stages read: where its updates are made
  std::vector<StagePart> parts;         ///< by op; of a source the first part that reads or sends it, of a sink its
                                        ///< producer's
  std::vector<StageTransfer> transfers; ///< by value, ascending
  std::vector<SharedSource> shared;     ///< by value, ascending; each stage has a copy of its own
  /// By value: each stage that reads it makes it again, for it is made of parameters alone that are not trained, as a
  /// mask is; `stages` has the first of them.
  std::vector<bool> isMadeByEach;
  /// By value: the value of the forward pass that a recomputed one is made again of; empty for all others.
  std::vector<std::optional<ValueId>> originals;

  /// The value that `reader` takes for `operand`. A stage keeps what has arrived: in place of a value that an earlier
  /// stage recomputes, it reads the one that came with the forward pass.
  ValueId valueRead(const OpGraph &graph, OpId reader, ValueId operand) const;
  /// Does each stage that reads its results run the op, once for all its layers?
  bool runsInEach(const OpGraph &graph, OpId op) const;
};

/// The end of a graph at which a value comes in: an input, a parameter or a state of an optimizer.
bool isSource(const OpGraph &graph, OpId id);

/// The ops that run in the forward pass, in their order. A cut into stages is a place in this list, and `cutPositions`
/// of it lists the places.
std::vector<OpId> forwardOps(const OpGraph &graph);

/// The places in `forwardOps` of the ops with these names, which are those of cuts before them. Errors (input): a name
/// that no op of the forward pass has; names in another order than that of the ops.
llvm::Expected<std::vector<size_t>> cutsBefore(const OpGraph &graph, llvm::ArrayRef<std::string> names);

/// Cuts `graph` before the ops with numbers `cuts` of `forwardOps`: {3, 7} makes three stages. Every op has one stage:
///
/// - An op of the forward pass has that of its place, statistics of a pass that of the op that reads them, and what
///   parameters and constants alone make that of its first reader, where this is a later one.
/// - Gradients, recomputed copies and sums go with the op that leads them; but where one other stage makes all
/// gradients
///   of a sum, it adds them up itself and sends one.
/// - Whatever is made of parameters alone that are not trained is made by each stage that reads it.
/// - A source goes with the first stage whose forward pass reads it; what is tied to it or replaces it goes along:
///   states, sums of its gradient, the update.
/// - Any other op that runs once (the norm over all gradients) goes where most of the bytes that it reads are made, the
///   first among equals. Any other op of the backward pass goes to the first stage among those whose gradients it
///   reads, so that gradients run to earlier stages alone; if it reads sources alone (the seed of a scaled loss), to
///   the last stage that reads it. A sink goes with the op that makes its value.
///
/// Forward values then run to later stages and gradients to earlier ones, so that any order of actions in which a stage
/// waits for what it reads can be run.
/// Errors (internal): cuts that do not ascend strictly or lie outside; a value that would run the wrong way. Errors
/// (input): a stage without an op of its own.
llvm::Expected<StageSplit> splitStages(const OpGraph &graph, llvm::ArrayRef<size_t> cuts);

} // namespace apc
