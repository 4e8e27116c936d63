// Equal rows and columns, found by hash and compared by bits.
#include "PairKinds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

namespace apc {

static llvm::ArrayRef<uint8_t> bytesOf(llvm::ArrayRef<double> numbers) {
  return {reinterpret_cast<const uint8_t *>(numbers.data()), numbers.size() * sizeof(double)};
}

std::vector<double> transposed(llvm::ArrayRef<double> cells, size_t numRows, size_t numColumns) {
  std::vector<double> result(cells.size());
  for (size_t row = 0; row < numRows; ++row)
    for (size_t column = 0; column < numColumns; ++column)
      result[column * numRows + row] = cells[row * numColumns + column];
  return result;
}

namespace {

/// The distinct rows of a matrix.
struct RowKinds {
  std::vector<uint32_t> kindOf; ///< for each row
  std::vector<double> rows;     ///< one row for each kind
  size_t numKinds = 0;

  RowKinds(llvm::ArrayRef<double> matrix, size_t numRows, size_t numColumns) {
    auto bytesAt = [&](size_t row) { return bytesOf(matrix.slice(row * numColumns, numColumns)); };
    std::vector<uint64_t> hashes; // by kind, like `firsts`
    std::vector<uint32_t> firsts;
    for (size_t row = 0; row < numRows; ++row) {
      uint64_t hash = llvm::xxh3_64bits(bytesAt(row));
      uint32_t kind = 0;
      while (kind < firsts.size() && (hashes[kind] != hash || bytesAt(firsts[kind]) != bytesAt(row)))
        ++kind;
      kindOf.push_back(kind);
      if (kind < firsts.size())
        continue;
      hashes.push_back(hash);
      firsts.push_back(row);
      llvm::append_range(rows, matrix.slice(row * numColumns, numColumns));
    }
    numKinds = firsts.size();
  }
};

} // namespace

PairsByKind groupKinds(llvm::ArrayRef<double> matrix, size_t numRows, size_t numColumns) {
  RowKinds rows(matrix, numRows, numColumns);
  RowKinds columns(transposed(rows.rows, rows.numKinds, numColumns), numColumns, rows.numKinds);
  return {std::move(rows.kindOf), std::move(columns.kindOf), rows.numKinds, columns.numKinds,
          transposed(columns.rows, columns.numKinds, rows.numKinds)};
}

PairsByKind transposed(const PairsByKind &kinds) {
  return {kinds.columnKindOf, kinds.rowKindOf, kinds.numColumns, kinds.numRows,
          transposed(kinds.cells, kinds.numRows, kinds.numColumns)};
}

} // namespace apc
