// The next best strategy of each op, and what would have to change for it to be the best.
#pragma once

#include "Candidate.h"

#include "apc/Cluster/ScaledCluster.h"
#include "apc/Sharding/Redistribution.h"

#include <map>

namespace apc {

/// Finds the cheapest alternative to each choice of a candidate, everything else staying as it is.
class RunnerUps {
public:
  /// `planning` is the problem of `candidate.mesh` on `cluster`; all are kept by reference.
  RunnerUps(const OpGraph &graph, const Cluster &cluster, const Candidate &candidate, const PlanningProblem &planning);

  /// What each strategy of `op` would cost more than the one chosen, by strategy: empty for that one, for impossible
  /// ones, and for all when the choice is none that a search was offered.
  std::vector<std::optional<double>> extraSeconds(OpId op) const;
  /// The cheapest of all by `extra`, with what would have to change for it to win; none when no other is possible.
  std::optional<RunnerUp> of(OpId op, llvm::ArrayRef<std::optional<double>> extra);
  /// The cheapest of all, without a word on what would have to change for it to win.
  std::optional<RunnerUp> cheapestOther(OpId op) const;
  /// For each factor of more than one element, the cheapest strategy that cuts it where it is whole, and leaves it
  /// whole where it is cut.
  std::vector<FactorChoice> factors(OpId op, llvm::ArrayRef<std::optional<double>> extra) const;

private:
  /// One side of a comparison: an op's strategy with the redistributions around it.
  struct Side {
    const Strategy *strategy;
    std::vector<Step> steps;
  };

  std::optional<double> seconds(OpId op, size_t strategy) const;
  /// The index of the least of `extra` among the strategies for which `qualifies` holds; the first of equals.
  std::optional<size_t> cheapest(OpId op, llvm::ArrayRef<std::optional<double>> extra,
                                 llvm::function_ref<bool(const Strategy &)> qualifies) const;
  Side sideOf(OpId op, const Strategy &strategy);
  void addSteps(ValueId value, const Sharding &from, const Sharding &to, std::vector<Step> &steps);
  double difference(OpId op, const Side &chosen, const Side &other, const Cluster &changed) const;
  std::vector<TurningPoint> turningPoints(OpId op, const Strategy &other);
  std::optional<double> turningFactor(OpId op, const Side &chosen, const Side &other, const ScalableFigure &figure,
                                      double extreme) const;
  /// Ops in the same situation (the same layer of a repeated model) share the answer.
  std::vector<size_t> situationOf(OpId op, size_t other) const;

  const OpGraph &graph;
  const Cluster &cluster;
  const Candidate &candidate;
  const PlanningProblem &planning;
  CostModel model;
  std::vector<std::vector<OpGraph::Use>> uses;
  std::vector<std::vector<const Edge *>> incident;
  std::vector<std::optional<size_t>> chosen;
  std::vector<std::pair<TensorShape, Redistributor>> redistributors;
  std::map<std::vector<size_t>, std::vector<TurningPoint>> known;
};

} // namespace apc
