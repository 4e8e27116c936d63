// Symbolic elimination: scopes, fill, and interned products.
#include "EliminationGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace apc::dp {

uint64_t Product::cells() const {
  uint64_t result = 1;
  for (uint32_t size : llvm::drop_begin(sizes))
    result = llvm::SaturatingMultiply<uint64_t>(result, size);
  return result;
}

double Product::work() const {
  constexpr double fixedCost = 500;
  return fixedCost + static_cast<double>(cells()) * sizes.front();
}

size_t ProductHash::operator()(const Product &product) const {
  uint64_t hash = product.unary.value_or(~0u);
  auto add = [&](uint64_t word) { hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL + (hash >> 29); };
  add(product.sizes.front());
  for (const TableOperand &operand : product.operands) {
    add(operand.table);
    for (uint8_t dim : operand.dims)
      add(dim);
  }
  return hash;
}

EliminationGraph::EliminationGraph(const ReducedProblem &reduced, ProductStore &store, uint64_t largestTable)
    : reduced(&reduced), store(&store), largestTable(largestTable), potentialsOf(reduced.numNodes()),
      adjacent(reduced.numNodes()), alive(reduced.numNodes(), true), aliveCount(reduced.numNodes()) {
  for (const Potential &leaf : reduced.potentials) {
    for (uint32_t node : leaf.scope)
      potentialsOf[node].push_back(potentials.size());
    if (leaf.scope.size() == 2) {
      adjacent[leaf.scope[0]].push_back(leaf.scope[1]);
      adjacent[leaf.scope[1]].push_back(leaf.scope[0]);
    }
    potentials.push_back({leaf.table, {leaf.scope.begin(), leaf.scope.end()}, std::nullopt});
  }
  for (llvm::SmallVector<uint32_t, 6> &list : adjacent) {
    llvm::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

bool EliminationGraph::areAdjacent(uint32_t a, uint32_t b) const {
  if (adjacent[a].size() > adjacent[b].size())
    std::swap(a, b);
  return std::binary_search(adjacent[a].begin(), adjacent[a].end(), b);
}

uint64_t EliminationGraph::cellsOf(uint32_t node) const {
  uint64_t result = 1;
  for (uint32_t neighbour : adjacent[node])
    result = llvm::SaturatingMultiply<uint64_t>(result, reduced->unary(neighbour).size());
  return result;
}

double EliminationGraph::workOf(uint32_t node) const {
  return static_cast<double>(cellsOf(node)) * static_cast<double>(reduced->unary(node).size());
}

uint64_t EliminationGraph::fillOf(uint32_t node) const {
  constexpr size_t countedDegree = 48;
  llvm::ArrayRef<uint32_t> list = adjacent[node];
  if (list.size() > countedDegree)
    return uint64_t(list.size()) * (list.size() - 1) / 2;
  uint64_t missing = 0;
  for (size_t i = 0; i < list.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      missing += !areAdjacent(list[i], list[j]);
  return missing;
}

Bucket EliminationGraph::bucketOver(uint32_t node, llvm::ArrayRef<uint32_t> members, bool withUnary) const {
  Bucket bucket;
  for (uint32_t potential : members)
    for (uint32_t other : potentials[potential].scope)
      if (other != node)
        bucket.neighbours.push_back(other);
  llvm::sort(bucket.neighbours);
  bucket.neighbours.erase(std::unique(bucket.neighbours.begin(), bucket.neighbours.end()), bucket.neighbours.end());

  bucket.product.sizes.push_back(reduced->unary(node).size());
  for (uint32_t other : bucket.neighbours)
    bucket.product.sizes.push_back(reduced->unary(other).size());
  if (withUnary)
    bucket.product.unary = reduced->unaryOf[node];

  llvm::SmallVector<std::pair<TableOperand, uint32_t>, 4> operands;
  for (uint32_t potential : members) {
    TableOperand operand{potentials[potential].table, {}};
    for (uint32_t other : potentials[potential].scope)
      operand.dims.push_back(
          other == node ? 0 : 1 + (llvm::lower_bound(bucket.neighbours, other) - bucket.neighbours.begin()));
    operands.push_back({std::move(operand), potential});
  }
  llvm::sort(operands);
  for (auto &[operand, potential] : operands) {
    bucket.product.operands.push_back(std::move(operand));
    bucket.potentials.push_back(potential);
  }
  return bucket;
}

Bucket EliminationGraph::bucketOf(uint32_t node) const { return bucketOver(node, potentialsOf[node], true); }

/// All potentials of the node in one part if the table stays within bounds; otherwise each potential, widest first,
/// joins the first part that stays small with it.
llvm::SmallVector<llvm::SmallVector<uint32_t, 6>, 1> EliminationGraph::parts(uint32_t node) const {
  llvm::SmallVector<llvm::SmallVector<uint32_t, 6>, 1> result;
  if (cellsOf(node) <= largestTable) {
    result.push_back(potentialsOf[node]);
    return result;
  }
  llvm::SmallVector<uint32_t, 6> widestFirst = potentialsOf[node];
  llvm::stable_sort(widestFirst,
                    [&](uint32_t a, uint32_t b) { return potentials[a].scope.size() > potentials[b].scope.size(); });
  for (uint32_t potential : widestFirst) {
    bool placed = false;
    for (llvm::SmallVector<uint32_t, 6> &part : result) {
      part.push_back(potential);
      placed = bucketOver(node, part, false).product.cells() <= largestTable;
      if (placed)
        break;
      part.pop_back();
    }
    if (!placed)
      result.push_back({potential});
  }
  return result;
}

void EliminationGraph::makeStep(uint32_t node, Bucket bucket) {
  EliminationStep step{node, 0, bucket.neighbours, {}};
  for (uint32_t potential : bucket.potentials) {
    step.producers.push_back(potentials[potential].producer);
    for (uint32_t other : potentials[potential].scope)
      if (other != node)
        potentialsOf[other].erase(llvm::find(potentialsOf[other], potential));
  }
  step.product = store->idOf(std::move(bucket.product));
  if (!step.neighbours.empty()) {
    for (uint32_t other : step.neighbours)
      potentialsOf[other].push_back(potentials.size());
    potentials.push_back({static_cast<uint32_t>(reduced->leaves.size() + step.product), step.neighbours,
                          static_cast<uint32_t>(madeSteps.size())});
  }
  madeSteps.push_back(std::move(step));
}

/// Joins all nodes of `clique` with each other. Returns the nodes whose fill may have changed: the clique, and the
/// common neighbours of each pair that was joined.
std::vector<uint32_t> EliminationGraph::connect(uint32_t node, llvm::ArrayRef<uint32_t> clique) {
  std::vector<uint32_t> touched(clique.begin(), clique.end());
  for (size_t i = 0; i < clique.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      uint32_t a = clique[i], b = clique[j];
      if (areAdjacent(a, b))
        continue;
      std::set_intersection(adjacent[a].begin(), adjacent[a].end(), adjacent[b].begin(), adjacent[b].end(),
                            std::back_inserter(touched));
      adjacent[a].insert(llvm::lower_bound(adjacent[a], b), b);
      adjacent[b].insert(llvm::lower_bound(adjacent[b], a), a);
    }
  llvm::sort(touched);
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  llvm::erase(touched, node);
  return touched;
}

std::vector<uint32_t> EliminationGraph::eliminate(uint32_t node) {
  llvm::SmallVector<llvm::SmallVector<uint32_t, 6>, 1> bucketParts = parts(node);
  relaxed |= bucketParts.size() > 1;
  std::vector<uint32_t> touched(adjacent[node].begin(), adjacent[node].end());
  for (uint32_t neighbour : adjacent[node])
    adjacent[neighbour].erase(llvm::lower_bound(adjacent[neighbour], node));
  alive[node] = false;
  --aliveCount;
  for (auto [index, part] : llvm::enumerate(bucketParts)) {
    Bucket bucket = bucketOver(node, part, index == 0);
    llvm::SmallVector<uint32_t, 4> clique = bucket.neighbours;
    makeStep(node, std::move(bucket));
    if (clique.size() > 1)
      llvm::append_range(touched, connect(node, clique));
  }
  potentialsOf[node].clear();
  adjacent[node].clear();
  llvm::sort(touched);
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  return touched;
}

} // namespace apc::dp
