// The graph of a reduction while nodes are being eliminated from it, symbolically.
#pragma once

#include "EliminationOrder.h"

#include "llvm/ADT/Hashing.h"

#include <unordered_map>

namespace apc::dp {

/// All products met so far, each once.
class ProductStore {
public:
  uint32_t intern(Product product);
  const Product &operator[](uint32_t id) const { return products[id]; }
  size_t size() const { return products.size(); }

private:
  struct KeyHash {
    size_t operator()(const std::vector<uint32_t> &key) const;
  };
  std::vector<Product> products;
  std::unordered_map<std::vector<uint32_t>, uint32_t, KeyHash> ids;
};

/// What eliminating a node would be.
struct Bucket {
  Product product;
  llvm::SmallVector<uint32_t, 4> neighbours;
  llvm::SmallVector<uint32_t, 4> factors; ///< for each operand, the factor it is
};

/// Nodes not yet eliminated and the tables over them. Copied to try an order out.
class EliminationGraph {
public:
  EliminationGraph(const Reduction &reduction, ProductStore &store, uint64_t largestTable);

  llvm::ArrayRef<uint32_t> neighbours(uint32_t node) const { return adjacent[node]; }
  bool isAlive(uint32_t node) const { return alive[node]; }
  size_t numAlive() const { return aliveCount; }
  llvm::ArrayRef<Step> steps() const { return madeSteps; }
  bool isRelaxed() const { return relaxed; }

  Bucket bucketOf(uint32_t node) const;
  /// Cells of the table that eliminating `node` makes, and the size of its neighbourhood's product; saturates.
  uint64_t cellsOf(uint32_t node) const;
  double workOf(uint32_t node) const;
  /// Pairs of neighbours that are not neighbours yet; for nodes of high degree, all pairs.
  uint64_t fillOf(uint32_t node) const;

  /// Eliminates `node`, in parts when its table would be larger than `largestTable`. Returns the nodes whose fill may
  /// have changed.
  std::vector<uint32_t> eliminate(uint32_t node);

private:
  struct Factor {
    uint32_t table;
    llvm::SmallVector<uint32_t, 4> scope;
    std::optional<uint32_t> producer;
  };

  Bucket bucketOver(uint32_t node, llvm::ArrayRef<uint32_t> members, bool withUnary) const;
  std::vector<llvm::SmallVector<uint32_t, 4>> parts(uint32_t node) const;
  void makeStep(uint32_t node, Bucket bucket);
  std::vector<uint32_t> connect(uint32_t node, llvm::ArrayRef<uint32_t> clique);
  bool areAdjacent(uint32_t a, uint32_t b) const;

  const Reduction *reduction;
  ProductStore *store;
  uint64_t largestTable; ///< in cells
  std::vector<Factor> factors;
  std::vector<llvm::SmallVector<uint32_t, 6>> factorsOf;
  std::vector<std::vector<uint32_t>> adjacent;
  std::vector<bool> alive;
  size_t aliveCount;
  std::vector<Step> madeSteps;
  bool relaxed = false;
};

} // namespace apc::dp
