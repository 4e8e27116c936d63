// `dp`, third step: running a plan on numbers.
#pragma once

#include "../Deadline.h"
#include "EliminationOrder.h"
#include "Product.h"

#include <limits>

namespace apc::dp {

/// What a run minimises: seconds * (the seconds) + bytes * (the persistent bytes), over the strategies whose transient
/// bytes are at most the limit. `seconds` is 1 or 0.
struct Weights {
  double seconds = 1;
  double bytes = 0;
  int64_t maxTransientBytes = std::numeric_limits<int64_t>::max();
};

/// The tables of one plan, under the weights of the last run. Example: run({.bytes = 2e-12}) prices a GB at 2 ms.
class Elimination {
public:
  Elimination(const Reduction &reduction, const Plan &plan, unsigned numThreads, const Deadline &deadline);

  /// False when the deadline came first; the tables are then of no use.
  bool run(const Weights &weights);

  /// The least weighted sum, constant seconds included; empty when everything is impossible. A bound from below when
  /// the plan is relaxed.
  std::optional<double> total() const;

  /// The kept strategies of a least assignment: nodes are decided last eliminated first, each taking the lowest of its
  /// least strategies. With a relaxed plan: some assignment, which may even take an impossible pair.
  std::vector<uint32_t> decode() const;

  /// The first node that is left without a possible choice by the last run, when `total` is empty.
  std::optional<uint32_t> firstStuckNode() const;

  llvm::ArrayRef<double> unary(uint32_t id) const { return unaryCells[id]; }
  llvm::ArrayRef<double> result(uint32_t product) const { return productCells[product]; }
  /// The operands of a product, over its local variables.
  llvm::SmallVector<OperandView, 4> operands(uint32_t product) const;
  double constant() const { return constantSum; }

private:
  const std::vector<double> &cellsOf(uint32_t table) const;
  double largestOf(uint32_t table) const;
  void weighUnaries(const Weights &weights);
  void useLeaves(bool withSeconds);

  const Reduction &reduction;
  const Plan &plan;
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
