// The next best strategy of each op, and the changes of the devices and links that would make it the best.
#pragma once

#include "Task.h"
#include "apc/Cluster/ScaledPool.h"

#include "apc/Sharding/Redistribution.h"

#include <deque>
#include <map>

namespace apc {

/// Finds the cheapest alternative to each choice of a candidate, everything else staying as it is. An op that is tied
/// to others changes with them.
class RunnerUps {
public:
  /// `planning` is the problem of `candidate.mesh` in `task`; `mesh` is that mesh with the axis names of the plan.
  /// All are kept by reference.
  RunnerUps(const PlanningTask &task, const Candidate &candidate, const PlanningProblem &planning, const Mesh &mesh);

  /// The extra seconds of each choice of the op's node over the one that was made, by choice: empty for that one, for
  /// impossible ones, and for all when the one that was made is none that a search was offered.
  const std::vector<std::optional<double>> &extraSeconds(OpId op);
  /// The cheapest of all by `extra`, with what would have to change for it to win; none when no other is possible.
  std::optional<RunnerUp> of(OpId op, llvm::ArrayRef<std::optional<double>> extra);
  /// The cheapest of all without that.
  std::optional<RunnerUp> cheapestOther(OpId op);
  /// For every factor of more than one element the cheapest choice that cuts it if it is whole, or leaves it whole if
  /// it is cut.
  std::vector<FactorChoice> factors(OpId op, llvm::ArrayRef<std::optional<double>> extra) const;

private:
  /// A choice of a node, with the collectives between it and its neighbours.
  struct Side {
    const Choice *choice;
    struct Taken {
      Collective collective;
      int64_t repeats; ///< in a step
      std::optional<unsigned> group;
    };
    std::vector<Taken> collectives;
  };

  std::optional<size_t> cheapest(OpId op, llvm::ArrayRef<std::optional<double>> extra,
                                 llvm::function_ref<bool(const Strategy &)> qualifies) const;
  /// By hub next to a node: the seconds of its other edges, for each of its choices.
  using HubsAround = std::map<NodeId, std::vector<std::optional<double>>>;

  NodeId neighbour(const Edge &edge, NodeId node) const;
  std::optional<double> edgeSeconds(const Edge &edge, NodeId node, size_t choice, size_t others) const;
  bool comesAgain(ValueId value) const;
  bool isOpen(NodeId hub, size_t row) const;
  std::vector<std::optional<double>> secondsOfHub(NodeId hub, std::optional<NodeId> except) const;
  std::optional<double> leastOfHub(NodeId hub, llvm::ArrayRef<std::optional<double>> others, NodeId node,
                                   size_t choice) const;
  std::optional<double> seconds(NodeId node, size_t choice, const HubsAround &hubs) const;
  RunnerUp runnerUp(OpId op, size_t choice, double extraSeconds) const;
  std::vector<std::optional<double>> extraSecondsOf(NodeId node) const;
  void numberHubs();
  std::pair<size_t, size_t> sideOfEdge(NodeId node, const Edge &edge) const;
  std::vector<size_t> situationOf(NodeId node) const;
  Side sideOf(NodeId node, const Choice &choice);
  double difference(NodeId node, const Side &chosen, const Side &other, const Pool &changed) const;
  std::optional<double> turningFactor(NodeId node, const Side &chosen, const Side &other, const ScalableFigure &figure,
                                      double extreme) const;
  std::vector<TurningPoint> turningPoints(NodeId node, const Choice &other);

  const OpGraph &graph;
  const Pool &pool;
  const Fusion &fusion;
  const Candidate &candidate;
  const PlanningProblem &planning;
  const Mesh &mesh;
  CostModel model;
  FusedCosts fused;
  std::vector<std::vector<OpGraph::Use>> uses;
  PassUses passes;
  std::vector<std::vector<const Edge *>> incident; ///< by node
  std::vector<std::optional<size_t>> chosen;       ///< by node: the choice that was made
  std::vector<size_t> around;                      ///< by node, for hubs: a number for all that is around it
  Redistributors alone;
  std::deque<Redistributors> together;                                          ///< by group
  std::map<std::vector<size_t>, std::vector<std::optional<double>>> knownExtra; ///< by situation
  std::map<std::vector<size_t>, std::vector<TurningPoint>> known;               ///< by situation and other choice
};

} // namespace apc
