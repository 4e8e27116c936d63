// Forests: minimal sums from the leaves to the roots, and choices on the way back.
#include "ForestMoves.h"

#include "../Reduce/MinPlus.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

namespace apc {

namespace {

constexpr double leastGain = 1e-12; ///< relative; a smaller gain may be rounding

class Forests {
public:
  Forests(const WeightedProblem &weighted, const Deadline &deadline, std::vector<uint32_t> &chosen)
      : weighted(weighted), deadline(deadline), chosen(chosen), isInside(weighted.numNodes(), false),
        parent(weighted.numNodes(), nullptr), sums(weighted.numNodes()) {}

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
  /// Chooses a forest, preferring nodes that the last one left out, and lists its nodes with parents before children.
  void plant() {
    std::vector<uint32_t> order(weighted.numNodes());
    std::iota(order.begin(), order.end(), 0);
    llvm::stable_sort(order, [&](uint32_t a, uint32_t b) { return isInside[a] < isInside[b]; });
    std::vector<uint32_t> tree(weighted.numNodes());
    std::iota(tree.begin(), tree.end(), 0);
    isInside.assign(weighted.numNodes(), false);
    for (uint32_t node : order)
      isInside[node] = join(node, tree);
    reached.clear();
    parent.assign(weighted.numNodes(), nullptr);
    std::vector<bool> seen(weighted.numNodes(), false);
    for (uint32_t root = 0; root < weighted.numNodes(); ++root)
      if (isInside[root] && !seen[root])
        grow(root, seen);
  }

  static uint32_t find(std::vector<uint32_t> &tree, uint32_t node) {
    while (tree[node] != node)
      node = tree[node] = tree[tree[node]];
    return node;
  }

  /// Joins a node with the trees that it touches, unless it touches one of them twice.
  bool join(uint32_t node, std::vector<uint32_t> &tree) const {
    llvm::SmallVector<uint32_t, 8> touched;
    for (const WeightedEnd &end : weighted.ends(node)) {
      if (!isInside[end.other])
        continue;
      uint32_t root = find(tree, end.other);
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
      for (const WeightedEnd &end : weighted.ends(node)) {
        uint32_t child = end.other;
        if (!isInside[child] || seen[child])
          continue;
        seen[child] = true;
        parent[child] = edgeFrom(child, end.edge);
        reached.push_back(child);
      }
    }
  }

  const WeightedEnd *edgeFrom(uint32_t node, uint32_t edge) const {
    return llvm::find_if(weighted.ends(node), [&](const WeightedEnd &end) { return end.edge == edge; });
  }

  /// Decides all nodes of the forest. Returns whether that is better than before.
  bool decideTogether() {
    double before = 0, after = 0;
    for (uint32_t node : reached)
      sums[node] = costsAlone(node);
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
    // `before` is a NaN when it takes an impossible choice or pair; then any possible assignment is better.
    if (before == before && !(after < before - leastGain * std::abs(before)))
      return false;
    chosen = std::move(next);
    return true;
  }

  /// The costs of a node with its pairs with nodes outside the forest.
  std::vector<double> costsAlone(uint32_t node) const {
    std::vector<double> sum(weighted.own(node).begin(), weighted.own(node).end());
    for (const WeightedEnd &end : weighted.ends(node))
      if (!isInside[end.other])
        for (auto [value, cell] : llvm::zip_equal(sum, weighted.pairs(end, chosen[end.other])))
          value += cell;
    return sum;
  }

  double pair(uint32_t node, llvm::ArrayRef<uint32_t> choices) const {
    return weighted.pairs(*parent[node], choices[parent[node]->other])[choices[node]];
  }

  /// Adds, for each strategy of the parent, the minimum over the node's strategies of the sum and the pair.
  void giveToParent(uint32_t node) {
    uint32_t above = parent[node]->other;
    const WeightedEnd &end = *edgeFrom(above, parent[node]->edge);
    const PairsByKind &kinds = weighted.kinds(end);
    constexpr double perPair = 0.5; // nanoseconds
    deadline.spend(perPair * static_cast<double>(kinds.numRows * kinds.numColumns));
    bases.assign(kinds.numRows, std::nan(""));
    least.resize(kinds.numColumns);
    for (auto [cost, kind] : llvm::zip_equal(sums[node], kinds.rowKindOf))
      if (cost == cost && !(bases[kind] <= cost))
        bases[kind] = cost;
    minOverStates(least, bases, {kinds.cells.data(), kinds.numColumns}, ceiling);
    for (auto [value, kind] : llvm::zip_equal(sums[above], kinds.columnKindOf))
      value += least[kind] == ceiling ? std::nan("") : least[kind];
  }

  /// Takes the minimum of a node's sums with its parent's choice; false when nothing is possible.
  bool choose(uint32_t node, std::vector<uint32_t> &choices) const {
    std::optional<double> best;
    for (uint32_t strategy = 0; strategy < sums[node].size(); ++strategy) {
      double cost = sums[node][strategy];
      if (parent[node])
        cost += weighted.pairs(*parent[node], choices[parent[node]->other])[strategy];
      if (cost != cost || (best && !(cost < *best)))
        continue;
      best = cost;
      choices[node] = strategy;
    }
    return best.has_value();
  }

  const WeightedProblem &weighted;
  const Deadline &deadline;
  std::vector<uint32_t> &chosen;
  std::vector<bool> isInside;              ///< by node: is it in the forest?
  std::vector<uint32_t> reached;           ///< the forest's nodes, parents before children
  std::vector<const WeightedEnd *> parent; ///< by node: its end of the edge to its parent; null for roots
  std::vector<std::vector<double>> sums;   ///< by node, for each strategy: the minimum over its subtree
  std::vector<double> bases, least;        ///< scratch for one edge
};

} // namespace

bool moveForests(const WeightedProblem &weighted, const Deadline &deadline, std::vector<uint32_t> &chosen) {
  return Forests(weighted, deadline, chosen).run();
}

} // namespace apc
