// Weights told apart by a few of their elements, then compared byte by byte.
#include "apc/Import/EqualWeights.h"

#include "apc/Import/WeightFiles.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <map>
#include <optional>

namespace apc {

namespace {

constexpr int64_t tile = 512; ///< rows and columns of a piece that is compared with its transpose

/// The bytes of one weight; its file is open as long as this lives.
class WeightBytes {
public:
  WeightBytes(const std::string &path, int64_t begin) : begin(begin) {
    if (auto opened = llvm::sys::fs::openNativeFileForRead(path))
      file = *opened;
    else
      llvm::consumeError(opened.takeError());
  }
  ~WeightBytes() {
    if (file != llvm::sys::fs::kInvalidFile)
      (void)llvm::sys::fs::closeFile(file);
  }
  WeightBytes(const WeightBytes &) = delete;
  WeightBytes &operator=(const WeightBytes &) = delete;

  /// False where the file is absent or ends before.
  bool read(int64_t offset, llvm::MutableArrayRef<char> buffer) const {
    if (file == llvm::sys::fs::kInvalidFile)
      return false;
    while (!buffer.empty()) {
      auto count = llvm::sys::fs::readNativeFileSlice(file, buffer, static_cast<uint64_t>(begin + offset));
      if (!count) {
        llvm::consumeError(count.takeError());
        return false;
      }
      if (*count == 0)
        return false;
      offset += static_cast<int64_t>(*count);
      buffer = buffer.drop_front(*count);
    }
    return true;
  }

private:
  llvm::sys::fs::file_t file = llvm::sys::fs::kInvalidFile;
  int64_t begin;
};

/// A weight with its place, and texts that equal weights share.
struct Located {
  const WeightShape *shape;
  std::string path;
  int64_t offset;

  int64_t numElements() const {
    int64_t count = 1;
    for (int64_t dim : shape->dims)
      count *= dim;
    return count;
  }
  WeightBytes open() const { return {path, offset}; }
  /// Type, dims and a few elements, of the weight or of its transpose; empty where the file ends before.
  std::optional<std::string> probe(bool transposed) const;
};

std::optional<std::string> Located::probe(bool transposed) const {
  constexpr int64_t numProbes = 61;
  std::vector<int64_t> dims = shape->dims;
  if (transposed)
    std::swap(dims[0], dims[1]);
  std::string text = shape->element;
  for (int64_t dim : dims)
    text += "," + std::to_string(dim);
  text += ":";
  WeightBytes bytes = open();
  std::vector<char> element(static_cast<size_t>(shape->elementBytes));
  int64_t last = numElements() - 1, count = std::min(numProbes, last + 1);
  for (int64_t index = 0; index < count; ++index) {
    // In 128 bits: weights may hold more than 2^57 elements by their declaration.
    auto flat = static_cast<int64_t>(static_cast<__int128>(last) * index / std::max<int64_t>(count - 1, 1));
    if (transposed)
      flat = flat % dims[1] * dims[0] + flat / dims[1];
    if (!bytes.read(flat * shape->elementBytes, element))
      return std::nullopt;
    text.append(element.begin(), element.end());
  }
  return text;
}

constexpr int64_t blockBytes = 1 << 20; ///< read at a time

/// Bytes of as many whole elements as fit into a block.
int64_t blockOf(const Located &weight) {
  return std::max<int64_t>(blockBytes / weight.shape->elementBytes, 1) * weight.shape->elementBytes;
}

/// All elements are the first one, or the file ends before.
bool isConstant(const Located &weight) {
  WeightBytes bytes = weight.open();
  int64_t width = weight.shape->elementBytes, length = weight.numElements() * width, block = blockOf(weight);
  std::vector<char> piece, first;
  for (int64_t offset = 0; offset < length; offset += block) {
    piece.resize(static_cast<size_t>(std::min(block, length - offset)));
    if (!bytes.read(offset, piece))
      return true;
    if (first.empty())
      first.assign(piece.begin(), piece.begin() + width);
    for (size_t at = 0; at < piece.size(); at += first.size())
      if (std::memcmp(piece.data() + at, first.data(), first.size()) != 0)
        return false;
  }
  return true;
}

/// The same bytes in the same order.
bool isSame(const Located &a, const Located &b) {
  WeightBytes left = a.open(), right = b.open();
  int64_t length = a.numElements() * a.shape->elementBytes, block = blockOf(a);
  std::vector<char> ours, theirs;
  for (int64_t offset = 0; offset < length; offset += block) {
    ours.resize(static_cast<size_t>(std::min(block, length - offset)));
    theirs.resize(ours.size());
    if (!left.read(offset, ours) || !right.read(offset, theirs) || ours != theirs)
      return false;
  }
  return true;
}

/// Reads `rows` x `columns` elements from `row` and `column` on of a weight with rows of `rowLength`.
bool readTile(const WeightBytes &bytes, int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t rowLength,
              int64_t width, std::vector<char> &piece) {
  piece.resize(static_cast<size_t>(rows * columns * width));
  for (int64_t i = 0; i < rows; ++i) {
    auto part = llvm::MutableArrayRef<char>(piece).slice(static_cast<size_t>(i * columns * width),
                                                         static_cast<size_t>(columns * width));
    if (!bytes.read(((row + i) * rowLength + column) * width, part))
      return false;
  }
  return true;
}

/// True when `theirs` [columns, rows] is the transpose of `ours` [rows, columns].
bool agree(llvm::ArrayRef<char> ours, llvm::ArrayRef<char> theirs, int64_t rows, int64_t columns, int64_t width) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (std::memcmp(&ours[static_cast<size_t>((i * columns + j) * width)],
                      &theirs[static_cast<size_t>((j * rows + i) * width)], static_cast<size_t>(width)) != 0)
        return false;
  return true;
}

/// `b` holds the transpose of `a`.
bool isTranspose(const Located &a, const Located &b) {
  WeightBytes left = a.open(), right = b.open();
  int64_t numRows = a.shape->dims[0], numColumns = a.shape->dims[1], width = a.shape->elementBytes;
  std::vector<char> ours, theirs;
  for (int64_t row = 0; row < numRows; row += tile)
    for (int64_t column = 0; column < numColumns; column += tile) {
      int64_t rows = std::min(tile, numRows - row), columns = std::min(tile, numColumns - column);
      if (!readTile(left, row, rows, column, columns, numColumns, width, ours) ||
          !readTile(right, column, columns, row, rows, numRows, width, theirs) ||
          !agree(ours, theirs, rows, columns, width))
        return false;
    }
  return true;
}

/// Weights seen so far, by their probes.
class EqualFinder {
public:
  std::vector<EqualWeights> pairs;

  void add(const Located &weight) {
    std::optional<std::string> own = weight.probe(false);
    if (!own || isConstant(weight))
      return;
    if (const Located *same = find(*own, weight, isSame)) {
      pairs.push_back({same->shape->name, weight.shape->name, false});
      return;
    }
    if (weight.shape->dims.size() == 2) {
      std::optional<std::string> turned = weight.probe(true);
      const Located *same = turned ? find(*turned, weight, isTranspose) : nullptr;
      if (same) {
        pairs.push_back({same->shape->name, weight.shape->name, true});
        return;
      }
    }
    known[*own].push_back(weight);
  }

private:
  const Located *find(const std::string &probe, const Located &weight,
                      bool (*equal)(const Located &, const Located &)) {
    auto found = known.find(probe);
    if (found == known.end())
      return nullptr;
    for (const Located &other : found->second)
      if (equal(other, weight))
        return &other;
    return nullptr;
  }

  std::map<std::string, std::vector<Located>> known;
};

/// The place of a weight; empty where its elements are no range of bytes of the right length.
std::optional<Located> locate(const WeightShape &shape, const llvm::StringMap<WeightLocation> &places,
                              llvm::StringRef modelPath) {
  auto found = places.find(shape.name);
  if (found == places.end() || !found->second.absent.empty() || found->second.isVarints || shape.elementBytes <= 0)
    return std::nullopt;
  llvm::SmallString<128> path(llvm::sys::path::parent_path(modelPath));
  llvm::sys::path::append(path, found->second.file);
  Located located{&shape, path.str().str(), found->second.offset};
  int64_t length = located.numElements() * shape.elementBytes;
  if (length == 0 || found->second.length.value_or(length) != length)
    return std::nullopt;
  return located;
}

} // namespace

llvm::Expected<std::vector<EqualWeights>> findEqualWeights(llvm::StringRef modelPath,
                                                           llvm::ArrayRef<WeightShape> weights) {
  auto places = locateWeights(modelPath);
  if (!places)
    return places.takeError();
  EqualFinder finder;
  for (const WeightShape &weight : weights)
    if (auto located = locate(weight, *places, modelPath))
      finder.add(*located);
  return std::move(finder.pairs);
}

} // namespace apc
