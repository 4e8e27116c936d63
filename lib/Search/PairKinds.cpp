// Alike columns, found by hash and compared by bits.
#include "PairKinds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <unordered_map>

namespace apc {

static llvm::ArrayRef<uint8_t> bytesOf(llvm::ArrayRef<double> numbers) {
  return {reinterpret_cast<const uint8_t *>(numbers.data()), numbers.size() * sizeof(double)};
}

std::vector<double> turned(llvm::ArrayRef<double> cells, size_t numRows, size_t numColumns) {
  std::vector<double> result(cells.size());
  for (size_t row = 0; row < numRows; ++row)
    for (size_t column = 0; column < numColumns; ++column)
      result[column * numRows + row] = cells[row * numColumns + column];
  return result;
}

ColumnKinds::ColumnKinds(llvm::ArrayRef<double> matrix, size_t numRows, size_t numColumns) {
  std::vector<double> byColumn = turned(matrix, numRows, numColumns);
  auto columnAt = [&](size_t column) { return llvm::ArrayRef(byColumn).slice(column * numRows, numRows); };
  std::unordered_map<uint64_t, std::vector<uint32_t>> kindsByHash;
  std::vector<uint32_t> firstOfKind;
  for (size_t column = 0; column < numColumns; ++column) {
    llvm::ArrayRef<uint8_t> bytes = bytesOf(columnAt(column));
    std::vector<uint32_t> &candidates = kindsByHash[llvm::xxh3_64bits(bytes)];
    auto found =
        llvm::find_if(candidates, [&](uint32_t kind) { return bytesOf(columnAt(firstOfKind[kind])) == bytes; });
    if (found != candidates.end()) {
      kindOf.push_back(*found);
      continue;
    }
    candidates.push_back(firstOfKind.size());
    kindOf.push_back(firstOfKind.size());
    firstOfKind.push_back(column);
  }
  numKinds = firstOfKind.size();
  cells.reserve(numRows * numKinds);
  for (size_t row = 0; row < numRows; ++row)
    for (uint32_t first : firstOfKind)
      cells.push_back(matrix[row * numColumns + first]);
}

std::vector<uint32_t> ColumnKinds::kindsAmong(llvm::ArrayRef<uint32_t> columns) const {
  std::vector<bool> seen(numKinds, false);
  for (uint32_t column : columns)
    seen[kindOf[column]] = true;
  std::vector<uint32_t> kinds;
  for (uint32_t kind = 0; kind < numKinds; ++kind)
    if (seen[kind])
      kinds.push_back(kind);
  return kinds;
}

} // namespace apc
