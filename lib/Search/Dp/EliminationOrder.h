// `dp`, second step: which node is eliminated when, and which of the tables that this needs are the same. No number is
// touched here; the plan is then run as often as the memory multiplier changes.
#pragma once

#include "../Reduce/ReducedProblem.h"

namespace apc::dp {

/// A table taking part in a product. `dims[i]` is the local variable of its dim i: 0 is the eliminated node, 1, 2, ...
/// are its neighbours in ascending order.
struct Operand {
  uint32_t table; ///< a leaf of the reduction, or numLeaves + the index of a product
  llvm::SmallVector<uint8_t, 4> dims;

  friend auto operator<=>(const Operand &a, const Operand &b) {
    return std::tie(a.table, a.dims) <=> std::tie(b.table, b.dims);
  }
  friend bool operator==(const Operand &, const Operand &) = default;
};

/// One elimination, whoever the nodes are: over all choices of the neighbours, the least sum of the operands over the
/// choices of the eliminated node. Two nodes with the same product (repeated layers) are computed once.
/// Example: a chain's inner node, unary u, operands A{dims {1, 0}} and B{dims {0, 2}}, sizes {v, x, y}: the table
/// C[x, y] = min over v of u[v] + A[x, v] + B[v, y].
struct Product {
  std::optional<uint32_t> unary;
  llvm::SmallVector<Operand, 4> operands;
  llvm::SmallVector<uint32_t, 5> sizes; ///< of the local variables; the result has the dims 1, 2, ...

  uint64_t cells() const; ///< of the result; saturates
  double work() const;    ///< additions, plus a fixed cost
};

/// The elimination of one node, or one part of it when the plan is relaxed.
struct Step {
  uint32_t node;
  uint32_t product;
  llvm::SmallVector<uint32_t, 4> neighbours;
  /// For each operand of the product: the step that made it, or empty for a leaf.
  llvm::SmallVector<std::optional<uint32_t>, 4> producers;
};

/// Steps in the order of elimination: a step comes after those that make its operands.
struct Plan {
  std::vector<Product> products; ///< distinct, in the order of first use
  std::vector<Step> steps;
  size_t numLeaves = 0;
  /// Some table would have been too large: the sums that the plan computes are bounds from below. Source: Dechter and
  /// Rish, "Mini-buckets" (2003).
  bool isRelaxed = false;
  double work = 0;
  uint64_t totalCells = 0;
};

/// The largest table that an exact plan may make, and all of them together, in cells of 8 bytes.
constexpr uint64_t largestTable = uint64_t(1) << 24;
constexpr uint64_t largestTotal = uint64_t(1) << 26;
/// The same for a plan that has to be relaxed, and the work that it aims to stay within.
constexpr uint64_t largestRelaxedTable = uint64_t(1) << 18;
constexpr double largestRelaxedWork = 3e8;

/// Chooses an order: some rounds that eliminate all nodes with one and the same product (so that 96 layers collapse to
/// one table each at the price of one, and 96 equal tables in a row to one at the price of seven), then min-fill (ties:
/// least work, then the lowest node), which walks in from the ends. Of all numbers of rounds, the one with the least
/// work; none at all where nothing repeats. Empty when it would take more than `maxWork` or too large tables.
/// Deterministic: a function of its arguments.
std::optional<Plan> makeExactPlan(const Reduction &reduction, double maxWork);

/// The same with tables small enough to be worth their time.
Plan makeRelaxedPlan(const Reduction &reduction);

/// Exact, or else relaxed.
Plan makePlan(const Reduction &reduction, double maxWork);

} // namespace apc::dp
