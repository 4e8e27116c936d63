// Boost.Graph on the graph of a model.
#include "apc/Graph/Algorithms.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/depth_first_search.hpp>

#include <optional>
#include <set>

namespace apc {

namespace {

/// A vertex for each op, an edge from each op to the producer of each of its operands.
template <typename Direction>
using OpDependences = boost::adjacency_list<boost::vecS, boost::vecS, Direction>;

template <typename Direction>
OpDependences<Direction> dependencesOf(const OpGraph &graph) {
  OpDependences<Direction> dependences(graph.ops.size());
  for (auto [index, op] : llvm::enumerate(graph.ops))
    for (std::optional<ValueId> operand : op.operands)
      if (operand)
        boost::add_edge(index, graph.value(*operand).producer.index(), dependences);
  return dependences;
}

/// An op is finished behind the producers of its operands; an edge back to an op that is not finished closes a cycle.
class OrderVisitor : public boost::default_dfs_visitor {
public:
  OrderVisitor(std::vector<OpId> &order, std::optional<OpId> &onCycle) : order(order), onCycle(onCycle) {}

  template <typename Vertex, typename Graph>
  void finish_vertex(Vertex vertex, const Graph &) {
    order.emplace_back(vertex);
  }
  template <typename Edge, typename Graph>
  void back_edge(Edge edge, const Graph &graph) {
    if (!onCycle)
      onCycle = OpId(boost::source(edge, graph));
  }

private:
  std::vector<OpId> &order;
  std::optional<OpId> &onCycle;
};

/// Neither a source nor an output.
bool computes(const OpGraph &graph, OpId op) {
  const auto &results = graph.op(op).results;
  return llvm::any_of(results, [&](std::optional<ValueId> result) {
    if (!result)
      return false;
    ValueRole role = graph.value(*result).role;
    return role != ValueRole::Input && role != ValueRole::Parameter && role != ValueRole::OptimizerState;
  });
}

/// For each value the position of the last op that computes with it; none for values of sources.
std::vector<std::optional<size_t>> lastUses(const OpGraph &graph, llvm::ArrayRef<OpId> order) {
  std::vector<std::optional<size_t>> last(graph.values.size());
  for (auto [position, op] : llvm::enumerate(order)) {
    if (!computes(graph, op))
      continue;
    for (std::optional<ValueId> operand : graph.op(op).operands)
      if (operand && computes(graph, graph.value(*operand).producer))
        last[operand->index()] = position;
  }
  return last;
}

} // namespace

llvm::Expected<std::vector<OpId>> topologicalOrder(const OpGraph &graph) {
  std::vector<OpId> order;
  order.reserve(graph.ops.size());
  std::optional<OpId> onCycle;
  boost::depth_first_search(dependencesOf<boost::directedS>(graph), boost::visitor(OrderVisitor(order, onCycle)));
  if (onCycle)
    return internalError("op '{0}' needs its own result", graph.op(*onCycle).name);
  return order;
}

GraphComponents weaklyConnectedComponents(const OpGraph &graph) {
  GraphComponents components;
  components.ofOp.resize(graph.ops.size());
  auto numbers = boost::make_iterator_property_map(components.ofOp.begin(), boost::identity_property_map());
  components.count =
      static_cast<unsigned>(boost::connected_components(dependencesOf<boost::undirectedS>(graph), numbers));
  return components;
}

std::vector<CutPosition> cutPositions(const OpGraph &graph, llvm::ArrayRef<OpId> order) {
  std::vector<std::optional<size_t>> last = lastUses(graph, order);
  std::vector<CutPosition> cuts;
  std::set<ValueId> crossing;
  bool isBehindAnOp = false;
  for (auto [position, op] : llvm::enumerate(order)) {
    if (!computes(graph, op))
      continue;
    if (isBehindAnOp) {
      CutPosition &cut = cuts.emplace_back();
      cut.position = position;
      cut.values.assign(crossing.begin(), crossing.end());
      for (ValueId value : crossing)
        cut.bytes += graph.value(value).shape.bytes();
    }
    isBehindAnOp = true;
    for (std::optional<ValueId> operand : graph.op(op).operands)
      if (operand && last[operand->index()] == position)
        crossing.erase(*operand);
    for (std::optional<ValueId> result : graph.op(op).results)
      if (result && last[result->index()])
        crossing.insert(*result);
  }
  return cuts;
}

} // namespace apc
