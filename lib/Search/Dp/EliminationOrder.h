// `dp`, second step: in which order nodes are eliminated, and which of the tables that this needs are equal. This step
// touches no costs, so one order serves every weight of a byte.
#pragma once

#include "../Reduce/ReducedProblem.h"

namespace apc {
class KnownOrders;
} // namespace apc

namespace apc::dp {

/// A table in a product. `dims[i]` is the local variable of its dim i: 0 is the eliminated node; 1, 2, ... are its
/// neighbours in ascending order.
struct TableOperand {
  uint32_t table; ///< a leaf of the reduced problem, or numLeaves + the index of a product
  llvm::SmallVector<uint8_t, 4> dims;

  friend auto operator<=>(const TableOperand &a, const TableOperand &b) {
    return std::tie(a.table, a.dims) <=> std::tie(b.table, b.dims);
  }
  friend bool operator==(const TableOperand &, const TableOperand &) = default;
};

/// One elimination, independent of the nodes: for all choices of the neighbours, the minimum over the choices of the
/// eliminated node of the sum of the operands. Two nodes with the same product (repeated layers) are computed once.
/// Example: a chain's inner node, unary u, operands A{dims {1, 0}} and B{dims {0, 2}}, sizes {v, x, y}: the table
/// C[x, y] = min over v of u[v] + A[x, v] + B[v, y].
struct Product {
  std::optional<uint32_t> unary;
  llvm::SmallVector<TableOperand, 4> operands;
  llvm::SmallVector<uint32_t, 5> sizes; ///< of the local variables; the result has the dims 1, 2, ...

  uint64_t cells() const; ///< of the result; saturates
  double work() const;    ///< additions, plus a fixed cost
  friend bool operator==(const Product &, const Product &) = default;
};

/// The elimination of one node, or of a part of its tables when the order is relaxed.
struct EliminationStep {
  uint32_t node;
  uint32_t product;
  llvm::SmallVector<uint32_t, 4> neighbours;
  /// For each operand of the product: the step that makes it; empty for a leaf.
  llvm::SmallVector<std::optional<uint32_t>, 4> producers;
};

/// Steps in the order of elimination: a step comes after those that make its operands.
struct EliminationOrder {
  std::vector<Product> products; ///< distinct, in the order of first use
  std::vector<EliminationStep> steps;
  size_t numLeaves = 0;
  /// Some table would have been too large, so its node is eliminated in parts: the computed sums are lower bounds.
  /// Source: Dechter and Rish, "Mini-buckets" (2003).
  bool isRelaxed = false;
  double work = 0;
  uint64_t totalCells = 0;
};

/// Limits on the tables of an exact order, in cells of 8 bytes: one table, and all tables together.
constexpr uint64_t largestTable = uint64_t(1) << 24;
constexpr uint64_t largestTotal = uint64_t(1) << 26;
/// The same for a relaxed order: one table, and the additions of all products.
constexpr uint64_t largestRelaxedTable = uint64_t(1) << 18;
constexpr double largestRelaxedWork = 3e8;

/// Chooses an order: first some rounds that each eliminate all nodes with one and the same product, then min-fill
/// (ties: least work, then the lowest node). Rounds make 96 equal layers cost as much as one layer, and 96 equal tables
/// in a row as much as seven. Of all numbers of rounds, the one with the least work is taken; none where nothing
/// repeats. Empty when the order would take more than `maxWork` or too large tables. Depends on the first two arguments
/// alone; \p known may be null.
std::optional<EliminationOrder> makeExactOrder(const ReducedProblem &reduced, double maxWork,
                                               KnownOrders *known = nullptr);

/// A relaxed order, with tables that are small enough to be worth their time.
EliminationOrder makeRelaxedOrder(const ReducedProblem &reduced, KnownOrders *known = nullptr);

/// An exact order, or else a relaxed one.
EliminationOrder makeOrder(const ReducedProblem &reduced, double maxWork, KnownOrders *known = nullptr);

} // namespace apc::dp
