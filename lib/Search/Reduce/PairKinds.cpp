// Equal rows and columns, found by hash and compared by bits.
#include "PairKinds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace apc {

static llvm::ArrayRef<uint8_t> bytesOf(llvm::ArrayRef<double> numbers) {
  return {reinterpret_cast<const uint8_t *>(numbers.data()), numbers.size() * sizeof(double)};
}

std::vector<double> transposed(llvm::ArrayRef<double> cells, size_t numRows, size_t numColumns) {
  constexpr size_t side = 16; // of a tile: its rows and its columns stay in the first cache
  std::vector<double> result(cells.size());
  for (size_t rowBegin = 0; rowBegin < numRows; rowBegin += side)
    for (size_t columnBegin = 0; columnBegin < numColumns; columnBegin += side)
      for (size_t row = rowBegin; row < std::min(numRows, rowBegin + side); ++row)
        for (size_t column = columnBegin; column < std::min(numColumns, columnBegin + side); ++column)
          result[column * numRows + row] = cells[row * numColumns + column];
  return result;
}

namespace {

/// Numbers rows or columns by kind: equal ones have one kind.
class KindNumbers {
public:
  void reserve(size_t size) { kinds.reserve(size); }

  /// The next row or column. \p isEqual: is it equal to another one, by index?
  void add(uint64_t hash, llvm::function_ref<bool(uint32_t)> isEqual) {
    uint32_t index = kinds.size(), newKind = first.size();
    auto [entry, isNew] = kindOfHash.try_emplace(hash, newKind);
    for (uint32_t kind = entry->second; kind < newKind; kind = nextOfHash[kind])
      if (isEqual(first[kind])) {
        kinds.push_back(kind);
        return;
      }
    nextOfHash.push_back(isNew ? none : std::exchange(entry->second, newKind));
    first.push_back(index);
    kinds.push_back(newKind);
  }

  llvm::ArrayRef<uint32_t> firsts() const { return first; } ///< by kind
  std::vector<uint32_t> take() { return std::move(kinds); }

private:
  static constexpr uint32_t none = ~0u;

  std::vector<uint32_t> kinds;                       ///< of each
  std::vector<uint32_t> first;                       ///< by kind: the first of it
  std::vector<uint32_t> nextOfHash;                  ///< by kind: another kind of the same hash
  std::unordered_map<uint64_t, uint32_t> kindOfHash; ///< the last kind of each hash
};

/// A hash of the cells of each column, in \p rows.
std::vector<uint64_t> hashesOfColumns(llvm::ArrayRef<double> matrix, llvm::ArrayRef<uint32_t> rows, size_t numColumns) {
  constexpr uint64_t factor = 0x9e3779b97f4a7c15;
  std::vector<uint64_t> hashes(numColumns, 0);
  for (uint32_t row : rows)
    for (size_t column = 0; column < numColumns; ++column) {
      uint64_t &hash = hashes[column];
      hash = (hash ^ llvm::bit_cast<uint64_t>(matrix[row * numColumns + column])) * factor;
      hash ^= hash >> 32;
    }
  return hashes;
}

} // namespace

PairsByKind groupKinds(llvm::ArrayRef<double> matrix, size_t numRows, size_t numColumns) {
  auto bytesAt = [&](size_t row) { return bytesOf(matrix.slice(row * numColumns, numColumns)); };
  auto bitsAt = [&](size_t row, size_t column) { return llvm::bit_cast<uint64_t>(matrix[row * numColumns + column]); };
  KindNumbers rows, columns;
  rows.reserve(numRows);
  for (size_t row = 0; row < numRows; ++row)
    rows.add(llvm::xxh3_64bits(bytesAt(row)), [&](uint32_t other) { return bytesAt(row) == bytesAt(other); });
  columns.reserve(numColumns);
  for (auto [column, hash] : llvm::enumerate(hashesOfColumns(matrix, rows.firsts(), numColumns)))
    columns.add(hash, [&, column = column](uint32_t other) {
      return llvm::all_of(rows.firsts(), [&](uint32_t row) { return bitsAt(row, column) == bitsAt(row, other); });
    });
  PairsByKind result;
  result.numRows = rows.firsts().size();
  result.numColumns = columns.firsts().size();
  result.cells = matrix;
  if (result.numRows != numRows || result.numColumns != numColumns) {
    result.copied.reserve(result.numRows * result.numColumns);
    for (uint32_t row : rows.firsts())
      for (uint32_t column : columns.firsts())
        result.copied.push_back(matrix[row * numColumns + column]);
    result.cells = result.copied;
  }
  result.rowKindOf = rows.take();
  result.columnKindOf = columns.take();
  return result;
}

/// Kinds of rows and of columns exchanged; without cells.
static PairsByKind exchanged(const PairsByKind &kinds) {
  PairsByKind result;
  result.rowKindOf = kinds.columnKindOf;
  result.columnKindOf = kinds.rowKindOf;
  result.numRows = kinds.numColumns;
  result.numColumns = kinds.numRows;
  return result;
}

PairsByKind transposed(const PairsByKind &kinds) {
  PairsByKind result = exchanged(kinds);
  result.copied = transposed(kinds.cells, kinds.numRows, kinds.numColumns);
  result.cells = result.copied;
  return result;
}

PairsByKind transposed(const PairsByKind &kinds, llvm::ArrayRef<double> transposedMatrix) {
  if (!kinds.isWhole())
    return transposed(kinds);
  PairsByKind result = exchanged(kinds);
  result.cells = transposedMatrix;
  return result;
}

} // namespace apc
