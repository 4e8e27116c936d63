// The problem of a search: building it, checking it, and the two judges of an answer.
#include "apc/Search/Problem.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace apc {

namespace {

/// Bounds that keep every sum finite and every sum of bytes exact in a double: 2^100 s and 2^53 bytes (8 PiB).
constexpr double largestSeconds = 0x1p100;
constexpr int64_t largestBytes = int64_t(1) << 53;

bool acceptedSeconds(double seconds) { return seconds >= 0 && seconds <= largestSeconds; }
bool acceptedBytes(int64_t bytes) { return bytes >= 0 && bytes <= largestBytes; }

llvm::Error checkSeconds(const std::string &where, double seconds) {
  if (acceptedSeconds(seconds))
    return llvm::Error::success();
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", seconds);
  return inputError("{0}: {1} seconds is outside [0, 2^100]; an impossible pair is null, not a large number", where,
                    text);
}

llvm::Error checkBytes(const std::string &where, const char *what, int64_t bytes) {
  if (acceptedBytes(bytes))
    return llvm::Error::success();
  return inputError("{0}: {1} {2} bytes is outside [0, 2^53]", where, bytes, what);
}

/// \p numAxes: the number of axes of the tables before; set by the first table that has axes.
llvm::Error checkAxes(const std::string &node, const NodeTable &table, std::optional<size_t> &numAxes) {
  if (table.axes.empty())
    return llvm::Error::success();
  if (table.axes.size() != table.costs.size())
    return inputError("node '{0}' has axes for {1} of its {2} strategies; give axes for all strategies, or for none",
                      node, table.axes.size(), table.costs.size());
  for (auto [name, axes] : llvm::zip(table.names, table.axes)) {
    if (!numAxes)
      numAxes = axes.size();
    if (axes.size() != *numAxes)
      return inputError("node '{0}', strategy '{1}': {2} axes, where other strategies have {3}", node, name,
                        axes.size(), *numAxes);
  }
  return llvm::Error::success();
}

/// One node's table; `node` names the first node that uses it.
llvm::Error checkNodeTable(const std::string &node, const NodeTable &table) {
  if (table.costs.empty())
    return inputError("node '{0}' has no strategy; at least one is needed", node);
  if (table.names.size() != table.costs.size())
    return inputError("node '{0}' has {1} strategy names and {2} costs; each strategy needs both", node,
                      table.names.size(), table.costs.size());
  for (auto [name, cost] : llvm::zip(table.names, table.costs)) {
    if (acceptedSeconds(cost.seconds) && acceptedBytes(cost.persistentBytes) && acceptedBytes(cost.transientBytes))
      continue;
    std::string where = "node '" + node + "', strategy '" + name + "'";
    if (llvm::Error error = checkSeconds(where, cost.seconds))
      return error;
    if (llvm::Error error = checkBytes(where, "persistent", cost.persistentBytes))
      return error;
    if (llvm::Error error = checkBytes(where, "transient", cost.transientBytes))
      return error;
  }
  return llvm::Error::success();
}

std::string edgeText(const Problem &problem, const Edge &edge) {
  return "edge '" + problem.nodes[edge.from.index()].name + "' -> '" + problem.nodes[edge.to.index()].name + "'";
}

llvm::Error checkEdge(const Problem &problem, const Edge &edge) {
  const PairTable &table = problem.tableOf(edge);
  size_t rows = problem.tableOf(edge.from).costs.size();
  size_t columns = problem.tableOf(edge.to).costs.size();
  if (table.rows() == rows && table.columns() == columns)
    return llvm::Error::success();
  return inputError("{0}: the table is {1} x {2}, but the nodes have {3} and {4} strategies", edgeText(problem, edge),
                    table.rows(), table.columns(), rows, columns);
}

llvm::Error checkPairSeconds(const Problem &problem, const Edge &edge) {
  const PairTable &table = problem.tableOf(edge);
  auto isRefused = [](double cell) { return cell < 0 || cell > largestSeconds; }; // false for a NaN, an impossible pair
  for (size_t row = 0; row < table.rows(); ++row)
    if (const double *found = llvm::find_if(table.row(row), isRefused); found != table.row(row).end())
      return checkSeconds(
          llvm::formatv("{0}, pair ({1}, {2})", edgeText(problem, edge), row, found - table.row(row).begin()).str(),
          *found);
  return llvm::Error::success();
}

/// Checks the most persistent bytes that the nodes could need together. Expects tables that pass `checkNodeTable`.
llvm::Error checkTotalBytes(const Problem &problem) {
  std::vector<int64_t> most;
  for (const NodeTable &table : problem.nodeTables) {
    most.push_back(0);
    for (const StrategyCost &cost : table.costs)
      most.back() = std::max(most.back(), cost.persistentBytes);
  }
  int64_t total = 0;
  for (const Node &node : problem.nodes) {
    total += most[node.table.index()];
    if (total > largestBytes)
      return inputError("the nodes up to '{0}' may need more than 2^53 persistent bytes together", node.name);
  }
  return llvm::Error::success();
}

llvm::Error checkNodes(const Problem &problem) {
  llvm::StringSet<> names;
  std::vector<bool> seen(problem.nodeTables.size(), false);
  std::optional<size_t> numAxes;
  for (const Node &node : problem.nodes) {
    if (!names.insert(node.name).second)
      return inputError("two nodes are named '{0}'; names must be unique", node.name);
    size_t table = node.table.index();
    if (table >= problem.nodeTables.size())
      return inputError("node '{0}' refers to node table {1}; there are {2}", node.name, table,
                        problem.nodeTables.size());
    if (seen[table])
      continue;
    seen[table] = true;
    if (llvm::Error error = checkNodeTable(node.name, problem.nodeTables[table]))
      return error;
    if (llvm::Error error = checkAxes(node.name, problem.nodeTables[table], numAxes))
      return error;
  }
  return checkTotalBytes(problem);
}

llvm::Error checkEdges(const Problem &problem) {
  std::vector<bool> seen(problem.pairTables.size(), false);
  for (auto [index, edge] : llvm::enumerate(problem.edges)) {
    if (std::max(edge.from.index(), edge.to.index()) >= problem.nodes.size())
      return inputError("edge {0} joins nodes {1} and {2}; there are {3} nodes", index, edge.from.index(),
                        edge.to.index(), problem.nodes.size());
    if (edge.from == edge.to)
      return inputError("{0}: an edge must join two different nodes", edgeText(problem, edge));
    size_t table = edge.table.index();
    if (table >= problem.pairTables.size())
      return inputError("{0} refers to pair table {1}; there are {2}", edgeText(problem, edge), table,
                        problem.pairTables.size());
    if (llvm::Error error = checkEdge(problem, edge))
      return error;
    if (seen[table])
      continue;
    seen[table] = true;
    if (llvm::Error error = checkPairSeconds(problem, edge))
      return error;
  }
  return llvm::Error::success();
}

} // namespace

bool operator==(const PairTable &a, const PairTable &b) {
  auto same = [](double x, double y) { return x == y || (x != x && y != y); };
  return a.numColumns == b.numColumns && a.cells->size() == b.cells->size() &&
         std::equal(a.cells->begin(), a.cells->end(), b.cells->begin(), same);
}

NodeTableId Problem::addNodeTable(NodeTable table) {
  nodeTables.push_back(std::move(table));
  return NodeTableId(nodeTables.size() - 1);
}

PairTableId Problem::addPairTable(PairTable table) {
  pairTables.push_back(std::move(table));
  return PairTableId(pairTables.size() - 1);
}

NodeId Problem::addNode(std::string name, NodeTableId table) {
  nodes.push_back({std::move(name), table});
  return NodeId(nodes.size() - 1);
}

void Problem::addEdge(NodeId from, NodeId to, PairTableId table) { edges.push_back({from, to, table}); }

llvm::Error Problem::check() const {
  if (memoryLimitBytes && *memoryLimitBytes < 0)
    return inputError("the memory limit is {0} bytes; it must be at least 0", *memoryLimitBytes);
  if (llvm::Error error = checkNodes(*this))
    return error;
  return checkEdges(*this);
}

llvm::Error verify(const Problem &problem, const Assignment &assignment) {
  if (assignment.strategies.size() != problem.nodes.size())
    return noPlanError("the assignment has {0} strategies for {1} nodes", assignment.strategies.size(),
                       problem.nodes.size());
  for (auto [index, node] : llvm::enumerate(problem.nodes)) {
    size_t numStrategies = problem.tableOf(NodeId(index)).costs.size();
    if (assignment.strategies[index] >= numStrategies)
      return noPlanError("node '{0}' takes strategy {1}; it has {2}", node.name, assignment.strategies[index],
                         numStrategies);
  }
  for (const Edge &edge : problem.edges)
    if (!problem.tableOf(edge).possible(assignment[edge.from], assignment[edge.to]))
      return noPlanError("{0}: strategies '{1}' and '{2}' are an impossible pair", edgeText(problem, edge),
                         problem.tableOf(edge.from).names[assignment[edge.from]],
                         problem.tableOf(edge.to).names[assignment[edge.to]]);
  Evaluation cost = evaluate(problem, assignment);
  if (problem.memoryLimitBytes && cost.bytes() > *problem.memoryLimitBytes)
    return noPlanError("the assignment needs {0} bytes ({1} persistent, {2} transient); the limit is {3}", cost.bytes(),
                       cost.persistentBytes, cost.transientBytes, *problem.memoryLimitBytes);
  return llvm::Error::success();
}

Evaluation evaluate(const Problem &problem, const Assignment &assignment) {
  Evaluation result;
  for (size_t index = 0; index < problem.nodes.size(); ++index) {
    const StrategyCost &cost = problem.tableOf(NodeId(index)).costs[assignment.strategies[index]];
    result.seconds += cost.seconds;
    result.persistentBytes += cost.persistentBytes;
    result.transientBytes = std::max(result.transientBytes, cost.transientBytes);
  }
  for (const Edge &edge : problem.edges)
    if (std::optional<double> seconds = problem.tableOf(edge).at(assignment[edge.from], assignment[edge.to]))
      result.seconds += *seconds;
  return result;
}

} // namespace apc
