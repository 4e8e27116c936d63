// The cost of a whole program: every op under its strategy, and the redistributions between them.
#pragma once

#include "apc/Cost/CostModel.h"
#include "apc/Graph/Memory.h"
#include "apc/Graph/OpGraph.h"
#include "apc/Graph/PassUses.h"

#include <map>

namespace apc {

/// One redistribution of the program: values of one shape and sharding -> another sharding.
struct GraphMove {
  std::vector<ValueId> values;  ///< moved by the same collectives
  std::optional<size_t> source; ///< the move whose copy it starts from; none: what the producer gives
  Sharding target;
  std::vector<OpGraph::Use> users; ///< in order; also of the moves that start from this copy
  Redistribution redistribution;   ///< `seconds` are those of all repeats
  int64_t repeats = 1;             ///< in one step: once for each micro-batch, or once
};

/// The hub of a value: the sharding to which it is brought once for several of its users, which continue from there.
/// Example: a value kept as [data, -] that three ops want as [-, -] has the hub [-, -]; a fourth, which wants [-,
/// data], cuts its piece out of it.
///
/// A weight that is read in both passes (`PassUses`) may come `again`: once for the users of the forward pass and once
/// for those of the backward pass, each time by way of the hub. Its copy is then not kept between the passes.
struct ValueHub {
  ValueId value;
  std::optional<Sharding> target; ///< none: the fastest that is wanted
  bool again = false;
};

/// The cost of a program on one device, in seconds and bytes.
struct GraphCost {
  double computeSeconds = 0;                            ///< all ops
  double communicationSeconds = 0;                      ///< all moves
  std::vector<OpCost> ops;                              ///< by op
  std::vector<GraphMove> moves;                         ///< those with at least one collective, in order of value
  std::vector<ValueId> comeAgain;                       ///< moved for each pass apart, and not for nothing; ascending
  std::map<CollectiveKind, int64_t> communicationBytes; ///< sent and received buffer bytes of one device, by collective
  MemoryTable memory;
  OpId fullestOp{0}; ///< the op at which the memory is largest
  double flopsPerDevice = 0;

  double seconds() const { return computeSeconds + communicationSeconds; }
  /// Hubs to cost the same strategies with on another mesh or cluster, so that the same values come again.
  std::vector<ValueHub> hubsOfComeAgain() const;
  /// Of all moves; a Slice communicates nothing and does not count.
  int64_t numCollectives() const;
};

/// The cost of one op of a graph under a strategy in one step: that of its rule, as often as it runs, and none where it
/// runs at load.
OpCost costOfOp(const OpGraph &graph, OpId op, const Strategy &strategy, const CostModel &model);

/// Costs `graph` under one strategy for each op. A value goes from its producer to its users directly, or by way of one
/// hub: then a user continues from the hub or from the producer, whichever is faster, and what is left to do is done
/// for each user apart. The hub is the fastest of the shardings that users want and that of \p hubs; users that run
/// once in a step have none where others run with every micro-batch. Values that come again have the hub that is given.
/// An error (ours) when a strategy is illegal or a value would have to become partial.
llvm::Expected<GraphCost> costOfGraph(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                                      llvm::ArrayRef<ValueHub> hubs = {});

using StrategyOf = llvm::function_ref<const Strategy &(OpId)>;

/// The moves of one value to all that use it, as `costOfGraph` has them; `GraphMove::source` counts from \p first, the
/// number of moves before these. Empty when the value would have to become partial.
/// \p suggested: a hub to take where it is fastest, or in any case where it is `again`.
///
/// Example: [data] is wanted as [-] by two users and as [data, model] by a third: AllGather{data} is paid once, and its
/// copy serves both users.
std::optional<std::vector<GraphMove>> movesOf(const OpGraph &graph, ValueId value, llvm::ArrayRef<OpGraph::Use> users,
                                              StrategyOf strategyOf, Redistributor &redistributor,
                                              const ValueHub *suggested = nullptr, size_t first = 0);

/// The same for each pass apart where \p suggested is to come again and a move takes time.
std::optional<std::vector<GraphMove>> movesByPass(const OpGraph &graph, const PassUses &passes,
                                                  llvm::ArrayRef<OpGraph::Use> users, StrategyOf strategyOf,
                                                  Redistributor &redistributor, const ValueHub &suggested,
                                                  size_t first);

/// The memory of one device while the ops of `graph` run in their order. A value lives from its producer to its last
/// user, or until the copy is made that its last user reads; a copy from its first user to its last; inputs from the
/// start, outputs to the end. Views share the storage of what they read. Contractions need workspace, moves of several
/// steps buffers.
StepPeak graphMemory(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                     llvm::ArrayRef<GraphMove> moves);

} // namespace apc
