// Strategies and shardings as rows of a problem's tables.
#pragma once

#include "apc/Planning/BuildProblem.h"
#include "apc/Sharding/Strategy.h"

#include <optional>
#include <vector>

namespace apc {

/// One entry for each op in the order of the ops; tied ops stand together where their leader does.
std::vector<std::vector<OpId>> opsDecidedTogether(const OpGraph &graph);

/// The axes of a strategy's factors and groups of linear operands, as `NodeTable::axes` has them: factors first.
std::vector<uint32_t> axisDigits(const Strategy &strategy, size_t numAxes);
/// The same of a sharding: its dims first, then partial axes, then dims that are cut inside parts.
std::vector<uint32_t> axisDigits(const Sharding &sharding, size_t numAxes);

/// The strategy of an op that follows another: its factors are cut like the leader's that they are, by
/// `GraphOp::leadingFactors` where \p leading has names, else by equal names; none where that is illegal.
std::optional<Strategy> followed(const FactorRule &leader, const Strategy &strategy, const FactorRule &follower,
                                 llvm::ArrayRef<std::string> leading, const Mesh &mesh);

/// Everything that the strategies of one of several tied ops depend on beside the leader's own and the mesh: ops with
/// equal ties have equal choices.
struct TiedKey {
  RuleId rule;
  bool readsParameterAlone = false, accumulates = false;
  std::optional<std::pair<size_t, unsigned>> widened = {}; ///< the gradient that the op widens: position and result
  std::vector<std::string> leadingFactors = {};

  friend auto operator<=>(const TiedKey &, const TiedKey &) = default;
};
std::vector<TiedKey> tiedKey(const OpGraph &graph, llvm::ArrayRef<OpId> ops);

/// A strategy of the first of `ops`, which are tied, and those of the others that follow; none where one is illegal.
std::optional<Choice> followedByAll(const OpGraph &graph, llvm::ArrayRef<OpId> ops, const Strategy &strategy,
                                    const Mesh &mesh);

/// Further choices of a node in which gradients of one value are summed while they are still partial, and settled
/// together: `choice` with the sums among the tied ops partial over each set of axes that its leader does not use,
/// those of several gradients also over the axes of one of its factors, sums over micro-batches over each set of all
/// axes. None where no op of the node is such a sum.
std::vector<Choice> withPartialSums(const OpGraph &graph, llvm::ArrayRef<OpId> ops, const Choice &choice,
                                    const Mesh &mesh);

} // namespace apc
