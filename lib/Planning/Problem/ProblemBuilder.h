// The building of a problem: its nodes (BuildProblem.cpp) and its edges (ProblemEdges.cpp).
#pragma once

#include "Choices.h"
#include "ProblemKeys.h"

#include "apc/Planning/BuildProblem.h"
#include "apc/Planning/StorageLimit.h"

#include "apc/Schedule/ScheduleStep.h"
#include "apc/Sharding/RedistributionSeconds.h"
#include "apc/Support/Interner.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <map>
#include <tuple>

namespace apc {

/// The moves of a value to ops that share them, and how much of them no op can hide.
struct WaySeconds {
  double all = 0, exposed = 0;
};

/// How the copy of a value may come to the users of both passes.
struct HubWays {
  bool once = true;    ///< kept in between
  bool again = false;  ///< for each pass apart
  bool beside = false; ///< if again and gathered, then beside a product

  friend auto operator<=>(const HubWays &, const HubWays &) = default;
};

/// Collects the tables of a problem; nodes first, then edges.
class ProblemBuilder {
public:
  using Filter = llvm::function_ref<bool(OpId, const Strategy &)>;
  using KindOf = llvm::function_ref<uint32_t(OpId)>;

  ProblemBuilder(const OpGraph &graph, const CostModel &model, Filter keep, const StorageLimit &storage,
                 WeightCopies copies, const Fusion &fusion, std::optional<Moment> moment,
                 RedistributionSeconds *known = nullptr, KindOf kindOf = nullptr, bool gathersAgain = false)
      : graph(graph), model(model), keep(keep), kindOf(kindOf), storage(storage), copies(copies),
        gathersAgain(gathersAgain), moment(moment),
        passes(graph, /*weightsAlone=*/copies == WeightCopies::Dropped && !gathersAgain), uses(graph.uses()),
        opCosts(graph, model, moment), positions(graph.ops.size()),
        exposures(graph.overlaps ? exposuresOf(graph, fusion) : Exposures()), weights(graph.weights()), fusion(fusion),
        fused(fusion, model), alone(known ? *known : own.emplace(model.getMesh(), [&model](const Collective &each) {
          return model.collectiveSeconds(each);
        })) {
    for (unsigned group = 0; group < fusion.groupBytes.size(); ++group)
      together.emplace_back(model.getMesh(),
                            [this, group](const Collective &each) { return fused.leastSeconds(each, group); });
  }

  PlanningProblem build();
  /// None as soon as two ops have no possible pair of choices.
  std::optional<PlanningProblem> buildPossible();
  /// None as soon as \p isOver says so, which is asked for each node and each value.
  std::optional<PlanningProblem> buildUntil(llvm::function_ref<bool()> isOver);

private:
  /// Edges of values in their order. False where \p isOver, which is asked again and again, has ended it.
  bool addAllEdges(llvm::function_ref<bool()> isOver);
  void formNodes();
  NodeTableId nodeTable(NodeId node);
  /// The same by what the filter leaves, one strategy after the other.
  NodeTableId newNodeTable(NodeId node);
  NodeKind kindOfNode(NodeId node) const;
  /// With the choices that `NodeKey::kept` speaks of.
  std::pair<NodeKey, const std::vector<Choice> *> keyOf(NodeId node);
  std::vector<InnerUse> innerUses(NodeId node) const;
  void addInnerUses(NodeId node, unsigned position, unsigned result, std::vector<InnerUse> &inner) const;
  llvm::ArrayRef<Strategy> offered(OpId op);
  /// The choices of a node by those strategies of its leader that the filter leaves (\p leading, empty for all), before
  /// it is asked about the others; where the leader's is illegal for others there is none.
  const std::vector<Choice> &choicesOf(NodeId node, const std::vector<bool> &leading);
  /// Does the filter leave the strategies of the ops behind the leader?
  bool followersKeep(llvm::ArrayRef<OpId> ops, const Choice &choice) const;
  /// None where a value cannot get from one op of the node to another.
  std::optional<std::pair<StrategyCost, RowSeconds>> cost(NodeId node, const Choice &choice,
                                                          llvm::ArrayRef<InnerUse> inner);
  Exposure exposureOf(OpGraph::Use use) const {
    return exposures.operands.empty() ? Exposure::Far : exposures.operands[use.op.index()][use.operand];
  }
  bool covers(OpId op) const { return !exposures.covers.empty() && exposures.covers[op.index()]; }
  bool isExposed(OpGraph::Use use) const { return exposureOf(use) == Exposure::Exposed; }
  std::optional<double> moveSeconds(ValueId value, const Sharding &from, const Sharding &to);
  /// Of one way inside a node, its hub being the cheapest; none where it is impossible.
  std::optional<WaySeconds> waySeconds(NodeId node, const Choice &choice, llvm::ArrayRef<InnerUse> way);
  /// The seconds of a value of this group, or that moves alone.
  RedistributionSeconds &movesOf(std::optional<unsigned> group) { return group ? together[*group] : alone; }
  /// Sides by their numbers (`sides`).
  uint32_t givenBy(ValueId value) const { return givenSides[value.index()]; }
  uint32_t wantedBy(OpGraph::Use use) const { return wantedSides[use.op.index()][use.operand]; }
  llvm::ArrayRef<Sharding> column(uint32_t side) const { return columns[side]; }
  Side sideOf(OpGraph::Use use) const;
  uint32_t addSide(Side side, OpId op);
  void fillColumns();
  bool mayPay(ValueId value, OpGraph::Use use);
  std::vector<OpGraph::Use> outerUses(ValueId value) const;
  HubWays waysOfHub(ValueId id, llvm::ArrayRef<OpGraph::Use> users) const;
  std::optional<NodeTableId> hubTable(ValueId id, llvm::ArrayRef<OpGraph::Use> users);
  void fillHub(const TensorShape &shape, llvm::ArrayRef<uint32_t> sides, bool isAgain, int64_t numCopies,
               NodeTable &table, std::vector<Choice> &choices);
  void placeNodes(llvm::ArrayRef<std::optional<NodeTableId>> hubTables);
  void addEdges(ValueId id, llvm::ArrayRef<OpGraph::Use> users, std::optional<NodeId> hub,
                std::optional<NodeTableId> hubTable);
  std::vector<bool> readAlike(uint32_t wanted) const;
  std::vector<double> innerSeconds(ValueId id, NodeId from, uint32_t given, int64_t repeats);
  /// By choice of a hub: how often a value comes there from `from`; none where it may not come so.
  std::vector<std::optional<double>> timesToHub(const TensorShape &shape, const Sharding &from, uint32_t hub,
                                                RedistributionSeconds::Row seconds) const;
  /// `use` is the user at the end of the edge, none for a hub.
  void addEdge(ValueId id, NodeId from, uint32_t given, NodeId to, uint32_t wanted, int64_t repeats, Exposure exposure,
               std::optional<OpGraph::Use> use = {});
  std::optional<OpGraph::Use> firstWaiting(ValueId value, llvm::ArrayRef<OpGraph::Use> users, int64_t repeats);
  /// For an exposed use of a value that comes by way of a hub which others read later.
  void addExposedWay(OpGraph::Use use, ValueId id, uint32_t given, Exposure ofHub);
  /// By choice of a user: how often a value of a hub, or of its producer, comes to it: not at all where an operand
  /// before has it so; none where the limit on storage forbids it.
  std::vector<std::optional<double>> timesToUser(OpGraph::Use use, const Sharding &rest, uint32_t wanted,
                                                 RedistributionSeconds::Row seconds);

  const OpGraph &graph;
  const CostModel &model;
  Filter keep;
  KindOf kindOf; ///< null where nothing is known of what the filter leaves
  const StorageLimit &storage;
  WeightCopies copies;
  bool gathersAgain; ///< what may be gathered again beside a product has to be
  std::optional<Moment> moment;
  PassUses passes;
  std::vector<std::vector<OpGraph::Use>> uses;
  OpCosts opCosts;
  std::vector<unsigned> positions;  ///< of each op in its node
  Exposures exposures;              ///< empty where nothing is hidden
  std::vector<bool> weights;        ///< by value
  std::vector<NodeTableId> tableOf; ///< by op: the table of its node
  PlanningProblem planning;
  std::map<RuleId, std::vector<Strategy>> enumerated;
  std::map<std::pair<std::vector<TiedKey>, std::vector<bool>>, std::vector<Choice>> choices;
  std::map<NodeKey, NodeTableId> nodeTables;
  std::map<NodeKind, NodeTableId> tablesOfKinds;
  Interner<Side> sides;
  std::vector<std::vector<Sharding>> columns;              ///< by side, by choice
  std::vector<uint32_t> givenSides;                        ///< by value: its side at its producer
  std::vector<llvm::SmallVector<uint32_t, 4>> wantedSides; ///< by op and operand
  /// By what is given, what is wanted, the group of the value, and what can hide the redistribution.
  std::map<std::tuple<uint32_t, uint32_t, std::optional<unsigned>, Exposure>, PairTableId> pairTables;
  std::map<std::tuple<uint32_t, uint32_t, std::optional<unsigned>, Exposure>, size_t> directTables; ///< of exposed ways
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, bool> paid; ///< may the redistribution between two sides take time?
  /// By what is given, what is wanted, how it may come, and the number of copies that count.
  std::map<std::tuple<std::vector<uint32_t>, HubWays, int64_t>, NodeTableId> hubTables;
  std::map<NodeTableId, HubWays> waysOfHubs;
  const Fusion &fusion;
  FusedCosts fused;
  bool isImpossible = false; ///< some edge has no possible pair
  std::optional<RedistributionSeconds> own;
  RedistributionSeconds &alone;               ///< `own`, or those that other problems share
  std::deque<RedistributionSeconds> together; ///< by group
};

} // namespace apc
