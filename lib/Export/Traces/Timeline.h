// The time line of a plan's step: what each worker does from when to when.
#pragma once

#include "apc/Export/Export.h"
#include "apc/Schedule/Pipeline/Actions.h"

#include <string>
#include <vector>

namespace apc {

/// An action of a pipeline's worker, or the update of a stage: {"F 3", "forward", 0, 3, 7, 0.12, 0.14}.
struct TimedAction {
  std::string name;
  std::string kind; ///< "forward", "backward", "weights", "update"
  size_t worker = 0, stage = 0;
  std::optional<uint32_t> microBatch = {}; ///< none: once in a step
  double begin = 0, end = 0;               ///< seconds
};

/// A value on its way between two workers.
struct TimedTransfer {
  std::string value;
  size_t from = 0, to = 0; ///< stages
  uint32_t microBatch = 0;
  int64_t bytes = 0;
  double begin = 0, end = 0;
  size_t sender = 0, receiver = 0; ///< indices of actions
};

struct PipelineTimeline {
  std::vector<TimedAction> actions; ///< by worker, in the order of its list
  std::vector<TimedTransfer> transfers;
  double seconds = 0; ///< until all is over
};

/// The lists of the plan's schedule, with the seconds of the plan's stages. A worker does one action at a time, as soon
/// as it is free and what the action reads has come. Errors: those of `actionListsOf`; lists that wait for each other.
llvm::Expected<PipelineTimeline> timelineOfPipeline(const Plan &plan);

/// One op or collective of a step without a pipeline: {"/h.0/MatMul", "", "matmul", "b0:node", 0.1, 0.2}.
struct TimedOp {
  std::string name;
  std::string levels; ///< axes of a collective: "device"; empty for ops
  std::string what;   ///< the operator, or the collectives
  std::string detail; ///< the strategy, or the sharding that a collective leads to
  double begin = 0, end = 0;
  int64_t bytes = 0;                         ///< of a move: what a device has before it
  std::vector<std::string> collectives = {}; ///< of a move, in order: "AllGather{device} ->0"
};

/// The ops and moves of the only stage, one behind the other. Unless `unrolls`, the first and the last of many
/// micro-batches have ops of their own, and each between them is one entry.
std::vector<TimedOp> timelineOfStage(const ExportSource &source, bool unrolls);

/// Of a step without a pipeline, the seconds of collectives that ops or another copy hide: a time line with one behind
/// the other ends so much later. 0 with a pipeline, whose actions hide what they hide.
double hiddenSeconds(const Plan &plan);

} // namespace apc
