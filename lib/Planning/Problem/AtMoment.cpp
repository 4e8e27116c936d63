// A problem with its bytes counted at another moment, or with other micro-batches in flight.
#include "Grouping.h"
#include "LayoutProblem.h"
#include "OpCosts.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

namespace {

/// Makes the node tables again, with other bytes.
class MomentChange {
public:
  MomentChange(const PlanningProblem &base, const OpGraph &graph, const CostModel &model, bool areWeightsAlone,
               std::optional<Moment> moment)
      : base(base), graph(graph), model(model), moment(moment), passes(graph, areWeightsAlone), uses(graph.uses()),
        opCosts(graph, model, moment) {}

  PlanningProblem run() {
    planning.problem = base.problem;
    planning.problem.nodeTables.clear();
    planning.ops = base.ops;
    planning.hubs = base.hubs;
    planning.nodes = base.nodes;
    planning.exposures = base.exposures;
    planning.exposedWays = base.exposedWays;
    planning.directTables = base.directTables;
    std::vector<std::optional<NodeTableId>> hubTables(graph.values.size());
    for (size_t node = 0; node < base.ops.size(); ++node) {
      NodeTableId table = base.hubs[node] ? tableOfHub(NodeId(node)) : tableOfOps(NodeId(node));
      planning.problem.nodes[node].table = table;
      if (base.hubs[node])
        hubTables[base.hubs[node]->index()] = table;
    }
    countOriginalsOnce(graph, model.getMesh().numDevices(), moment, hubTables, planning.problem);
    return std::move(planning);
  }

private:
  NodeTableId oldTable(NodeId node) const { return base.problem.nodes[node.index()].table; }

  /// The old table of a node with the bytes that \p bytesOf says for each choice.
  NodeTableId addTable(NodeId node, llvm::function_ref<StrategyCost(const Choice &)> bytesOf) {
    size_t old = oldTable(node).index();
    NodeTable table = base.problem.nodeTables[old];
    for (auto [cost, choice] : llvm::zip_equal(table.costs, base.choices[old])) {
      StrategyCost bytes = bytesOf(choice);
      cost.persistentBytes = bytes.persistentBytes;
      cost.transientBytes = bytes.transientBytes;
    }
    planning.choices.push_back(base.choices[old]);
    planning.rows.push_back(base.rows[old]);
    return planning.problem.addNodeTable(std::move(table));
  }

  NodeTableId tableOfOps(NodeId node) {
    llvm::ArrayRef<OpId> ops = base.opsOf(node);
    std::vector<OpKey> keys;
    for (OpId op : ops)
      keys.push_back(opCosts.keyOf(op));
    auto [entry, isNew] = tables.try_emplace({oldTable(node), std::move(keys)});
    if (isNew)
      entry->second = addTable(node, [&](const Choice &choice) {
        StrategyCost sum;
        for (auto [op, strategy] : llvm::zip_equal(ops, choice.strategies)) {
          StrategyCost own = opCosts.bytes(op, strategy);
          sum.persistentBytes += own.persistentBytes;
          sum.transientBytes = std::max(sum.transientBytes, own.transientBytes);
        }
        return sum;
      });
    return entry->second;
  }

  /// The users of the value of a hub.
  std::vector<OpGraph::Use> usersOf(ValueId value) const {
    NodeId producer = base.nodeOf(graph.value(value).producer);
    std::vector<OpGraph::Use> outer;
    llvm::copy_if(uses[value.index()], std::back_inserter(outer),
                  [&](OpGraph::Use use) { return base.nodeOf(use.op) != producer; });
    return sharingUses(graph, outer);
  }

  NodeTableId tableOfHub(NodeId node) {
    ValueId value = *base.hubs[node.index()];
    std::vector<OpGraph::Use> users = usersOf(value);
    bool mayComeAgain = passes.mayComeAgain(value, users);
    int64_t numCopies = mayComeAgain ? countedCopies(graph, weights[value.index()], moment, users) : 0;
    auto [entry, isNew] = hubTables.try_emplace({oldTable(node), numCopies});
    if (isNew)
      entry->second = addTable(node, [&](const Choice &choice) {
        int64_t kept = choice.again ? 0 : numCopies;
        return StrategyCost{0, kept * model.localBytes(graph.value(value).shape, *choice.hub), 0};
      });
    return entry->second;
  }

  const PlanningProblem &base;
  const OpGraph &graph;
  const CostModel &model;
  std::optional<Moment> moment;
  PassUses passes;
  std::vector<std::vector<OpGraph::Use>> uses;
  std::vector<bool> weights = graph.weights(); ///< by value
  OpCosts opCosts;
  PlanningProblem planning;
  std::map<std::pair<NodeTableId, std::vector<OpKey>>, NodeTableId> tables; ///< by the old table and its ops
  std::map<std::pair<NodeTableId, int64_t>, NodeTableId> hubTables; ///< by the old table, and the copies that count
};

} // namespace

PlanningProblem atMoment(const PlanningProblem &base, const OpGraph &graph, const CostModel &model, WeightCopies copies,
                         std::optional<Moment> moment) {
  return MomentChange(base, graph, model, copies == WeightCopies::Dropped, moment).run();
}

PlanningProblem withBytesOf(const PlanningProblem &base, const OpGraph &graph, const CostModel &model,
                            WeightCopies copies, bool gathersAgain) {
  const bool areWeightsAlone = copies == WeightCopies::Dropped && !gathersAgain;
  return MomentChange(base, graph, model, areWeightsAlone, /*moment=*/{}).run();
}

} // namespace apc
