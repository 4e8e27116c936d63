// `dp`, third step: computing the tables of an order.
#pragma once

#include "../Deadline.h"
#include "EliminationOrder.h"
#include "Product.h"

namespace apc::dp {

/// The tables of one order, under the weights of the last run. Example: run({.secondsPerByte = 2e-12}) minimises
/// seconds where a GB costs 2 ms.
class Elimination {
public:
  Elimination(const ReducedProblem &reduced, const EliminationOrder &order, unsigned numThreads,
              const Deadline &deadline);

  /// Minimises the weighted seconds. False when the deadline came first; the tables are then incomplete.
  bool run(const Weights &weights);
  /// Minimises the persistent bytes alone, over the strategies with at most that many transient bytes.
  bool runForBytes(int64_t maxTransientBytes = Weights().maxTransientBytes);

  /// The minimal sum, constant seconds included; empty when no assignment is possible. A lower bound when the order is
  /// relaxed.
  std::optional<double> total() const;

  /// The surviving strategies of a minimal assignment. The node that was eliminated last is decided first; each takes
  /// the lowest of its best strategies. With a relaxed order the assignment need not be minimal, nor even possible.
  std::vector<uint32_t> decode() const;

  /// The first node for which the last run found no possible choice; for an empty `total`.
  std::optional<uint32_t> firstStuckNode() const;

  llvm::ArrayRef<double> unary(uint32_t id) const { return unaryCells[id]; }
  llvm::ArrayRef<double> result(uint32_t product) const { return productCells[product]; }
  /// The operands of a product, over its local variables.
  llvm::SmallVector<OperandView, 4> operands(uint32_t product) const;
  double constant() const { return constantSum; }

private:
  llvm::ArrayRef<double> cellsOf(uint32_t table) const;
  double largestOf(uint32_t table) const;
  void weighUnaries(bool withSeconds, const Weights &weights);
  void useLeaves(bool withSeconds);
  bool compute();

  const ReducedProblem &reduced;
  const EliminationOrder &order;
  unsigned numThreads;
  Deadline deadline;
  std::vector<std::vector<double>> unaryCells;
  std::vector<double> largestUnary;
  /// Leaves with every possible cell 0, for runs without seconds; made when first needed.
  std::vector<std::vector<double>> zeroLeaves;
  bool leavesAreZero = false;
  std::vector<double> largestLeaf;
  std::vector<std::vector<double>> productCells;
  std::vector<double> largestProduct;
  double constantSum = 0;
};

} // namespace apc::dp
