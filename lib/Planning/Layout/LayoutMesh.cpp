// Degrees of a layout on the levels of a pool.
#include "LayoutMesh.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <numeric>

namespace apc {

AxisList LayoutMesh::replicas() const {
  AxisList axes = data;
  axes.append(context);
  llvm::sort(axes);
  return axes;
}

bool LayoutMesh::hasWholeGroups() const {
  return llvm::all_of(replicas(), [&](AxisId axis) {
    return llvm::is_contained(storage, axis) || storage.empty() || axis < storage.front();
  });
}

namespace {

/// The degrees from the innermost one outwards. tp, cp and dp are in two parts each, of which experts, or the ranks of
/// a shard, take the first.
enum Degree : uint8_t { InnerTensor, Tensor, InnerContext, Context, InnerData, Data, NumDegrees };

struct Axis {
  int64_t size;
  unsigned level;
  Degree degree;
};

} // namespace

std::optional<LayoutMesh> arrangeLayout(const Pool &pool, const ParallelDegrees &layout) {
  assert((!layout.shard || (layout.experts == 1 && !layout.hasWholeExperts())) && "experts have ranks of their own");
  const int64_t inner = layout.shard.value_or(layout.experts);
  const int64_t ofTensor = layout.hasWholeExperts() ? std::gcd(inner, layout.tensor) : 1;
  const int64_t ofContext = std::gcd(inner / ofTensor, layout.context), ofData = inner / ofTensor / ofContext;
  std::array<int64_t, NumDegrees> left = {ofTensor, layout.tensor / ofTensor, ofContext, layout.context / ofContext,
                                          ofData,   layout.data / ofData};
  llvm::SmallVector<int64_t, 4> sizes = pool.levelSizes();
  std::vector<Axis> parts; // innermost first
  for (size_t level = sizes.size(); level-- > 0;)
    for (uint8_t degree = 0; degree < NumDegrees; ++degree) {
      int64_t taken = std::gcd(sizes[level], left[degree]);
      sizes[level] /= taken;
      left[degree] /= taken;
      if (taken > 1)
        parts.push_back({taken, static_cast<unsigned>(level), Degree(degree)});
    }
  if (llvm::any_of(left, [](int64_t size) { return size > 1; }))
    return std::nullopt;
  LayoutMesh result;
  std::vector<MeshAxis> axes;
  for (const Axis &part : llvm::reverse(parts)) {
    AxisId axis(axes.size());
    axes.push_back({"x" + std::to_string(axes.size()), part.size, part.level});
    const bool isTensor = part.degree == Tensor || part.degree == InnerTensor;
    const bool isContext = part.degree == Context || part.degree == InnerContext;
    (isTensor ? result.tensor : isContext ? result.context : result.data).push_back(axis);
    if (part.degree == InnerTensor || part.degree == InnerContext || part.degree == InnerData)
      (layout.shard ? result.storage : result.experts).push_back(axis);
  }
  if (!layout.shard)
    result.storage = result.replicas();
  result.mesh = Mesh(std::move(axes));
  return result;
}

} // namespace apc
