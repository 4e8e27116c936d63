// One stage of a pipeline as a graph of its own.
#pragma once

#include "apc/Graph/StageSplit.h"

namespace apc {

/// A stage's graph, and where its ops and values are in the whole graph.
struct StageGraph {
  OpGraph graph;
  std::vector<std::optional<OpId>> ops; ///< by op; empty for ends of transfers and for copies of shared sources
  std::vector<ValueId> values;          ///< by value
};

/// The ops of one stage, in their order, with their ties. A value that arrives is a source before the first op that
/// reads it: a parameter where it is one or is made of parameters and constants alone, else an input. A value that
/// leaves is read by a sink behind its producer, as often as it is sent. Inputs that several stages read are inputs of
/// each. A sum of gradients that goes to an earlier stage is tied to the source of the value whose gradient it is.
///
/// Of the two layers of `StageSplit`'s example, stage 1 has the sources h (input), B and target, and a sink for dh.
/// Numbers below the number of stages alone are valid.
StageGraph stageGraph(const OpGraph &graph, const StageSplit &split, unsigned stage);

} // namespace apc
