// Hubs of weights, and the way back to their parameters.
#include "HeldCopies.h"

#include "apc/Graph/StageSplit.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

namespace {

/// The parameter that a weight is or looks at in another way; none of other weights, which may be made again for the
/// backward pass.
std::optional<ValueId> parameterOf(const OpGraph &graph, ValueId weight) {
  while (graph.isView(weight))
    weight = *graph.op(graph.value(weight).producer).operands.front();
  const GraphValue &value = graph.value(weight);
  const bool isParameter = isSource(graph, value.producer) && value.role == ValueRole::Parameter;
  return isParameter ? std::optional(weight) : std::nullopt;
}

class Copies {
public:
  Copies(const PlanningProblem &planning, const OpGraph &graph, const CostModel &model)
      : planning(planning), graph(graph), model(model) {}

  /// By choice of the op that makes a value: the bytes that a device has of it.
  std::vector<double> made(ValueId id) const {
    const GraphValue &value = graph.value(id);
    const FactorRule &rule = graph.ruleOf(value.producer);
    std::vector<double> bytes;
    for (size_t row = 0; row < planning.choicesOf(planning.nodeOf(value.producer)).size(); ++row)
      bytes.push_back(
          bytesOf(value, resultSharding(rule, planning.strategyOf(value.producer, row), value.resultIndex)));
    return bytes;
  }
  std::vector<std::optional<double>> atHub(ValueId id, NodeId hub) const {
    std::vector<std::optional<double>> bytes;
    for (const Choice &choice : planning.choicesOf(hub))
      bytes.push_back(choice.again ? std::nullopt : std::optional(bytesOf(graph.value(id), *choice.hub)));
    return bytes;
  }

private:
  double bytesOf(const GraphValue &value, const Sharding &sharding) const {
    return static_cast<double>(model.localBytes(value.shape, sharding));
  }

  const PlanningProblem &planning;
  const OpGraph &graph;
  const CostModel &model;
};

} // namespace

llvm::SmallVector<HeldCopy> heldCopiesOf(const PlanningProblem &planning, const OpGraph &graph,
                                         const CostModel &model) {
  const Copies copies(planning, graph, model);
  const std::vector<bool> isWeight = graph.weights();
  std::map<ValueId, HeldCopy> held; // by parameter
  for (auto [index, edge] : llvm::enumerate(planning.problem.edges)) {
    const std::optional<ValueId> value = planning.hubs[edge.to.index()];
    const bool isOfBothPasses =
        value && llvm::any_of(planning.choicesOf(edge.to), [](const Choice &choice) { return choice.again; });
    if (!isOfBothPasses || !isWeight[value->index()] || planning.nodeOf(graph.value(*value).producer) != edge.from)
      continue;
    const std::optional<ValueId> parameter = parameterOf(graph, *value);
    if (parameter)
      held.insert_or_assign(*parameter,
                            HeldCopy{planning.nodeOf(graph.value(*parameter).producer), index, copies.made(*parameter),
                                     copies.made(*value), copies.atHub(*value, edge.to)});
  }
  return llvm::to_vector(llvm::make_second_range(held));
}

} // namespace apc
