// Collectives by their definitions, element by element.
#include "ElementGrid.h"

#include <numeric>

namespace apc::test {

namespace {

int64_t up(int64_t size, int64_t pieces) { return (size + pieces - 1) / pieces; }

/// Calls `visit(coordinates)` for every point of a box.
template <typename Visit>
void forEachPoint(const std::vector<int64_t> &extents, const Visit &visit) {
  int64_t count = std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
  std::vector<int64_t> at(extents.size(), 0);
  for (int64_t flat = 0; flat < count; ++flat) {
    visit(std::as_const(at));
    for (size_t dim = extents.size(); dim-- > 0;) {
      if (++at[dim] < extents[dim])
        break;
      at[dim] = 0;
    }
  }
}

/// The place of a point in a box, read with another coordinate along one dim.
int64_t flatIndex(const std::vector<int64_t> &extents, const std::vector<int64_t> &at, size_t otherDim = ~size_t(0),
                  int64_t other = 0) {
  int64_t flat = 0;
  for (size_t dim = 0; dim < extents.size(); ++dim)
    flat = flat * extents[dim] + (dim == otherDim ? other : at[dim]);
  return flat;
}

/// REQUIRE for the inner loops, which pass millions of times.
void expect(bool holds, const char *what) {
  if (!holds)
    FAIL("a collective does not hold: " << what);
}

/// Any function that tells elements and terms apart.
int64_t termOf(int64_t element, int64_t term) { return (element * 31 + term * 17 + element * term * 7) % 9973 + 1; }

} // namespace

/// A rank's value of one element: the sum of the terms with its own coordinates along the axes still partial.
int64_t ElementGrid::valueAt(int64_t element, llvm::ArrayRef<int64_t> where, const AxisList &termAxes) const {
  int64_t sum = 0, terms = mesh.size(termAxes);
  for (int64_t term = 0; term < terms; ++term) {
    int64_t rest = term;
    bool mine = true;
    for (AxisId axis : llvm::reverse(termAxes)) {
      mine &= !llvm::is_contained(layout.partial, axis) || rest % mesh.size(axis) == where[axis.index()];
      rest /= mesh.size(axis);
    }
    sum += mine ? termOf(element, term) : 0;
  }
  return sum;
}

ElementGrid ElementGrid::make(const TensorShape &shape, const Sharding &layout, const AxisList &termAxes,
                              const Mesh &mesh) {
  ElementGrid grid(shape, layout, mesh);
  std::vector<int64_t> whole(shape.dims.begin(), shape.dims.end());
  for (int64_t rank = 0; rank < mesh.numDevices(); ++rank) {
    auto where = mesh.coordinates(rank);
    Piece &piece = grid.pieces[rank];
    std::vector<int64_t> begin, end;
    for (unsigned dim = 0; dim < shape.numDims(); ++dim) {
      // The nested definition: each axis cuts the padded piece that is left, with ceil.
      int64_t padded = whole[dim], first = 0, last = whole[dim];
      for (AxisId axis : layout.dims[dim]) {
        padded = up(padded, mesh.size(axis));
        first += where[axis.index()] * padded;
        last = std::min(last, first + padded);
      }
      piece.extents.push_back(padded);
      begin.push_back(first);
      end.push_back(last);
    }
    forEachPoint(piece.extents, [&](const std::vector<int64_t> &at) {
      std::vector<int64_t> global(at);
      bool pad = false;
      for (size_t dim = 0; dim < at.size(); ++dim) {
        global[dim] += begin[dim];
        pad |= global[dim] >= end[dim];
      }
      piece.values.push_back(pad ? kPoison : grid.valueAt(flatIndex(whole, global), where, termAxes));
    });
  }
  return grid;
}

bool ElementGrid::holdsSame(const ElementGrid &other) const {
  for (size_t rank = 0; rank < pieces.size(); ++rank) {
    const Piece &mine = pieces[rank], &theirs = other.pieces[rank];
    if (mine.extents != theirs.extents || mine.values.size() != theirs.values.size())
      return false;
    for (size_t i = 0; i < mine.values.size(); ++i)
      if (theirs.values[i] != kPoison && mine.values[i] != theirs.values[i])
        return false;
  }
  return true;
}

/// Each rank keeps one part; a part may begin beyond the end and is pad then.
void ElementGrid::slice(unsigned dim, const AxisList &axes) {
  for (int64_t rank = 0; rank < mesh.numDevices(); ++rank) {
    auto where = mesh.coordinates(rank);
    for (AxisId axis : axes) {
      const Piece before = pieces[rank];
      Piece after;
      after.extents = before.extents;
      after.extents[dim] = up(before.extents[dim], mesh.size(axis));
      int64_t offset = where[axis.index()] * after.extents[dim];
      forEachPoint(after.extents, [&](const std::vector<int64_t> &at) {
        int64_t source = at[dim] + offset;
        bool pad = source >= before.extents[dim];
        after.values.push_back(pad ? kPoison : before.values[flatIndex(before.extents, at, dim, source)]);
      });
      pieces[rank] = std::move(after);
    }
  }
  llvm::append_range(layout.dims[dim], axes);
}

/// The minor axes go, most minor first; pieces are joined and the pad at the end of the joined piece is dropped.
void ElementGrid::gather(unsigned dim, const AxisList &axes) {
  for (AxisId axis : llvm::reverse(axes)) {
    expect(!layout.dims[dim].empty(), "layout.dims[dim].empty()");
    expect(layout.dims[dim].back() == axis, "layout.dims[dim].back() == axis");
    layout.dims[dim].pop_back();
    int64_t extent = shape.dims[dim];
    for (AxisId outer : layout.dims[dim])
      extent = up(extent, mesh.size(outer));
    const std::vector<Piece> before = pieces;
    for (int64_t rank = 0; rank < mesh.numDevices(); ++rank) {
      Piece after;
      after.extents = before[rank].extents;
      int64_t part = after.extents[dim];
      after.extents[dim] = extent;
      std::vector<int64_t> holders = mesh.group(rank, {axis});
      forEachPoint(after.extents, [&](const std::vector<int64_t> &at) {
        const Piece &from = before[holders[at[dim] / part]];
        after.values.push_back(from.values[flatIndex(from.extents, at, dim, at[dim] % part)]);
      });
      pieces[rank] = std::move(after);
    }
  }
}

void ElementGrid::reduce(const AxisList &axes) {
  const std::vector<Piece> before = pieces;
  for (int64_t rank = 0; rank < mesh.numDevices(); ++rank) {
    std::vector<int64_t> members = mesh.group(rank, axes);
    for (size_t i = 0; i < pieces[rank].values.size(); ++i) {
      int64_t sum = 0;
      bool pad = false;
      for (int64_t member : members) {
        pad |= before[member].values[i] == kPoison;
        sum += before[member].values[i];
      }
      pieces[rank].values[i] = pad ? kPoison : sum;
    }
  }
  AxisList left;
  for (AxisId axis : layout.partial)
    if (!llvm::is_contained(axes, axis))
      left.push_back(axis);
  expect(left.size() + axes.size() == layout.partial.size(), "left.size() + axes.size() == layout.partial.size()");
  layout.partial = left;
}

/// Which piece of each dim a rank holds: its coordinates along the dim's axes read as one number.
std::vector<int64_t> ElementGrid::pieceIndex(int64_t rank, const Sharding &of) const {
  auto where = mesh.coordinates(rank);
  std::vector<int64_t> index;
  for (const AxisList &axes : of.dims) {
    index.push_back(0);
    for (AxisId axis : axes)
      index.back() = index.back() * mesh.size(axis) + where[axis.index()];
  }
  return index;
}

/// In each group, the k-th rank that needs a piece gets it from the k-th rank that holds it; so every rank sends to
/// exactly one and receives from exactly one.
void ElementGrid::permute(const AxisList &axes, const Sharding &result) {
  expect(result.partial == layout.partial, "result.partial == layout.partial");
  const std::vector<Piece> before = pieces;
  for (int64_t rank = 0; rank < mesh.numDevices(); ++rank) {
    std::vector<int64_t> needed = pieceIndex(rank, result), holders;
    size_t mine = 0, needers = 0;
    for (int64_t member : mesh.group(rank, axes)) {
      if (pieceIndex(member, layout) == needed)
        holders.push_back(member);
      if (pieceIndex(member, result) == needed) {
        mine = member == rank ? needers : mine;
        ++needers;
      }
    }
    expect(holders.size() == needers, "holders.size() == needers");
    expect(before[holders[mine]].extents == before[rank].extents,
           "before[holders[mine]].extents == before[rank].extents");
    pieces[rank] = before[holders[mine]];
  }
  layout.dims = result.dims;
}

void ElementGrid::apply(const Collective &collective) {
  auto bytes = [&] { return (static_cast<int64_t>(pieces[0].values.size()) * shape.elementBits + 7) / 8; };
  expect(collective.inputBytes == bytes(), "collective.inputBytes == bytes()");
  expect(!collective.axes.empty(), "collective.axes.empty()");
  switch (collective.kind) {
  case CollectiveKind::AllGather:
    gather(collective.fromDim, collective.axes);
    break;
  case CollectiveKind::Slice:
    slice(collective.toDim, collective.axes);
    break;
  case CollectiveKind::AllToAll:
    expect(collective.fromDim != collective.toDim, "collective.fromDim != collective.toDim");
    gather(collective.fromDim, collective.axes);
    slice(collective.toDim, collective.axes);
    break;
  case CollectiveKind::ReduceScatter:
    reduce(collective.axes);
    slice(collective.toDim, collective.axes);
    break;
  case CollectiveKind::AllReduce:
    reduce(collective.axes);
    break;
  case CollectiveKind::Permute:
    permute(collective.axes, collective.result);
    break;
  }
  if (!layout.isPartial())
    layout.combiner = Combiner::Sum;
  expect(collective.result == layout, "collective.result == layout");
  expect(collective.outputBytes == bytes(), "collective.outputBytes == bytes()");
}

std::vector<Sharding> allShardings(unsigned numDims, const Mesh &mesh, bool withPartial) {
  std::vector<Sharding> list{Sharding::replicated(numDims)};
  for (unsigned i = 0; i < mesh.numAxes(); ++i) {
    std::vector<Sharding> longer;
    for (const Sharding &each : list) {
      longer.push_back(each);
      if (withPartial) {
        longer.push_back(each);
        longer.back().partial.push_back(AxisId(i));
      }
      for (unsigned dim = 0; dim < numDims; ++dim)
        for (size_t place = 0; place <= each.dims[dim].size(); ++place) {
          longer.push_back(each);
          longer.back().dims[dim].insert(longer.back().dims[dim].begin() + place, AxisId(i));
        }
    }
    list = std::move(longer);
  }
  return list;
}

} // namespace apc::test
