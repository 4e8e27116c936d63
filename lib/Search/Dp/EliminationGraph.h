// The graph of a reduced problem while nodes are eliminated from it symbolically.
#pragma once

#include "EliminationOrder.h"

#include "apc/Support/Interner.h"

namespace apc::dp {

struct ProductHash {
  size_t operator()(const Product &product) const;
};

/// All products met so far, each once.
using ProductStore = HashInterner<Product, ProductHash>;

/// The elimination of a node, not yet made.
struct Bucket {
  Product product;
  llvm::SmallVector<uint32_t, 4> neighbours;
  llvm::SmallVector<uint32_t, 4> potentials; ///< for each operand, its potential
};

/// The remaining nodes and the tables over them. Copied to try an order.
class EliminationGraph {
public:
  EliminationGraph(const ReducedProblem &reduced, ProductStore &store, uint64_t largestTable);

  llvm::ArrayRef<uint32_t> neighbours(uint32_t node) const { return adjacent[node]; }
  bool isAlive(uint32_t node) const { return alive[node]; }
  size_t numAlive() const { return aliveCount; }
  llvm::ArrayRef<EliminationStep> steps() const { return madeSteps; }
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
  struct OpenPotential {
    uint32_t table;
    llvm::SmallVector<uint32_t, 4> scope;
    std::optional<uint32_t> producer;
  };

  Bucket bucketOver(uint32_t node, llvm::ArrayRef<uint32_t> members, bool withUnary) const;
  llvm::SmallVector<llvm::SmallVector<uint32_t, 6>, 1> parts(uint32_t node) const;
  void makeStep(uint32_t node, Bucket bucket);
  std::vector<uint32_t> connect(uint32_t node, llvm::ArrayRef<uint32_t> clique);
  bool areAdjacent(uint32_t a, uint32_t b) const;

  const ReducedProblem *reduced;
  ProductStore *store;
  uint64_t largestTable; ///< in cells
  std::vector<OpenPotential> potentials;
  std::vector<llvm::SmallVector<uint32_t, 6>> potentialsOf;
  std::vector<llvm::SmallVector<uint32_t, 6>> adjacent;
  std::vector<bool> alive;
  size_t aliveCount;
  std::vector<EliminationStep> madeSteps;
  bool relaxed = false;
};

} // namespace apc::dp
