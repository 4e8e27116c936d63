// Strategies that a table of pairs does not tell apart.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace apc {

/// The columns of a matrix by what they hold, bit for bit; alike ones are of one kind, kinds count up in the order of
/// first appearance. Example: the 60 strategies of a consumer that want its operand in 9 shardings are 60 columns of 9
/// kinds. With a matrix turned, the same of its rows.
struct ColumnKinds {
  std::vector<uint32_t> kindOf; ///< for each column
  std::vector<double> cells;    ///< as the matrix, one column for each kind
  size_t numKinds = 0;

  /// \p matrix has \p numRows rows of \p numColumns, each row contiguous.
  ColumnKinds(llvm::ArrayRef<double> matrix, size_t numRows, size_t numColumns);

  llvm::ArrayRef<double> row(size_t index) const { return llvm::ArrayRef(cells).slice(index * numKinds, numKinds); }
  /// The kinds of \p columns, each once, ascending.
  std::vector<uint32_t> kindsAmong(llvm::ArrayRef<uint32_t> columns) const;
};

/// The same matrix with rows and columns exchanged.
std::vector<double> turned(llvm::ArrayRef<double> cells, size_t numRows, size_t numColumns);

} // namespace apc
