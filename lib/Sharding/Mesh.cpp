// The device mesh: coordinates, groups and its text form.
#include "apc/Sharding/Mesh.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cassert>

namespace apc {

namespace {

/// 12 -> 3, 2, 2.
llvm::SmallVector<int64_t, 8> primeFactors(int64_t value) {
  llvm::SmallVector<int64_t, 8> factors;
  for (int64_t prime = 2; prime * prime <= value; ++prime)
    for (; value % prime == 0; value /= prime)
      factors.push_back(prime);
  if (value > 1)
    factors.push_back(value);
  std::reverse(factors.begin(), factors.end());
  return factors;
}

bool isAxisName(llvm::StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// `x0=8`, or `8` alone, which is named by its position.
llvm::Expected<MeshAxis> parseAxis(llvm::StringRef word, unsigned position, unsigned level, llvm::StringRef whole) {
  auto [name, size] = word.contains('=') ? word.split('=') : std::pair<llvm::StringRef, llvm::StringRef>("", word);
  MeshAxis axis;
  axis.level = level;
  axis.name = word.contains('=') ? name.trim().str() : "x" + std::to_string(position);
  if (!isAxisName(axis.name) || size.trim().getAsInteger(10, axis.size) || axis.size < 1)
    return inputError("mesh '{0}': '{1}' is not an axis; write for instance x0=8", whole, word);
  return axis;
}

} // namespace

Mesh::Mesh(std::vector<MeshAxis> axes) : axes(std::move(axes)) {
  for (const MeshAxis &axis : this->axes) {
    assert(axis.size >= 1 && "an axis has at least one device");
    devices *= axis.size;
  }
}

Mesh Mesh::fromLevels(llvm::ArrayRef<int64_t> devicesPerLevel) {
  std::vector<MeshAxis> axes;
  for (unsigned level = 0; level < devicesPerLevel.size(); ++level)
    for (int64_t prime : primeFactors(devicesPerLevel[level]))
      axes.push_back({"x" + std::to_string(axes.size()), prime, level});
  return Mesh(std::move(axes));
}

int64_t Mesh::size(llvm::ArrayRef<AxisId> ids) const {
  int64_t product = 1;
  for (AxisId id : ids)
    product *= size(id);
  return product;
}

llvm::SmallVector<int64_t, 4> Mesh::coordinates(int64_t rank) const {
  assert(rank >= 0 && rank < devices && "rank outside the mesh");
  llvm::SmallVector<int64_t, 4> result(axes.size());
  for (size_t i = axes.size(); i-- > 0; rank /= axes[i].size)
    result[i] = rank % axes[i].size;
  return result;
}

int64_t Mesh::rankOf(llvm::ArrayRef<int64_t> coordinates) const {
  assert(coordinates.size() == axes.size() && "one coordinate for each axis");
  int64_t rank = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    rank = rank * axes[i].size + coordinates[i];
  return rank;
}

std::vector<int64_t> Mesh::group(int64_t rank, llvm::ArrayRef<AxisId> axes) const {
  llvm::SmallVector<int64_t, 4> where = coordinates(rank);
  std::vector<int64_t> ranks;
  for (int64_t index = 0, count = size(axes); index < count; ++index) {
    int64_t rest = index;
    for (AxisId id : llvm::reverse(axes)) {
      where[id.index()] = rest % size(id);
      rest /= size(id);
    }
    ranks.push_back(rankOf(where));
  }
  return ranks;
}

int64_t Mesh::indexInGroup(int64_t rank, llvm::ArrayRef<AxisId> axes) const {
  llvm::SmallVector<int64_t, 4> where = coordinates(rank);
  int64_t index = 0;
  for (AxisId id : axes)
    index = index * size(id) + where[id.index()];
  return index;
}

std::string Mesh::str() const {
  std::string text = "[";
  unsigned level = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    bool newLevel = axes[i].level > level;
    if (newLevel)
      text += i == 0 ? "" : " ";
    else if (i != 0)
      text += ", ";
    for (; level < axes[i].level; ++level)
      text += "| ";
    text += axes[i].name + "=" + std::to_string(axes[i].size);
  }
  return text + "]";
}

llvm::Expected<Mesh> Mesh::parse(llvm::StringRef text) {
  llvm::StringRef body = text.trim();
  if (!body.consume_front("[") || !body.consume_back("]"))
    return inputError("mesh '{0}': write it in brackets, for instance [x0=8 | x1=4, x2=2]", text);
  llvm::SmallVector<llvm::StringRef> levels;
  body.split(levels, '|');
  std::vector<MeshAxis> axes;
  int64_t devices = 1;
  for (unsigned level = 0; level < levels.size(); ++level) {
    if (levels[level].trim().empty())
      continue;
    llvm::SmallVector<llvm::StringRef> words;
    levels[level].split(words, ',');
    for (llvm::StringRef word : words) {
      auto axis = parseAxis(word.trim(), axes.size(), level, text);
      if (!axis)
        return axis.takeError();
      for (const MeshAxis &other : axes)
        if (other.name == axis->name)
          return inputError("mesh '{0}': two axes are named {1}", text, axis->name);
      if (__builtin_mul_overflow(devices, axis->size, &devices))
        return inputError("mesh '{0}': more devices than can be counted", text);
      axes.push_back(std::move(*axis));
    }
  }
  return Mesh(std::move(axes));
}

} // namespace apc
