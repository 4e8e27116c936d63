// The next best strategy of each op, and what would have to change for it to be the best.
#pragma once

#include "Candidate.h"
#include "ScaledCluster.h"

#include "apc/Sharding/Redistribution.h"

#include <map>

namespace apc {

/// Finds the cheapest alternative to each choice of a candidate, everything else staying as it is.
class RunnerUps {
public:
  /// `planning` is the problem of `candidate.mesh` on `cluster`; all are kept by reference.
  RunnerUps(const OpGraph &graph, const Cluster &cluster, const Candidate &candidate, const PlanningProblem &planning);

  /// None when no other strategy is possible, or when the choice is none that a search was offered.
  std::optional<RunnerUp> of(OpId op);

private:
  /// One side of a comparison: an op's strategy with the redistributions around it.
  struct Side {
    const Strategy *strategy;
    std::vector<Step> steps;
  };

  std::optional<double> seconds(OpId op, size_t strategy) const;
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
