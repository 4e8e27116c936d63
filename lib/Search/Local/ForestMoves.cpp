// Forests, least sums from their leaves to their roots, and choices on the way back.
#include "ForestMoves.h"

#include "../Reduce/MinPlus.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

namespace apc {

namespace {

/// Above every sum of prices that `check` accepts.
constexpr double ceiling = 0x1p300;
constexpr double leastGain = 1e-12; ///< relative: rounding is no gain

class Forests {
public:
  Forests(const Landscape &landscape, const Deadline &deadline, std::vector<uint32_t> &chosen)
      : landscape(landscape), deadline(deadline), chosen(chosen), isInside(landscape.numNodes(), false),
        parent(landscape.numNodes(), nullptr), sums(landscape.numNodes()) {}

  bool run() {
    constexpr unsigned maxForests = 24;
    bool changed = false;
    for (unsigned forest = 0, idle = 0; forest < maxForests && idle < 2 && !deadline.expired(); ++forest) {
      plant();
      idle = decideTogether() ? 0 : idle + 1;
      changed |= idle == 0;
    }
    return changed;
  }

private:
  /// The trees' nodes in the order in which they are reached from their roots, those that were left out before first.
  void plant() {
    std::vector<uint32_t> order(landscape.numNodes());
    std::iota(order.begin(), order.end(), 0);
    llvm::stable_sort(order, [&](uint32_t a, uint32_t b) { return isInside[a] < isInside[b]; });
    std::vector<uint32_t> tree(landscape.numNodes());
    std::iota(tree.begin(), tree.end(), 0);
    isInside.assign(landscape.numNodes(), false);
    for (uint32_t node : order)
      isInside[node] = join(node, tree);
    reached.clear();
    parent.assign(landscape.numNodes(), nullptr);
    std::vector<bool> seen(landscape.numNodes(), false);
    for (uint32_t root = 0; root < landscape.numNodes(); ++root)
      if (isInside[root] && !seen[root])
        grow(root, seen);
  }

  static uint32_t find(std::vector<uint32_t> &tree, uint32_t node) {
    while (tree[node] != node)
      node = tree[node] = tree[tree[node]];
    return node;
  }

  /// Makes one tree of a node and the trees that it touches, unless it touches one of them twice.
  bool join(uint32_t node, std::vector<uint32_t> &tree) const {
    llvm::SmallVector<uint32_t, 8> touched;
    for (const Incidence &incidence : landscape.incidences(node)) {
      if (!isInside[incidence.other])
        continue;
      uint32_t root = find(tree, incidence.other);
      if (llvm::is_contained(touched, root))
        return false;
      touched.push_back(root);
    }
    for (uint32_t root : touched)
      tree[root] = node;
    return true;
  }

  void grow(uint32_t root, std::vector<bool> &seen) {
    size_t next = reached.size();
    reached.push_back(root);
    seen[root] = true;
    for (; next < reached.size(); ++next) {
      uint32_t node = reached[next];
      for (const Incidence &incidence : landscape.incidences(node)) {
        uint32_t child = incidence.other;
        if (!isInside[child] || seen[child])
          continue;
        seen[child] = true;
        parent[child] = edgeFrom(child, incidence.edge);
        reached.push_back(child);
      }
    }
  }

  const Incidence *edgeFrom(uint32_t node, uint32_t edge) const {
    return llvm::find_if(landscape.incidences(node), [&](const Incidence &end) { return end.edge == edge; });
  }

  /// Did the forest's nodes find something better?
  bool decideTogether() {
    double before = 0, after = 0;
    for (uint32_t node : reached)
      sums[node] = settled(node);
    for (uint32_t node : reached)
      before += sums[node][chosen[node]] + (parent[node] ? pair(node, chosen) : 0);
    for (uint32_t node : llvm::reverse(reached))
      if (parent[node])
        giveToParent(node);
    std::vector<uint32_t> next = chosen;
    for (uint32_t node : reached) {
      if (!choose(node, next))
        return false;
      if (!parent[node])
        after += sums[node][next[node]];
    }
    // An impossible choice or pair among those of before is a NaN, and whatever is possible is better.
    if (before == before && !(after < before - leastGain * std::abs(before)))
      return false;
    chosen = std::move(next);
    return true;
  }

  /// A node's own price and that of its pairs with nodes outside the forest.
  std::vector<double> settled(uint32_t node) const {
    std::vector<double> sum(landscape.own(node).begin(), landscape.own(node).end());
    for (const Incidence &incidence : landscape.incidences(node))
      if (!isInside[incidence.other])
        for (auto [value, cell] : llvm::zip_equal(sum, landscape.pairs(incidence, chosen[incidence.other])))
          value += cell;
    return sum;
  }

  double pair(uint32_t node, llvm::ArrayRef<uint32_t> choices) const {
    return landscape.pairs(*parent[node], choices[parent[node]->other])[choices[node]];
  }

  /// Adds to the parent's sums, for each of its strategies, the least of the node's with the pair.
  void giveToParent(uint32_t node) {
    uint32_t above = parent[node]->other;
    const Incidence &incidence = *edgeFrom(above, parent[node]->edge);
    const PairsByKind &kinds = landscape.kinds(incidence);
    bases.assign(kinds.numRows, std::nan(""));
    least.resize(kinds.numColumns);
    for (auto [price, kind] : llvm::zip_equal(sums[node], kinds.rowKindOf))
      if (price == price && !(bases[kind] <= price))
        bases[kind] = price;
    dp::leastOverStates(least, bases, {kinds.cells.data(), kinds.numColumns}, ceiling);
    for (auto [value, kind] : llvm::zip_equal(sums[above], kinds.columnKindOf))
      value += least[kind] == ceiling ? std::nan("") : least[kind];
  }

  /// The least of a node's sums with its parent's choice; false when nothing is possible.
  bool choose(uint32_t node, std::vector<uint32_t> &choices) const {
    std::optional<double> best;
    for (uint32_t strategy = 0; strategy < sums[node].size(); ++strategy) {
      double price = sums[node][strategy];
      if (parent[node])
        price += landscape.pairs(*parent[node], choices[parent[node]->other])[strategy];
      if (price != price || (best && !(price < *best)))
        continue;
      best = price;
      choices[node] = strategy;
    }
    return best.has_value();
  }

  const Landscape &landscape;
  const Deadline &deadline;
  std::vector<uint32_t> &chosen;
  std::vector<bool> isInside;            ///< by node: is it in the forest?
  std::vector<uint32_t> reached;         ///< the forest's nodes, parents before children
  std::vector<const Incidence *> parent; ///< by node: its end of the edge to its parent; null for roots
  std::vector<std::vector<double>> sums; ///< by node: for each strategy, its subtree's least
  std::vector<double> bases, least;      ///< room for one edge's numbers
};

} // namespace

bool moveForests(const Landscape &landscape, const Deadline &deadline, std::vector<uint32_t> &chosen) {
  return Forests(landscape, deadline, chosen).run();
}

} // namespace apc
