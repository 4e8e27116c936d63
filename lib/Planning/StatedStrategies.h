// A stage of a plan bound to the graph that it was made for.
#pragma once

#include "apc/Cost/GraphCost.h"
#include "apc/Plan/Plan.h"

namespace apc {

/// The names of the ops of \p uses, which come in op order, each once: the users of a value or a move as plans state
/// them.
std::vector<std::string> namesOfUsers(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> uses);

/// The strategies of a stage, one for each op of the graph: those of its choices, and of inputs and parameters the cuts
/// of their values. Errors (a failed check): other ops or values than those of the graph, in another order; a strategy
/// that the op cannot take.
llvm::Expected<std::vector<Strategy>> statedStrategies(const OpGraph &graph, const StagePlan &stage, const Mesh &mesh);

/// The moves of a stage. Errors (a failed check): a move that no op uses, or others than it says; collectives that
/// lead elsewhere; a value that no move takes to where an op needs it.
llvm::Expected<std::vector<GraphMove>> statedMoves(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies,
                                                   const StagePlan &stage, const Mesh &mesh);

/// The buckets of a stage, whose `moves` are given their places in them. Errors (a failed check): moves that cannot be
/// taken together, for their steps differ or one starts from another copy.
llvm::Expected<std::vector<MoveBucket>> statedBuckets(const OpGraph &graph, const StagePlan &stage,
                                                      llvm::MutableArrayRef<GraphMove> moves);

/// Sets the op in front of which each move stands. Errors (a failed check): one that does not stand between what the
/// move reads and the first op that reads its copy; others for the moves of one bucket.
llvm::Error placeAsStated(const OpGraph &graph, const StagePlan &stage, llvm::MutableArrayRef<GraphMove> moves,
                          llvm::ArrayRef<MoveBucket> buckets);

} // namespace apc
