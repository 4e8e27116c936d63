// Orders, components and cuts of a model's graph.
#pragma once

#include "apc/Graph/OpGraph.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace apc {

/// The ops of `graph`, each behind the producers of its operands. Ops that stand in such an order already keep it: 0,
/// 1, 2, ... Time is linear in ops and uses.
/// Errors (internal): a cycle, with an op on it.
llvm::Expected<std::vector<OpId>> topologicalOrder(const OpGraph &graph);

/// Parts of a graph between which no value runs. Ops {0, 2} and {1, 3}: `ofOp` is {0, 1, 0, 1}, `count` 2.
struct GraphComponents {
  std::vector<unsigned> ofOp; ///< by op; numbered by their first ops
  unsigned count = 0;
};
/// A shared source, such as a parameter of two branches, joins its users.
GraphComponents weaklyConnectedComponents(const OpGraph &graph);

/// A place between two ops where a model can be cut into stages, with the values that run from one to the other.
struct CutPosition {
  size_t position = 0;         ///< in the order: the first op behind the cut
  std::vector<ValueId> values; ///< ascending
  int64_t bytes = 0;           ///< of the whole values
};

/// All places to cut `order`, a topological order of `graph`: those with ops that compute on both sides. By position.
///
///   x -> a -> b -> c -> y, and c reads a's result, too:   before b {a}, before c {a, b}
///
/// Inputs, parameters and optimizer states do not count, because the stage that reads them holds them; nor do uses by
/// outputs, because the stage that makes a result hands it over. A value counts once, however many ops read it; a view
/// counts beside the value it shows.
std::vector<CutPosition> cutPositions(const OpGraph &graph, llvm::ArrayRef<OpId> order);

} // namespace apc
