// Groups of strategies that a table of pairs does not tell apart.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace apc {

/// A table of pairs in which equal rows are stored once, and equal columns too (bit for bit). The pair of a row and a
/// column is `cells[rowKindOf[row] * numColumns + columnKindOf[column]]`. Kinds count up in the order of first
/// appearance. Example: a consumer with 60 strategies that want its operand in 9 shardings has 60 columns of 9 kinds.
struct PairsByKind {
  std::vector<uint32_t> rowKindOf, columnKindOf;
  size_t numRows = 0, numColumns = 0; ///< kinds
  std::vector<double> cells;
};

/// \p matrix has \p numRows contiguous rows of \p numColumns cells.
PairsByKind groupKinds(llvm::ArrayRef<double> matrix, size_t numRows, size_t numColumns);

/// The same matrix with rows and columns exchanged.
std::vector<double> transposed(llvm::ArrayRef<double> cells, size_t numRows, size_t numColumns);
PairsByKind transposed(const PairsByKind &kinds);

} // namespace apc
