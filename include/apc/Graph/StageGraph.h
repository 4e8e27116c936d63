// One stage of a pipeline as a graph of its own.
#pragma once

#include "apc/Graph/StageSplit.h"

namespace apc {

/// A stage's graph, and where its ops and values are in the whole graph.
struct StageGraph {
  OpGraph graph;
  std::vector<std::optional<OpId>> ops; ///< by op; empty for ends of transfers and for copies of shared sources
  std::vector<ValueId> values;          ///< by value
  std::vector<StagePart> parts;         ///< by op; of an end of a transfer the part in which it arrives or leaves
  bool splitsBackward = false;          ///< gradients of weights are a part of their own
};

/// The ops of one stage with their ties, in the order in which the stage runs them: inputs, the parts one after the
/// other, results. In each part ops keep their order. The backward pass is one part, or two where the schedule splits
/// it (`splitsBackward`): gradients of inputs, then gradients of weights.
///
/// A value that arrives is a source before the first op that reads it: a parameter where it is one or is made of
/// parameters and constants alone, else an input. A value that leaves is read by a sink behind its producer, as often
/// as it is sent; a sum over micro-batches leaves in the update. Inputs that several stages read are inputs of each. A
/// sum of gradients that goes to an earlier stage is tied to the source of the value whose gradient it is.
///
/// Of the two layers of `StageSplit`'s example, stage 1 has the sources target (input), h and B, and a sink for dh.
/// Numbers below the number of stages alone are valid.
StageGraph stageGraph(const OpGraph &graph, const StageSplit &split, unsigned stage, bool splitsBackward = false);

/// The graphs of all stages: O(ops) less each than one by one.
std::vector<StageGraph> stageGraphs(const OpGraph &graph, const StageSplit &split, bool splitsBackward = false);

/// The graph of a stage that holds the values of so many micro-batches at once.
OpGraph withInFlight(const StageGraph &stage, int64_t microBatches, std::optional<WaitingMicroBatches> waiting = {});

} // namespace apc
