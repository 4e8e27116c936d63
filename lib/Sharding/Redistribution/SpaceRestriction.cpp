// Smaller search spaces for meshes of many axes, and the path without a search.
#include "SpaceRestriction.h"

#include <algorithm>

namespace apc {

namespace {

/// Where one axis is: in a dim with the axis behind it, or loose (idle or partial).
struct AxisPlace {
  bool inDim = false, partial = false;
  std::optional<AxisId> next;
};

std::vector<AxisPlace> placesOf(const Sharding &sharding, const Mesh &mesh) {
  std::vector<AxisPlace> places(mesh.numAxes());
  for (const AxisList &axes : sharding.dims)
    for (size_t i = 0; i < axes.size(); ++i) {
      places[axes[i].index()].inDim = true;
      if (i + 1 < axes.size())
        places[axes[i].index()].next = axes[i + 1];
    }
  for (AxisId axis : sharding.partial)
    places[axis.index()].partial = true;
  return places;
}

/// Groups axes that stay together from `from` to `to`.
class UnitMerger {
public:
  UnitMerger(const Sharding &from, const Sharding &to, const Mesh &mesh)
      : mesh(mesh), before(placesOf(from, mesh)), after(placesOf(to, mesh)) {}

  llvm::SmallVector<AxisList, 8> run() {
    std::vector<std::optional<AxisId>> behind(mesh.numAxes());
    std::vector<bool> follows(mesh.numAxes(), false);
    for (unsigned i = 0; i < mesh.numAxes(); ++i)
      if (std::optional<AxisId> next = companion(AxisId(i)); next && moves(AxisId(i)) && !follows[next->index()]) {
        behind[i] = next;
        follows[next->index()] = true;
      }
    llvm::SmallVector<AxisList, 8> units;
    for (unsigned i = 0; i < mesh.numAxes(); ++i) {
      if (follows[i] || !moves(AxisId(i)))
        continue;
      units.emplace_back();
      for (std::optional<AxisId> axis = AxisId(i); axis; axis = behind[axis->index()])
        units.back().push_back(*axis);
    }
    return units;
  }

private:
  /// Idle before and after, or partial before and after: nothing to do for this axis.
  bool moves(AxisId axis) const {
    const AxisPlace &a = before[axis.index()], &b = after[axis.index()];
    return a.inDim || b.inDim || a.partial != b.partial;
  }

  static bool looseAlike(const AxisPlace &a, const AxisPlace &b) {
    return !a.inDim && !b.inDim && a.partial == b.partial;
  }

  static bool together(const std::vector<AxisPlace> &places, AxisId a, AxisId b) {
    const AxisPlace &first = places[a.index()];
    return first.inDim ? first.next == b : looseAlike(first, places[b.index()]);
  }

  /// The axis right behind `axis`, before and after.
  std::optional<AxisId> companion(AxisId axis) const {
    const AxisPlace &a = before[axis.index()], &b = after[axis.index()];
    std::optional<AxisId> next = a.inDim ? a.next : b.next;
    if (!a.inDim && !b.inDim)
      for (unsigned i = axis.index() + 1; i < mesh.numAxes() && !next; ++i)
        if (moves(AxisId(i)) && together(before, axis, AxisId(i)) && together(after, axis, AxisId(i)))
          next = AxisId(i);
    if (next && together(before, axis, *next) && together(after, axis, *next))
      return next;
    return std::nullopt;
  }

  const Mesh &mesh;
  std::vector<AxisPlace> before, after;
};

size_t commonPrefix(llvm::ArrayRef<AxisId> a, llvm::ArrayRef<AxisId> b) {
  size_t length = 0;
  while (length < std::min(a.size(), b.size()) && a[length] == b[length])
    ++length;
  return length;
}

} // namespace

std::optional<SearchSpace> restrictSpace(const Sharding &from, const Sharding &to, const TensorShape &shape,
                                         const Mesh &mesh) {
  SearchSpace space;
  space.units = UnitMerger(from, to, mesh).run();
  std::set_intersection(from.partial.begin(), from.partial.end(), to.partial.begin(), to.partial.end(),
                        std::back_inserter(space.staysPartial));
  llvm::SmallVector<unsigned, 8> spare;
  llvm::SmallVector<unsigned, 8> cut;
  for (unsigned dim = 0; dim < shape.numDims(); ++dim)
    (from.dims[dim].empty() && to.dims[dim].empty() ? spare : cut).push_back(dim);
  PartedDims parted = from.parted;
  llvm::copy_if(to.parted, std::back_inserter(parted),
                [&](const PartedDim &entry) { return !llvm::is_contained(from.parted, entry); });
  size_t numCut = cut.size() + parted.size();
  llvm::sort(spare, [&](unsigned a, unsigned b) {
    return shape.dims[a] != shape.dims[b] ? shape.dims[a] > shape.dims[b] : a < b;
  });
  spare.truncate(std::min<size_t>(spare.size(), 2));
  while (!spare.empty() && !ShardingGraph::fits(numCut + spare.size(), space.units.size()))
    spare.pop_back();
  llvm::append_range(cut, spare);
  llvm::sort(cut);
  for (unsigned dim : cut)
    space.addDim(dim, {});
  for (const PartedDim &entry : parted)
    space.addDim(entry.dim, entry.sizes);
  if (!ShardingGraph::fits(space.dims.size(), space.units.size()))
    return std::nullopt;
  return space;
}

Redistribution directPath(const Sharding &from, const Sharding &to, const TensorShape &shape, const Mesh &mesh,
                          const SecondsOfCollective &cost) {
  Redistribution path;
  Sharding now = from;
  auto take = [&](CollectiveKind kind, AxisList axes, unsigned fromDim, unsigned toDim, Sharding result) {
    int64_t before = localShape(shape, now, mesh).bytes(), after = localShape(shape, result, mesh).bytes();
    Combiner combiner = isReduction(kind) ? from.combiner : Combiner::Sum;
    Collective collective{kind,   std::move(axes), fromDim,  toDim,        std::move(result),
                          before, after,           combiner, shape.bytes()};
    now = collective.result;
    path.seconds += cost(collective);
    path.collectives.push_back(std::move(collective));
  };
  Sharding settled = now;
  settled.partial = to.partial;
  settled.combiner = to.isPartial() ? from.combiner : Combiner::Sum;
  AxisList settling;
  std::set_difference(from.partial.begin(), from.partial.end(), to.partial.begin(), to.partial.end(),
                      std::back_inserter(settling));
  if (!settling.empty())
    take(CollectiveKind::AllReduce, settling, 0, 0, settled);
  for (unsigned dim = 0; dim < shape.numDims(); ++dim) {
    size_t keep = from.partsOf(dim) == to.partsOf(dim) ? commonPrefix(from.dims[dim], to.dims[dim]) : 0;
    Sharding gathered = now;
    gathered.dims[dim].truncate(keep);
    if (keep == 0)
      setParts(gathered.parted, dim, {});
    if (gathered != now)
      take(CollectiveKind::AllGather, AxisList(llvm::drop_begin(from.dims[dim], keep)), dim, 0, gathered);
  }
  for (unsigned dim = 0; dim < shape.numDims(); ++dim) {
    size_t held = now.dims[dim].size();
    Sharding sliced = now;
    sliced.dims[dim] = to.dims[dim];
    setParts(sliced.parted, dim, to.partsOf(dim));
    if (sliced != now)
      take(CollectiveKind::Slice, AxisList(llvm::drop_begin(to.dims[dim], held)), 0, dim, sliced);
  }
  return path;
}

} // namespace apc
