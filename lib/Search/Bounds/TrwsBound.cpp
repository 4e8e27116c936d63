// Moving costs between nodes and edges.
#include "TrwsBound.h"

#include "../Reduce/MinPlus.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

/// The minimum of the possible values; empty when none is possible.
std::optional<double> least(llvm::ArrayRef<double> values) {
  std::optional<double> result;
  for (double value : values)
    if (value == value && (!result || value < *result))
      result = value;
  return result;
}

} // namespace

TrwsBound::TrwsBound(const WeightedProblem &weighted, std::vector<double> copies)
    : weighted(weighted), copies(std::move(copies)), leastOfEdge(weighted.numEdges(), 0),
      leastByNode(weighted.numNodes()) {
  this->copies.resize(weighted.numEdges(), 1);
  std::vector<uint32_t> firstOfEdge(weighted.numEdges());
  size_t numCells = 0;
  std::vector<bool> seen(weighted.numEdges(), false);
  for (size_t node = 0; node < weighted.numNodes(); ++node) {
    firstEnd.push_back(firstCell.size());
    for (const WeightedEnd &end : weighted.ends(node)) {
      uint32_t id = firstCell.size();
      firstCell.push_back(numCells);
      numCells += weighted.numStrategies(node);
      reverse.push_back(0);
      if (seen[end.edge]) {
        reverse[id] = firstOfEdge[end.edge];
        reverse[reverse[id]] = id;
        const PairsByKind &kinds = weighted.kinds(end);
        additions += 2 * static_cast<double>(kinds.numRows * kinds.numColumns + weighted.numStrategies(node) +
                                             weighted.numStrategies(end.other));
      }
      firstOfEdge[end.edge] = id;
      seen[end.edge] = true;
    }
  }
  firstCell.push_back(numCells);
  cells.resize(numCells, 0);
}

llvm::MutableArrayRef<double> TrwsBound::message(size_t node, size_t end) {
  return llvm::MutableArrayRef(cells).slice(firstCell[firstEnd[node] + end], weighted.numStrategies(node));
}

llvm::ArrayRef<double> TrwsBound::message(size_t node, size_t end) const {
  return llvm::ArrayRef(cells).slice(firstCell[firstEnd[node] + end], weighted.numStrategies(node));
}

/// The own costs of a node plus the costs that its edges have given; valid until the next call.
llvm::ArrayRef<double> TrwsBound::cost(size_t node) {
  sum.assign(weighted.own(node).begin(), weighted.own(node).end());
  for (size_t end = 0; end < weighted.ends(node).size(); ++end)
    for (auto [value, given] : llvm::zip_equal(sum, message(node, end)))
      value += given;
  return sum;
}

void TrwsBound::give(size_t node, size_t end, llvm::ArrayRef<double> seconds) {
  llvm::copy(seconds, message(node, end).begin());
}

std::optional<double> TrwsBound::boundNow(llvm::ArrayRef<uint32_t> kindOf) {
  std::vector<std::optional<double>> known(kindOf.empty() ? 0 : *llvm::max_element(kindOf) + 1);
  double bound = 0;
  for (size_t node = 0; node < weighted.numNodes() && !isImpossible; ++node) {
    llvm::ArrayRef<WeightedEnd> ends = weighted.ends(node);
    for (size_t end = 0; end < ends.size(); ++end) {
      if (ends[end].other > node)
        continue;
      std::optional<double> &left = known[kindOf[ends[end].edge]];
      if (!left)
        left = findLeft(node, end);
      isImpossible |= !left;
      bound += left.value_or(0);
    }
    std::optional<double> leastOfNode = least(cost(node));
    isImpossible |= !leastOfNode;
    bound += leastOfNode.value_or(0);
  }
  return isImpossible ? std::nullopt : std::optional(bound);
}

std::optional<double> TrwsBound::pass() {
  boundBefore = sweep(/*forwards=*/true);
  double bound = sweep(/*forwards=*/false);
  return isImpossible ? std::nullopt : std::optional(bound);
}

double TrwsBound::sweep(bool forwards) {
  double bound = 0;
  for (size_t index = 0; index < weighted.numNodes() && !isImpossible; ++index) {
    size_t node = forwards ? index : weighted.numNodes() - 1 - index;
    llvm::ArrayRef<WeightedEnd> ends = weighted.ends(node);
    for (size_t end = 0; end < ends.size(); ++end)
      if ((ends[end].other < node) == forwards)
        collect(node, end);
    llvm::ArrayRef<double> costs = cost(node);
    double lowest = least(costs).value_or(0);
    if (!forwards)
      note(node, costs, lowest);
    distribute(node, forwards, costs, lowest);
    std::optional<double> leastOfNode = least(cost(node));
    isImpossible |= !leastOfNode;
    bound += leastOfNode.value_or(0);
  }
  for (double value : leastOfEdge)
    bound += value;
  return bound;
}

/// A strategy raises the bound by as much as its cost is above the minimum of its node. The bound is at least that of
/// the sweep before: moving costs only raises it.
void TrwsBound::note(size_t node, llvm::ArrayRef<double> costs, double lowest) {
  std::vector<double> &own = leastByNode[node];
  own.assign(costs.begin(), costs.end());
  for (double &value : own)
    value = boundBefore + (value - lowest);
}

/// In `left`, for each strategy of the node, the least that the edge has left over the other node. Returns the minimum
/// of all; none where every pair is impossible.
std::optional<double> TrwsBound::findLeft(size_t node, size_t index) {
  const WeightedEnd &end = weighted.ends(node)[index];
  llvm::ArrayRef<double> own = message(node, index);
  size_t otherIndex = reverse[firstEnd[node] + index] - firstEnd[end.other];
  const PairsByKind &kinds = weighted.kinds(end);
  bases.assign(kinds.numRows, std::nan(""));
  leastOfKind.resize(kinds.numColumns);
  left.resize(own.size());
  llvm::ArrayRef<double> ownOfOther = weighted.own(end.other);
  for (auto [given, cost, kind] : llvm::zip_equal(message(end.other, otherIndex), ownOfOther, kinds.rowKindOf))
    if (cost == cost && !(bases[kind] <= -given))
      bases[kind] = -given;
  minOverStates(leastOfKind, bases, {kinds.cells.data(), kinds.numColumns}, ceiling);
  for (auto [value, kind] : llvm::zip_equal(left, kinds.columnKindOf))
    value = leastOfKind[kind];
  for (auto [value, given] : llvm::zip_equal(left, own))
    value = value == ceiling ? std::nan("") : value - given;
  return least(left);
}

/// The edge gives the node, for each strategy, its minimum over the other node; it keeps the minimum of all.
void TrwsBound::collect(size_t node, size_t index) {
  const WeightedEnd &end = weighted.ends(node)[index];
  llvm::MutableArrayRef<double> own = message(node, index);
  std::optional<double> kept = findLeft(node, index);
  isImpossible |= !kept;
  leastOfEdge[end.edge] = kept.value_or(0);
  for (auto [value, given] : llvm::zip_equal(left, own))
    given += value - kept.value_or(0);
}

/// The node gives each edge ahead a share of its costs above its minimum, for each copy of the edge.
void TrwsBound::distribute(size_t node, bool forwards, llvm::ArrayRef<double> costs, double lowest) {
  llvm::ArrayRef<WeightedEnd> ends = weighted.ends(node);
  double numBefore = 0, numAfter = 0;
  for (const WeightedEnd &end : ends)
    (end.other < node ? numBefore : numAfter) += copies[end.edge];
  for (size_t end = 0; end < ends.size(); ++end) {
    if ((ends[end].other < node) == forwards)
      continue;
    double share = copies[ends[end].edge] / std::max(numBefore, numAfter);
    for (auto [given, value] : llvm::zip_equal(message(node, end), costs))
      given -= share * (value - lowest);
  }
}

llvm::ArrayRef<double> TrwsBound::leastWith(size_t node) const { return leastByNode[node]; }

std::vector<uint32_t> TrwsBound::decode() const {
  std::vector<uint32_t> chosen(weighted.numNodes(), 0);
  for (size_t node = 0; node < weighted.numNodes(); ++node) {
    std::vector<double> sum(weighted.own(node).begin(), weighted.own(node).end());
    for (auto [index, end] : llvm::enumerate(weighted.ends(node))) {
      llvm::ArrayRef<double> row = end.other < node ? weighted.pairs(end, chosen[end.other]) : message(node, index);
      for (auto [value, cell] : llvm::zip_equal(sum, row))
        value += cell;
    }
    std::optional<double> best;
    for (auto [strategy, value] : llvm::enumerate(sum))
      if (value == value && (!best || value < *best)) {
        best = value;
        chosen[node] = strategy;
      }
  }
  return chosen;
}

} // namespace apc
