// Strategies that a table of pairs does not tell apart.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace apc {

/// A table of pairs in which strategies that it does not tell apart, bit for bit, are one, on both sides: the pair of a
/// row and a column is `cells[rowKindOf[row] * numColumns + columnKindOf[column]]`. Kinds count up in the order of
/// first appearance. Example: the 60 strategies of a consumer that want its operand in 9 shardings are 60 columns of 9
/// kinds.
struct PairsByKind {
  std::vector<uint32_t> rowKindOf, columnKindOf;
  size_t numRows = 0, numColumns = 0; ///< kinds
  std::vector<double> cells;
};

/// \p matrix has \p numRows rows of \p numColumns, each row contiguous.
PairsByKind groupKinds(llvm::ArrayRef<double> matrix, size_t numRows, size_t numColumns);

/// The same matrix with rows and columns exchanged.
std::vector<double> turned(llvm::ArrayRef<double> cells, size_t numRows, size_t numColumns);
PairsByKind turned(const PairsByKind &kinds);

} // namespace apc
