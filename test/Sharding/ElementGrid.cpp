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

/// Where a place of a dim lies: in which of its parts, and how far behind the part's begin.
struct Place {
  size_t part = 0;
  int64_t offset = 0;
};

Place placeIn(const std::vector<int64_t> &parts, int64_t at) {
  size_t part = 0;
  for (; at >= parts[part]; ++part)
    at -= parts[part];
  return {part, at};
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
    std::vector<std::vector<int64_t>> elements; // by dim: the element at each place of the piece, -1 for pad
    for (unsigned dim = 0; dim < shape.numDims(); ++dim) {
      elements.push_back(grid.elementsOf(dim, where));
      piece.extents.push_back(static_cast<int64_t>(elements.back().size()));
    }
    forEachPoint(piece.extents, [&](const std::vector<int64_t> &at) {
      std::vector<int64_t> global(at);
      bool pad = false;
      for (size_t dim = 0; dim < at.size(); ++dim) {
        global[dim] = elements[dim][at[dim]];
        pad |= global[dim] < 0;
      }
      piece.values.push_back(pad ? kPoison : grid.valueAt(flatIndex(whole, global), where, termAxes));
    });
  }
  return grid;
}

/// The nested definition, part by part: each axis cuts the padded piece that is left, with ceil.
std::vector<int64_t> ElementGrid::elementsOf(unsigned dim, llvm::ArrayRef<int64_t> where) const {
  std::vector<int64_t> elements;
  int64_t begin = 0;
  for (int64_t size : partsIn(dim)) {
    int64_t padded = size, first = begin, last = begin + size;
    for (AxisId axis : layout.dims[dim]) {
      padded = up(padded, mesh.size(axis));
      first += where[axis.index()] * padded;
      last = std::min(last, first + padded);
    }
    for (int64_t i = 0; i < padded; ++i)
      elements.push_back(first + i < last ? first + i : -1);
    begin += size;
  }
  return elements;
}

std::vector<int64_t> ElementGrid::partsIn(unsigned dim) const {
  for (const PartedDim &entry : layout.parted)
    if (entry.dim == dim)
      return {entry.sizes.begin(), entry.sizes.end()};
  return {shape.dims[dim]};
}

/// The extents of the parts in a piece.
std::vector<int64_t> ElementGrid::heldParts(unsigned dim) const {
  std::vector<int64_t> sizes = partsIn(dim);
  for (int64_t &size : sizes)
    for (AxisId axis : layout.dims[dim])
      size = up(size, mesh.size(axis));
  return sizes;
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

/// Each rank keeps one piece of each part; a piece may begin beyond the end and is pad then.
void ElementGrid::slice(unsigned dim, const AxisList &axes, llvm::ArrayRef<int64_t> parts) {
  if (layout.dims[dim].empty() && !parts.empty())
    layout.parted.push_back({dim, {parts.begin(), parts.end()}});
  llvm::sort(layout.parted);
  for (AxisId axis : axes) {
    std::vector<int64_t> whole = heldParts(dim);
    layout.dims[dim].push_back(axis);
    std::vector<int64_t> kept = heldParts(dim);
    for (int64_t rank = 0; rank < mesh.numDevices(); ++rank) {
      const Piece before = pieces[rank];
      Piece after;
      after.extents = before.extents;
      after.extents[dim] = std::accumulate(kept.begin(), kept.end(), int64_t(0));
      forEachPoint(after.extents, [&](const std::vector<int64_t> &at) {
        Place place = placeIn(kept, at[dim]);
        int64_t inPart = place.offset + mesh.coordinates(rank)[axis.index()] * kept[place.part];
        bool pad = inPart >= whole[place.part];
        int64_t source = std::accumulate(whole.begin(), whole.begin() + place.part, inPart);
        after.values.push_back(pad ? kPoison : before.values[flatIndex(before.extents, at, dim, source)]);
      });
      pieces[rank] = std::move(after);
    }
  }
}

/// The minor axes go, most minor first; pieces of each part are joined and the pad at the end of the joined part is
/// dropped.
void ElementGrid::gather(unsigned dim, const AxisList &axes) {
  for (AxisId axis : llvm::reverse(axes)) {
    expect(!layout.dims[dim].empty(), "layout.dims[dim].empty()");
    expect(layout.dims[dim].back() == axis, "layout.dims[dim].back() == axis");
    std::vector<int64_t> held = heldParts(dim);
    layout.dims[dim].pop_back();
    std::vector<int64_t> joined = heldParts(dim);
    const std::vector<Piece> before = pieces;
    for (int64_t rank = 0; rank < mesh.numDevices(); ++rank) {
      Piece after;
      after.extents = before[rank].extents;
      after.extents[dim] = std::accumulate(joined.begin(), joined.end(), int64_t(0));
      std::vector<int64_t> holders = mesh.group(rank, {axis});
      forEachPoint(after.extents, [&](const std::vector<int64_t> &at) {
        Place place = placeIn(joined, at[dim]);
        const Piece &from = before[holders[place.offset / held[place.part]]];
        int64_t source = std::accumulate(held.begin(), held.begin() + place.part, place.offset % held[place.part]);
        after.values.push_back(from.values[flatIndex(from.extents, at, dim, source)]);
      });
      pieces[rank] = std::move(after);
    }
    if (layout.dims[dim].empty())
      llvm::erase_if(layout.parted, [&](const PartedDim &entry) { return entry.dim == dim; });
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
  expect(result.parted == layout.parted, "result.parted == layout.parted");
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
    slice(collective.toDim, collective.axes, collective.result.partsOf(collective.toDim));
    break;
  case CollectiveKind::AllToAll:
    expect(collective.fromDim != collective.toDim, "collective.fromDim != collective.toDim");
    gather(collective.fromDim, collective.axes);
    slice(collective.toDim, collective.axes, collective.result.partsOf(collective.toDim));
    break;
  case CollectiveKind::ReduceScatter:
    reduce(collective.axes);
    slice(collective.toDim, collective.axes, collective.result.partsOf(collective.toDim));
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

std::vector<Sharding> withParts(std::vector<Sharding> list, llvm::ArrayRef<PartedDim> parted) {
  for (const PartedDim &entry : parted)
    for (size_t i = 0, count = list.size(); i < count; ++i)
      if (!list[i].dims[entry.dim].empty() && list[i].partsOf(entry.dim).empty()) {
        list.push_back(list[i]);
        setParts(list.back().parted, entry.dim, entry.sizes);
      }
  return list;
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
