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

std::string sdyAxes(llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  auto names = llvm::map_range(axes, [&](AxisId axis) { return "\"" + mesh.axis(axis).name + "\""; });
  return "{" + llvm::join(names, ", ") + "}";
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
  if (!sharding.parted.empty())
    return llvm::formatv("a cut inside the parts of dim {0}, {1}", sharding.parted.front().dim, sharding.str(mesh));
  if (sharding.isPartial() && sharding.combiner != Combiner::Sum)
    return llvm::formatv("partial results that combine by {0}; sums are accepted", combinerName(sharding.combiner));
  for (auto [dim, size] : llvm::enumerate(value.dims))
    if (int64_t ways = mesh.size(sharding.dims[dim]); size % ways != 0)
      return llvm::formatv("dim {0} of {1} over {2} devices; dims that divide are accepted", dim, size, ways);
  return "";
}

} // namespace apc
