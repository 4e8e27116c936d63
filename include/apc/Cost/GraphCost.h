// The cost of a whole program: every op under its strategy, and each redistribution once, however many users share
// it.
#pragma once

#include "apc/Cost/CostModel.h"
#include "apc/Graph/Memory.h"
#include "apc/Graph/OpGraph.h"

#include <map>

namespace apc {

/// One redistribution of the program: values of one shape and sharding -> the sharding that some of their users want.
struct GraphMove {
  std::vector<ValueId> values; ///< moved by the same collectives
  Sharding target;
  std::vector<OpGraph::Use> users;
  Redistribution redistribution;
};

/// The cost of a program on one device, in seconds and bytes.
struct GraphCost {
  double computeSeconds = 0;                            ///< all ops
  double communicationSeconds = 0;                      ///< all moves
  std::vector<OpCost> ops;                              ///< by op
  std::vector<GraphMove> moves;                         ///< those with at least one collective, in order of value
  std::map<CollectiveKind, int64_t> communicationBytes; ///< sent and received buffer bytes of one device, by collective
  MemoryTable memory;
  double flopsPerDevice = 0;

  double seconds() const { return computeSeconds + communicationSeconds; }
};

/// Costs `graph` under one strategy for each op. Two users that want one value in the same sharding share its
/// redistribution. An error (ours) when a strategy is illegal or a value would have to become partial.
llvm::Expected<GraphCost> costOfGraph(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies,
                                      const CostModel &model);

/// The memory of one device while the ops of `graph` run in their order. A value lives from its producer to its last
/// user, or until the copy is made that its last user reads; a copy from its first user to its last; inputs from the
/// start, outputs to the end. Views share the storage of what they read. Contractions need workspace, moves of several
/// steps buffers.
MemoryTable graphMemory(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                        llvm::ArrayRef<GraphMove> moves);

} // namespace apc
