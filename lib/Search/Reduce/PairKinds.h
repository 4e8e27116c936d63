// Groups of strategies that a table of pairs does not tell apart.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace apc {

/// A table of pairs in which equal rows are stored once, and equal columns too (bit for bit). The pair of a row and a
/// column is `cells[rowKindOf[row] * numColumns + columnKindOf[column]]`. Kinds count up in the order of first
/// appearance. Example: a consumer with 60 strategies that want its operand in 9 shardings has 60 columns of 9 kinds.
/// A table without equal rows and columns is not copied: `cells` then are the table's own, which must outlive this.
struct PairsByKind {
  std::vector<uint32_t> rowKindOf, columnKindOf;
  size_t numRows = 0, numColumns = 0; ///< kinds
  llvm::ArrayRef<double> cells;
  std::vector<double> copied; ///< holds `cells` where they are not the table's

  PairsByKind() = default;
  PairsByKind(PairsByKind &&) noexcept = default;
  PairsByKind &operator=(PairsByKind &&) noexcept = default;

  /// No row and no column is repeated.
  bool isWhole() const { return numRows == rowKindOf.size() && numColumns == columnKindOf.size(); }
};

/// \p matrix has \p numRows contiguous rows of \p numColumns cells.
PairsByKind groupKinds(llvm::ArrayRef<double> matrix, size_t numRows, size_t numColumns);

/// The same matrix with rows and columns exchanged.
std::vector<double> transposed(llvm::ArrayRef<double> cells, size_t numRows, size_t numColumns);
PairsByKind transposed(const PairsByKind &kinds);
/// Does not copy where \p transposedMatrix, of all rows and columns, has the cells.
PairsByKind transposed(const PairsByKind &kinds, llvm::ArrayRef<double> transposedMatrix);

} // namespace apc
