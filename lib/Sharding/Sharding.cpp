// The placement of one tensor on the mesh: text form, checks, local shapes and slices.
#include "apc/Sharding/Sharding.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace apc {

namespace {

constexpr llvm::StringLiteral combinerNames[] = {"sum", "max", "min", "product", "and", "or", "log_sum_exp"};

int64_t saturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return llvm::MulOverflow(a, b, product) ? std::numeric_limits<int64_t>::max() : product;
}

std::string axisNames(llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  std::string text;
  for (AxisId axis : axes)
    text += (text.empty() ? "" : " ") + mesh.axis(axis).name;
  return text;
}

std::optional<AxisId> findAxis(llvm::StringRef name, const Mesh &mesh) {
  for (unsigned i = 0; i < mesh.numAxes(); ++i)
    if (mesh.getAxes()[i].name == name)
      return AxisId(i);
  return std::nullopt;
}

llvm::Error parseAxes(llvm::StringRef words, const Mesh &mesh, llvm::StringRef whole, AxisList &axes) {
  llvm::SmallVector<llvm::StringRef> names;
  words.split(names, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names) {
    std::optional<AxisId> axis = findAxis(name.trim(), mesh);
    if (!axis)
      return inputError("sharding '{0}': the mesh {1} has no axis '{2}'", whole, mesh.str(), name);
    axes.push_back(*axis);
  }
  return llvm::Error::success();
}

/// `-`, `x0`, `(x0 x1)`, or axes with parts: `x0{256 128 128}`, for the next dim of `sharding`.
llvm::Error parseDim(llvm::StringRef word, const Mesh &mesh, llvm::StringRef whole, Sharding &sharding) {
  AxisList axes;
  if (word.empty())
    return inputError("sharding '{0}': a dim is empty; write - for a whole one", whole);
  if (word.consume_back("}")) {
    auto [names, text] = word.split('{');
    std::optional<llvm::SmallVector<int64_t, 4>> sizes = parseParts(text);
    if (!sizes)
      return inputError("sharding '{0}': '{1}' are no sizes of two parts or more", whole, text);
    setParts(sharding.parted, sharding.numDims(), *sizes);
    word = names;
  }
  if (word.consume_front("(") != word.consume_back(")"))
    return inputError("sharding '{0}': '{1}' has only one parenthesis", whole, word);
  if (word != "-")
    if (llvm::Error error = parseAxes(word, mesh, whole, axes))
      return error;
  sharding.dims.push_back(std::move(axes));
  return llvm::Error::success();
}

/// `sum{x3}` after the brackets.
llvm::Error parsePartial(llvm::StringRef tail, const Mesh &mesh, llvm::StringRef whole, Sharding &sharding) {
  auto [name, axes] = tail.split('{');
  std::optional<Combiner> combiner = parseCombiner(name.trim());
  if (!combiner || !axes.consume_back("}"))
    return inputError("sharding '{0}': '{1}' is not a combiner and its axes; write for instance sum{{x0}", whole, tail);
  sharding.combiner = *combiner;
  if (llvm::Error error = parseAxes(axes, mesh, whole, sharding.partial))
    return error;
  llvm::sort(sharding.partial);
  return llvm::Error::success();
}

/// Parts belong to a dim that is cut, and make it up.
llvm::Error checkParts(const Sharding &sharding, const TensorShape &shape) {
  for (auto [index, entry] : llvm::enumerate(sharding.parted)) {
    bool isKnown = entry.dim < sharding.numDims() && (index == 0 || sharding.parted[index - 1].dim < entry.dim);
    if (!isKnown || sharding.dims[entry.dim].empty())
      return inputError("dim {0}: has parts {1}, but is not cut", entry.dim, partsText(entry.sizes));
    bool arePositive = llvm::all_of(entry.sizes, [](int64_t size) { return size > 0; });
    int64_t sum = std::accumulate(entry.sizes.begin(), entry.sizes.end(), int64_t(0));
    if (entry.sizes.size() < 2 || !arePositive || sum != shape.dims[entry.dim])
      return inputError("dim {0}: the parts {1} do not make up its {2} elements", entry.dim, partsText(entry.sizes),
                        shape.dims[entry.dim]);
  }
  return llvm::Error::success();
}

} // namespace

llvm::StringRef combinerName(Combiner combiner) { return combinerNames[static_cast<size_t>(combiner)]; }

std::optional<Combiner> parseCombiner(llvm::StringRef name) {
  for (size_t i = 0; i < std::size(combinerNames); ++i)
    if (combinerNames[i] == name)
      return static_cast<Combiner>(i);
  return std::nullopt;
}

int64_t TensorShape::numElements() const {
  int64_t product = 1;
  for (int64_t dim : dims)
    product = saturatingMultiply(product, dim);
  return product;
}

int64_t TensorShape::bytes() const {
  int64_t bits = saturatingMultiply(numElements(), elementBits);
  return llvm::divideCeilSigned(bits, 8);
}

Sharding Sharding::replicated(unsigned numDims) {
  Sharding sharding;
  sharding.dims.resize(numDims);
  return sharding;
}

bool Sharding::isReplicated() const {
  return partial.empty() && llvm::all_of(dims, [](const AxisList &axes) { return axes.empty(); });
}

AxisList Sharding::usedAxes() const {
  AxisList used;
  for (const AxisList &axes : dims)
    used.append(axes.begin(), axes.end());
  llvm::sort(used);
  return used;
}

TensorShape Sharding::anyShape() const {
  TensorShape shape;
  shape.dims.assign(dims.size(), 1);
  for (const PartedDim &entry : parted)
    if (entry.dim < numDims())
      shape.dims[entry.dim] = std::accumulate(entry.sizes.begin(), entry.sizes.end(), int64_t(0));
  return shape;
}

std::string Sharding::str(const Mesh &mesh) const {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    text += i == 0 ? "" : ", ";
    std::string names = axisNames(dims[i], mesh);
    text += dims[i].empty() ? "-" : dims[i].size() == 1 ? names : "(" + names + ")";
    text += partsText(partsOf(static_cast<unsigned>(i)));
  }
  text += "]";
  if (isPartial())
    text += " " + combinerName(combiner).str() + "{" + axisNames(partial, mesh) + "}";
  return text;
}

llvm::Expected<Sharding> Sharding::parse(llvm::StringRef text, const Mesh &mesh) {
  size_t close = text.find(']');
  llvm::StringRef head = text.substr(0, close).ltrim();
  if (close == llvm::StringRef::npos || !head.consume_front("["))
    return inputError("sharding '{0}': write its dims in brackets, for instance [x0, -, (x1 x2)]", text);
  Sharding sharding;
  llvm::SmallVector<llvm::StringRef> words;
  if (!head.trim().empty())
    head.split(words, ',');
  for (llvm::StringRef word : words)
    if (llvm::Error error = parseDim(word.trim(), mesh, text, sharding))
      return error;
  if (llvm::StringRef tail = text.substr(close + 1).trim(); !tail.empty())
    if (llvm::Error error = parsePartial(tail, mesh, text, sharding))
      return error;
  if (llvm::Error error = check(sharding, sharding.anyShape(), mesh))
    return error;
  return sharding;
}

bool operator<(const Sharding &a, const Sharding &b) {
  return std::tie(a.dims, a.partial, a.combiner, a.parted) < std::tie(b.dims, b.partial, b.combiner, b.parted);
}

llvm::Error check(const Sharding &sharding, const TensorShape &shape, const Mesh &mesh) {
  if (sharding.numDims() != shape.numDims())
    return inputError("a sharding of {0} dims does not fit a tensor of {1} dims", sharding.numDims(), shape.numDims());
  llvm::SmallVector<bool, 8> seen(mesh.numAxes(), false);
  auto use = [&](AxisId axis, const std::string &place) -> llvm::Error {
    if (axis.index() >= mesh.numAxes())
      return inputError("{0}: axis number {1} does not exist; the mesh {2} has {3} axes", place, axis.index(),
                        mesh.str(), mesh.numAxes());
    if (seen[axis.index()])
      return inputError("{0}: axis {1} is used twice in one tensor", place, mesh.axis(axis).name);
    seen[axis.index()] = true;
    return llvm::Error::success();
  };
  for (unsigned dim = 0; dim < sharding.numDims(); ++dim)
    for (AxisId axis : sharding.dims[dim])
      if (llvm::Error error = use(axis, "dim " + std::to_string(dim)))
        return error;
  for (AxisId axis : sharding.partial)
    if (llvm::Error error = use(axis, "partial axes"))
      return error;
  if (!llvm::is_sorted(sharding.partial))
    return inputError("the partial axes of a sharding are listed in ascending order");
  return checkParts(sharding, shape);
}

int64_t localSize(int64_t size, llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  for (AxisId axis : axes)
    size = llvm::divideCeilSigned(size, mesh.size(axis));
  return size;
}

TensorShape localShape(const TensorShape &shape, const Sharding &sharding, const Mesh &mesh) {
  TensorShape local = shape;
  for (unsigned dim = 0; dim < shape.numDims(); ++dim)
    local.dims[dim] = localSize(shape.dims[dim], sharding, dim, mesh);
  return local;
}

DimSlice dimSlice(int64_t size, llvm::ArrayRef<AxisId> axes, const Mesh &mesh, int64_t rank) {
  llvm::SmallVector<int64_t, 4> where = mesh.coordinates(rank);
  DimSlice slice{0, size};
  int64_t padded = size;
  for (AxisId axis : axes) {
    padded = llvm::divideCeilSigned(padded, mesh.size(axis));
    int64_t offset = where[axis.index()] * padded;
    slice.begin += offset;
    slice.count = std::clamp<int64_t>(slice.count - offset, 0, padded);
  }
  return slice;
}

} // namespace apc
