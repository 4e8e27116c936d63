// Alike columns, found by hash and compared by bits.
#include "PairKinds.h"

#include "llvm/Support/xxhash.h"

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
  std::vector<uint64_t> hashOfKind;
  std::vector<uint32_t> firstOfKind;
  for (size_t column = 0; column < numColumns; ++column) {
    llvm::ArrayRef<uint8_t> bytes = bytesOf(columnAt(column));
    uint64_t hash = llvm::xxh3_64bits(bytes);
    uint32_t kind = 0;
    while (kind < firstOfKind.size() && (hashOfKind[kind] != hash || bytesOf(columnAt(firstOfKind[kind])) != bytes))
      ++kind;
    kindOf.push_back(kind);
    if (kind < firstOfKind.size())
      continue;
    hashOfKind.push_back(hash);
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
