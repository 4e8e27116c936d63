// Shardings, axes and meshes as Shardy's parser reads them.
#include "SdyText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace apc {

std::string SdyValue::type() const {
  std::string text = "tensor<";
  llvm::raw_string_ostream os(text);
  for (int64_t size : dims)
    os << size << "x";
  os << element << ">";
  return text;
}

bool hasDimOfSummands(const Sharding &sharding) { return sharding.isPartial() && sharding.combiner != Combiner::Sum; }

Sharding sdyHeld(const Sharding &sharding) {
  Sharding held = sharding;
  if (!hasDimOfSummands(sharding))
    return held;
  held.dims.insert(held.dims.begin(), held.partial);
  held.partial.clear(), held.combiner = Combiner::Sum;
  for (PartedDim &parted : held.parted)
    ++parted.dim;
  return held;
}

std::vector<SdyValue> sdyParts(const SdyValue &whole, const Mesh &mesh) {
  SdyValue plain = whole;
  plain.sharding = sdyHeld(whole.sharding);
  if (hasDimOfSummands(whole.sharding))
    plain.dims.insert(plain.dims.begin(), mesh.size(whole.sharding.partial));
  PartedDims cuts = std::exchange(plain.sharding.parted, {});
  std::vector<SdyValue> parts = {plain};
  for (const PartedDim &parted : cuts) {
    std::vector<SdyValue> finer;
    for (const SdyValue &part : parts)
      for (int64_t size : parted.sizes) {
        finer.push_back(part);
        finer.back().dims[parted.dim] = size;
      }
    parts = std::move(finer);
  }
  return parts;
}

std::string sdyAxes(llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  auto names = llvm::map_range(axes, [&](AxisId axis) { return "\"" + mesh.axis(axis).name + "\""; });
  return "{" + llvm::join(names, ", ") + "}";
}

std::string sdyInts(llvm::ArrayRef<int64_t> values) {
  return "array<i64: " +
         llvm::join(llvm::map_range(values, [](int64_t value) { return std::to_string(value); }), ", ") + ">";
}

std::string sdySharding(const Sharding &sharding, const Mesh &mesh) {
  auto dims = llvm::map_range(sharding.dims, [&](const AxisList &axes) { return sdyAxes(axes, mesh); });
  std::string text = "<@mesh, [" + llvm::join(dims, ", ") + "]";
  if (sharding.isPartial())
    text += ", unreduced=" + sdyAxes(sharding.partial, mesh);
  return text + ">";
}

std::string sdyMesh(const Mesh &mesh) {
  auto axes = llvm::map_range(
      mesh.getAxes(), [](const MeshAxis &axis) { return llvm::formatv("\"{0}\"={1}", axis.name, axis.size).str(); });
  return "sdy.mesh @mesh = <[" + llvm::join(axes, ", ") + "]>\n";
}

std::string sdyRefusal(const SdyValue &value, const Mesh &mesh) {
  const Sharding &sharding = value.sharding;
  for (auto [dim, size] : llvm::enumerate(value.dims)) {
    int64_t ways = mesh.size(sharding.dims[dim]);
    llvm::SmallVector<int64_t, 4> parts(sharding.partsOf(static_cast<unsigned>(dim)));
    for (int64_t part : parts.empty() ? llvm::SmallVector<int64_t, 4>{size} : parts)
      if (part % ways != 0)
        return llvm::formatv("dim {0} of {1} over {2} devices; dims that divide are accepted", dim, part, ways);
  }
  return "";
}

} // namespace apc
