// OpGraph x mesh x costs -> Problem: one node for each op, or for each group of ops that are tied.
#pragma once

#include "apc/Cost/GraphCost.h"
#include "apc/Schedule/Exposures.h"
#include "apc/Schedule/SimulateStep.h"
#include "apc/Search/Problem.h"

namespace apc {

/// One row of a node's table: a strategy for each op that the node stands for, or the sharding of a hub.
struct Choice {
  std::vector<Strategy> strategies; ///< in the order of `PlanningProblem::opsOf`
  std::optional<Sharding> hub = {};
  bool again = false;    ///< of a hub: the value comes once for each pass (`ValueHub::again`)
  AxisList passing = {}; ///< over which the node's sums of gradients are partial
};

/// The seconds of a row of a node: of its ops, and of the redistributions between them.
struct RowSeconds {
  double compute = 0, covering = 0, exposed = 0, hideable = 0;

  double weighed(const TimeWeights &weights) const {
    return weights.compute * compute + weights.covering * covering + weights.exposed * exposed +
           weights.hideable * hideable;
  }
};

/// The op at which the memory of a problem is counted: a sum of bytes over the nodes. A certain sum is never more than
/// what the program needs at that op. A likely one is near it, and may be more or less: an answer near the limit is
/// sought by it, but nothing is proven.
struct Moment {
  OpId op;
  bool isCertain = true;

  friend bool operator==(const Moment &, const Moment &) = default;
};

/// The moment for a first search, certain: the op at which the whole values of a training step, gradients apart, need
/// most. None for graphs in which nothing is kept.
std::optional<Moment> startingMoment(const OpGraph &graph);

/// The seconds of a direct way, and what can hide the way by the hub.
struct DirectTable {
  PairTable seconds;
  Exposure ofHub;
};

/// A use that no op can hide, of a value that comes by way of a hub: the direct way from the producer to the user takes
/// no longer than what the user waits for.
struct ExposedWay {
  NodeId from, to;
  size_t table; ///< of the seconds of the direct way
};

/// A problem with the choices that its indices stand for. A graph of 3 ops, the last two tied, has 2 nodes: opsOf(1) is
/// {1, 2}, and nodeOf(2) is 1. A node that is the hub of a value stands for no op.
struct PlanningProblem {
  Problem problem;
  std::vector<std::vector<Choice>> choices;  ///< by node table: one for each row
  std::vector<std::vector<OpId>> ops;        ///< by node; empty for a hub
  std::vector<std::optional<ValueId>> hubs;  ///< by node: the value whose hub it is
  std::vector<NodeId> nodes;                 ///< by op
  std::vector<std::vector<RowSeconds>> rows; ///< by node table; empty for hubs, which take no time
  std::vector<Exposure> exposures;           ///< by pair table: of its redistributions
  std::vector<ExposedWay> exposedWays;
  std::vector<DirectTable> directTables; ///< of exposed ways

  /// The same problem with its seconds weighed by what may hide them; of those by way of a hub as much is exposed as
  /// the direct way takes. With weights of 1 it is `problem`.
  Problem weighed(const TimeWeights &weights) const;
  NodeId nodeOf(OpId op) const { return nodes[op.index()]; }
  /// The ops of a node, the one that leads the others first.
  llvm::ArrayRef<OpId> opsOf(NodeId node) const { return ops[node.index()]; }
  llvm::ArrayRef<Choice> choicesOf(NodeId node) const { return choices[problem.nodes[node.index()].table.index()]; }
  /// The strategy of `op` in row `choice` of its node.
  const Strategy &strategyOf(OpId op, size_t choice) const;
  /// The row of a node in which each of its ops has its strategy of `strategies` (by op); none where it is not offered,
  /// and for a hub.
  std::optional<size_t> findChoice(NodeId node, llvm::ArrayRef<Strategy> strategies) const;
  /// The strategy of every op under an assignment.
  std::vector<Strategy> decode(const Assignment &assignment) const;
  /// The hub of every value that has one, under an assignment.
  std::vector<ValueHub> decodeHubs(const Assignment &assignment) const;

private:
  void addExposedWays(Problem &own, const TimeWeights &weights) const;
};

/// The copies of weights that are gathered for their use: kept from the forward to the backward pass where that is
/// better, or dropped in any case.
enum class WeightCopies : uint8_t { Chosen, Dropped };

/// The problem of choosing strategies for the ops of `graph` on the mesh of `model`.
/// Node tables: seconds by `opCost`, and of redistributions between ops of one node; persistent bytes for parameters
/// and what is held at the moment, transient bytes for an op's operands, results and workspace (the largest of the
/// node's ops). Values that share their storage count once, views of parameters not at all. Together they are never
/// more than the program's peak at a certain moment, or where no moment is given and nothing is kept for the backward
/// pass; there the sum of what is kept stands in for it. Equal nodes share one table. Ops that are tied take the axes
/// of the factors of the op that leads them, factor by name. Edges: seconds of the redistribution for each pair of
/// choices; equal edges share one table. Constants have no edge: cutting a tensor that every device holds is free.
/// Hubs: a value of which several uses may have to pay for a redistribution has a node between its producer and its
/// users. The least sum over the hubs is what `costOfGraph` costs the strategies at.
/// A value that both passes read may come once, its copy being kept for the backward pass, or twice: its hub has rows
/// for either, of which those that come once count the bytes of the copy, but for certain moments. The copy of an
/// activation takes the place of the original, so that of both, the smallest piece of the original counts once.
/// \p keep, when given, drops choices with a strategy, of the leader or of an op that follows it, for which it returns
/// false (at least one must stay). \p zero is the stage of ZeRO that storage may have at most
/// (apc/Planning/StorageLimit.h). \p copies says whether copies of weights may be kept between the passes. Moves of
/// values that \p fusion lists have the least seconds that they may add to an exchange with others (`FusedCosts`): the
/// least sum is then no more than what a program takes.
PlanningProblem buildProblem(const OpGraph &graph, const CostModel &model,
                             llvm::function_ref<bool(OpId, const Strategy &)> keep = {},
                             std::optional<int64_t> zero = {}, WeightCopies copies = WeightCopies::Chosen,
                             const Fusion &fusion = {}, std::optional<Moment> moment = {});

/// The same; none as soon as \p isOver says so, which is asked again and again.
std::optional<PlanningProblem> buildProblemUntil(llvm::function_ref<bool()> isOver, const OpGraph &graph,
                                                 const CostModel &model,
                                                 llvm::function_ref<bool(OpId, const Strategy &)> keep = {},
                                                 std::optional<int64_t> zero = {},
                                                 WeightCopies copies = WeightCopies::Chosen, const Fusion &fusion = {},
                                                 std::optional<Moment> moment = {});

/// \p base, built for the same graph, model and copies, with its bytes counted at another moment. Seconds, choices and
/// edges stay, and tables of pairs are shared, so that it takes little of the time of `buildProblem`.
PlanningProblem atMoment(const PlanningProblem &base, const OpGraph &graph, const CostModel &model, WeightCopies copies,
                         std::optional<Moment> moment);

} // namespace apc
