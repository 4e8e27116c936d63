// Moving costs between nodes and edges.
#include "TrwsBound.h"

#include "../Reduce/MinPlus.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

/// The least that is possible; empty when nothing is.
std::optional<double> least(llvm::ArrayRef<double> values) {
  std::optional<double> result;
  for (double value : values)
    if (value == value && (!result || value < *result))
      result = value;
  return result;
}

/// Above every sum of three prices that `check` accepts and their messages.
constexpr double ceiling = 0x1p300;

} // namespace

MessagePassing::MessagePassing(const Landscape &landscape)
    : landscape(landscape), leastOfEdge(landscape.numEdges(), 0) {
  std::vector<uint32_t> firstOfEdge(landscape.numEdges());
  size_t numCells = 0;
  std::vector<bool> seen(landscape.numEdges(), false);
  for (size_t node = 0; node < landscape.numNodes(); ++node) {
    firstIncidence.push_back(firstCell.size());
    for (const Incidence &incidence : landscape.incidences(node)) {
      uint32_t id = firstCell.size();
      firstCell.push_back(numCells);
      numCells += landscape.numStrategies(node);
      reverse.push_back(0);
      if (seen[incidence.edge]) {
        reverse[id] = firstOfEdge[incidence.edge];
        reverse[reverse[id]] = id;
        const PairsByKind &kinds = landscape.kinds(incidence);
        additions += 2 * static_cast<double>(kinds.numRows * kinds.numColumns + landscape.numStrategies(node) +
                                             landscape.numStrategies(incidence.other));
      }
      firstOfEdge[incidence.edge] = id;
      seen[incidence.edge] = true;
    }
  }
  firstCell.push_back(numCells);
  cells.resize(numCells, 0);
}

llvm::MutableArrayRef<double> MessagePassing::message(size_t node, size_t incidence) {
  return llvm::MutableArrayRef(cells).slice(firstCell[firstIncidence[node] + incidence], landscape.numStrategies(node));
}

llvm::ArrayRef<double> MessagePassing::message(size_t node, size_t incidence) const {
  return llvm::ArrayRef(cells).slice(firstCell[firstIncidence[node] + incidence], landscape.numStrategies(node));
}

/// Own price plus what the edges have given; valid until the next call.
llvm::ArrayRef<double> MessagePassing::price(size_t node) {
  sum.assign(landscape.own(node).begin(), landscape.own(node).end());
  for (size_t incidence = 0; incidence < landscape.incidences(node).size(); ++incidence)
    for (auto [value, given] : llvm::zip_equal(sum, message(node, incidence)))
      value += given;
  return sum;
}

std::optional<double> MessagePassing::pass() {
  sweep(/*forwards=*/true);
  double bound = sweep(/*forwards=*/false);
  return isImpossible ? std::nullopt : std::optional(bound);
}

double MessagePassing::sweep(bool forwards) {
  double bound = 0;
  for (size_t index = 0; index < landscape.numNodes() && !isImpossible; ++index) {
    size_t node = forwards ? index : landscape.numNodes() - 1 - index;
    llvm::ArrayRef<Incidence> incidences = landscape.incidences(node);
    for (size_t incidence = 0; incidence < incidences.size(); ++incidence)
      if ((incidences[incidence].other < node) == forwards)
        collect(node, incidence);
    distribute(node, forwards);
    std::optional<double> leastOfNode = least(price(node));
    isImpossible |= !leastOfNode;
    bound += leastOfNode.value_or(0);
  }
  for (double value : leastOfEdge)
    bound += value;
  return bound;
}

/// The edge gives the node, for each strategy, the least that it still has, above the least of all, which it keeps.
void MessagePassing::collect(size_t node, size_t index) {
  const Incidence &incidence = landscape.incidences(node)[index];
  llvm::MutableArrayRef<double> own = message(node, index);
  size_t otherIndex = reverse[firstIncidence[node] + index] - firstIncidence[incidence.other];
  const PairsByKind &kinds = landscape.kinds(incidence);
  bases.assign(kinds.numRows, std::nan(""));
  leastOfKind.resize(kinds.numColumns);
  left.resize(own.size());
  llvm::ArrayRef<double> ownOfOther = landscape.own(incidence.other);
  for (auto [given, price, kind] : llvm::zip_equal(message(incidence.other, otherIndex), ownOfOther, kinds.rowKindOf))
    if (price == price && !(bases[kind] <= -given))
      bases[kind] = -given;
  dp::leastOverStates(leastOfKind, bases, {kinds.cells.data(), kinds.numColumns}, ceiling);
  for (auto [value, kind] : llvm::zip_equal(left, kinds.columnKindOf))
    value = leastOfKind[kind];
  for (auto [value, given] : llvm::zip_equal(left, own))
    value = value == ceiling ? std::nan("") : value - given;
  std::optional<double> kept = least(left);
  isImpossible |= !kept;
  leastOfEdge[incidence.edge] = kept.value_or(0);
  for (auto [value, given] : llvm::zip_equal(left, own))
    given += value - kept.value_or(0);
}

/// The node gives the edges ahead their shares of what it has above its least.
void MessagePassing::distribute(size_t node, bool forwards) {
  llvm::ArrayRef<Incidence> incidences = landscape.incidences(node);
  size_t numBefore = llvm::count_if(incidences, [&](const Incidence &incidence) { return incidence.other < node; });
  size_t numAfter = incidences.size() - numBefore, numAhead = forwards ? numAfter : numBefore;
  if (numAhead == 0)
    return;
  llvm::ArrayRef<double> prices = price(node);
  std::optional<double> lowest = least(prices);
  double share = 1.0 / static_cast<double>(std::max(numBefore, numAfter));
  for (size_t incidence = 0; incidence < incidences.size(); ++incidence)
    if ((incidences[incidence].other < node) != forwards)
      for (auto [given, value] : llvm::zip_equal(message(node, incidence), prices))
        given -= share * (value - lowest.value_or(0));
}

std::vector<uint32_t> MessagePassing::decode() const {
  std::vector<uint32_t> chosen(landscape.numNodes(), 0);
  for (size_t node = 0; node < landscape.numNodes(); ++node) {
    std::vector<double> sum(landscape.own(node).begin(), landscape.own(node).end());
    for (auto [index, incidence] : llvm::enumerate(landscape.incidences(node))) {
      llvm::ArrayRef<double> row =
          incidence.other < node ? landscape.pairs(incidence, chosen[incidence.other]) : message(node, index);
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
