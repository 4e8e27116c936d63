// States and collectives of the redistribution graph.
#include "ShardingGraph.h"

#include <algorithm>
#include <numeric>

namespace apc {

namespace {

/// Calls `visit` with every ordered choice of at least one of `units`: {a, b} -> a, ab, b, ba.
template <typename Visit>
void forEachSequence(llvm::ArrayRef<uint8_t> units, llvm::SmallVector<uint8_t, 4> &chosen, const Visit &visit) {
  for (uint8_t unit : units) {
    if (llvm::is_contained(chosen, unit))
      continue;
    chosen.push_back(unit);
    visit(chosen);
    forEachSequence(units, chosen, visit);
    chosen.pop_back();
  }
}

} // namespace

size_t ShardingGraph::countStates(unsigned numDims, unsigned numUnits) {
  // Choose k of the units to cut dims; they stand in numDims ordered lists in numDims (numDims + 1) ... (numDims + k -
  // 1) ways; each of the others is free or partial.
  if (numUnits > maxUnits || numDims > maxDims)
    return maxStates + 1;
  size_t total = 0, choices = 1, orders = 1;
  for (unsigned k = 0; k <= numUnits; ++k) {
    total += choices * orders << (numUnits - k);
    choices = choices * (numUnits - k) / (k + 1);
    orders *= numDims + k;
  }
  return std::min<size_t>(total, maxStates + 1);
}

bool ShardingGraph::fits(unsigned numDims, unsigned numUnits) { return countStates(numDims, numUnits) <= maxStates; }

ShardingGraph::ShardingGraph(unsigned numDims, llvm::ArrayRef<int64_t> unitSizes) : numDims(numDims), sizes(unitSizes) {
  assert(fits(numDims, sizes.size()) && "too many shardings for a graph");
  size_t count = countStates(numDims, sizes.size());
  keys.reserve(count);
  index.reserve(count);
  for (uint32_t mask = 0; mask < (1u << sizes.size()); ++mask) {
    UnitLists lists;
    lists.dims.resize(numDims);
    enumerate(0, mask, lists);
    if (mask == 0)
      wholeStates = keys.size();
  }
  groupByCuts();
  allEdges.resize(keys.size());
  expanded.resize(keys.size(), false);
}

/// Puts `unit` everywhere it can be: partial if the mask says so, else free or at any position of any dim.
void ShardingGraph::enumerate(unsigned unit, uint32_t partialMask, UnitLists &lists) {
  if (unit == sizes.size()) {
    addState(lists);
    return;
  }
  auto id = static_cast<uint8_t>(unit);
  llvm::SmallVector<uint8_t, 8> &loose = (partialMask >> unit & 1) != 0 ? lists.partial : lists.free;
  loose.push_back(id);
  enumerate(unit + 1, partialMask, lists);
  loose.pop_back();
  if ((partialMask >> unit & 1) != 0)
    return;
  for (auto &dim : lists.dims)
    for (size_t position = 0; position <= dim.size(); ++position) {
      dim.insert(dim.begin() + position, id);
      enumerate(unit + 1, partialMask, lists);
      dim.erase(dim.begin() + position);
    }
}

void ShardingGraph::addState(const UnitLists &lists) {
  ShardingKey key;
  for (uint8_t unit : lists.free)
    key.setPlace(unit, ShardingKey::free);
  for (uint8_t unit : lists.partial)
    key.setPlace(unit, ShardingKey::partial);
  size_t first = strides.size();
  strides.resize(first + numUnits());
  for (unsigned dim = 0; dim < numDims; ++dim) {
    int64_t cut = 1;
    for (size_t position = lists.dims[dim].size(); position-- > 0;) {
      uint8_t unit = lists.dims[dim][position];
      key.setPlace(unit, ShardingKey::inDim(dim, position));
      strides[first + unit] = uint64_t(dim + 1) << 48 | static_cast<uint64_t>(cut);
      cut *= sizes[unit];
    }
    allCuts.push_back(cut);
  }
  // A unit of size 1 changes no stride; its place tells where it is.
  for (unsigned unit = 0; unit < numUnits(); ++unit)
    if (strides[first + unit] == 0 || sizes[unit] == 1)
      strides[first + unit] = key.place(unit);
  index.try_emplace(key.value(), static_cast<uint32_t>(keys.size()));
  keys.push_back(key);
}

void ShardingGraph::groupByCuts() {
  auto partialUnits = [&](uint32_t state) {
    uint32_t mask = 0;
    for (unsigned unit = 0; unit < numUnits(); ++unit)
      mask |= uint32_t(keys[state].place(unit) == ShardingKey::partial) << unit;
    return mask;
  };
  std::vector<uint32_t> masks(keys.size()), order(keys.size());
  for (uint32_t state = 0; state < keys.size(); ++state)
    masks[state] = partialUnits(state);
  std::iota(order.begin(), order.end(), 0);
  auto compare = [&](uint32_t a, uint32_t b) {
    if (masks[a] != masks[b])
      return masks[a] < masks[b] ? -1 : 1;
    auto x = cuts(a), y = cuts(b);
    auto [i, j] = std::mismatch(x.begin(), x.end(), y.begin());
    return i == x.end() ? 0 : *i < *j ? -1 : 1;
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    int sign = compare(a, b);
    return sign != 0 ? sign < 0 : a < b;
  });
  cliqueOf.resize(keys.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0)
      cliques.emplace_back();
    cliques.back().push_back(order[i]);
    cliqueOf[order[i]] = static_cast<uint32_t>(cliques.size() - 1);
  }
}

UnitLists ShardingGraph::lists(uint32_t state) const {
  UnitLists lists;
  lists.dims.resize(numDims);
  for (unsigned unit = 0; unit < numUnits(); ++unit) {
    uint8_t place = keys[state].place(unit);
    if (place == ShardingKey::free)
      lists.free.push_back(unit);
    else if (place == ShardingKey::partial)
      lists.partial.push_back(unit);
    else {
      auto &dim = lists.dims[ShardingKey::dimOf(place)];
      dim.resize(std::max<size_t>(dim.size(), ShardingKey::positionOf(place) + 1));
      dim[ShardingKey::positionOf(place)] = static_cast<uint8_t>(unit);
    }
  }
  return lists;
}

llvm::ArrayRef<GraphEdge> ShardingGraph::edges(uint32_t state) {
  if (!expanded[state]) {
    expanded[state] = true;
    expand(state);
  }
  return allEdges[state];
}

void ShardingGraph::expand(uint32_t state) {
  UnitLists now = lists(state);
  addGathers(state, now);
  addSlices(state, now);
  addReductions(state, now);
  addPermutes(state);
}

/// AllGather and AllToAll of every suffix of every dim.
void ShardingGraph::addGathers(uint32_t state, const UnitLists &lists) {
  for (unsigned from = 0; from < numDims; ++from) {
    llvm::ArrayRef<uint8_t> units = lists.dims[from];
    for (size_t count = 1; count <= units.size(); ++count) {
      llvm::ArrayRef<uint8_t> suffix = units.take_back(count);
      CollectiveClass collective{
          CollectiveKind::AllGather, {suffix.begin(), suffix.end()}, static_cast<uint8_t>(from), 0, 0};
      ShardingKey gathered = keys[state];
      for (uint8_t unit : suffix)
        gathered.setPlace(unit, ShardingKey::free);
      addEdge(state, gathered, collective);
      collective.kind = CollectiveKind::AllToAll;
      for (unsigned to = 0; to < numDims; ++to) {
        if (to == from)
          continue;
        collective.toDim = static_cast<uint8_t>(to);
        ShardingKey moved = keys[state];
        for (size_t i = 0; i < count; ++i)
          moved.setPlace(suffix[i], ShardingKey::inDim(to, lists.dims[to].size() + i));
        addEdge(state, moved, collective);
      }
    }
  }
}

void ShardingGraph::addSlices(uint32_t state, const UnitLists &lists) {
  llvm::SmallVector<uint8_t, 4> chosen;
  forEachSequence(lists.free, chosen, [&](llvm::ArrayRef<uint8_t> units) {
    for (unsigned to = 0; to < numDims; ++to) {
      ShardingKey sliced = keys[state];
      for (size_t i = 0; i < units.size(); ++i)
        sliced.setPlace(units[i], ShardingKey::inDim(to, lists.dims[to].size() + i));
      addEdge(state, sliced, {CollectiveKind::Slice, {units.begin(), units.end()}, 0, static_cast<uint8_t>(to), 0});
    }
  });
}

/// ReduceScatter of every ordered choice of partial units to every dim; AllReduce of every set of them.
void ShardingGraph::addReductions(uint32_t state, const UnitLists &lists) {
  llvm::SmallVector<uint8_t, 4> chosen;
  forEachSequence(lists.partial, chosen, [&](llvm::ArrayRef<uint8_t> units) {
    CollectiveClass collective{CollectiveKind::ReduceScatter, {units.begin(), units.end()}, 0, 0, 0};
    for (unsigned to = 0; to < numDims; ++to) {
      collective.toDim = static_cast<uint8_t>(to);
      ShardingKey scattered = keys[state];
      for (size_t i = 0; i < units.size(); ++i)
        scattered.setPlace(units[i], ShardingKey::inDim(to, lists.dims[to].size() + i));
      addEdge(state, scattered, collective);
    }
    if (!llvm::is_sorted(units))
      return;
    collective.kind = CollectiveKind::AllReduce;
    collective.toDim = 0;
    ShardingKey reduced = keys[state];
    for (uint8_t unit : units)
      reduced.setPlace(unit, ShardingKey::free);
    addEdge(state, reduced, collective);
  });
}

/// To every state whose dims are cut into as many pieces: the pieces are the same, only their holders differ.
void ShardingGraph::addPermutes(uint32_t state) {
  for (uint32_t other : cliques[cliqueOf[state]]) {
    if (other == state)
      continue;
    CollectiveClass collective{CollectiveKind::Permute, {}, 0, 0, 0};
    for (unsigned unit = 0; unit < numUnits(); ++unit) {
      if (stride(state, unit) == stride(other, unit))
        continue;
      collective.units.push_back(static_cast<uint8_t>(unit));
      for (uint8_t place : {keys[state].place(unit), keys[other].place(unit)})
        if (place < ShardingKey::free)
          collective.concernedDims |= 1u << ShardingKey::dimOf(place);
    }
    allEdges[state].push_back({other, classId(collective)});
  }
}

void ShardingGraph::addEdge(uint32_t from, ShardingKey to, const CollectiveClass &collective) {
  allEdges[from].push_back({find(to), classId(collective)});
}

uint32_t ShardingGraph::classId(const CollectiveClass &collective) {
  uint64_t packed = static_cast<uint64_t>(collective.kind) | collective.units.size() << 3;
  for (size_t i = 0; i < collective.units.size(); ++i)
    packed |= uint64_t(collective.units[i]) << (7 + 3 * i);
  packed |= uint64_t(collective.kind == CollectiveKind::Permute ? collective.concernedDims
                                                                : collective.fromDim | collective.toDim << 5)
            << 31;
  auto [entry, isNew] = classIndex.try_emplace(packed, static_cast<uint32_t>(classes.size()));
  if (isNew)
    classes.push_back(collective);
  return entry->second;
}

} // namespace apc
