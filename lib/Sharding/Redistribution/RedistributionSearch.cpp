// Dijkstra's algorithm over the shardings of one tensor, with costs asked once for each distinct collective.
#include "RedistributionSearch.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace apc {

SearchSpace SearchSpace::whole(unsigned numDims, const Mesh &mesh, llvm::ArrayRef<PartedDim> parted) {
  SearchSpace space;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    space.units.push_back({AxisId(axis)});
  for (unsigned dim = 0; dim < numDims; ++dim)
    space.addDim(dim, {});
  for (const PartedDim &entry : parted)
    space.addDim(entry.dim, entry.sizes);
  return space;
}

void SearchSpace::addDim(unsigned dim, llvm::ArrayRef<int64_t> sizes) {
  dims.push_back(dim);
  parts.emplace_back(sizes);
}

llvm::SmallVector<int64_t, 8> SearchSpace::unitSizes(const Mesh &mesh) const {
  llvm::SmallVector<int64_t, 8> sizes;
  for (const AxisList &axes : units)
    sizes.push_back(mesh.size(axes));
  return sizes;
}

bool RedistributionSearch::Label::operator>(const Label &other) const {
  if (seconds != other.seconds)
    return seconds > other.seconds;
  return numCollectives != other.numCollectives ? numCollectives > other.numCollectives : state > other.state;
}

RedistributionSearch::RedistributionSearch(ShardingGraph &graph, SearchSpace givenSpace, const TensorShape &shape,
                                           const Mesh &mesh, const SecondsOfCollective &cost)
    : graph(graph), space(std::move(givenSpace)), shape(shape), cost(cost), unitOfAxis(mesh.numAxes(), -1),
      bytes(graph.numStates(), -1), allowedLists(space.dims.size()), costed(graph.numStates()),
      isCosted(graph.numStates(), false) {
  for (size_t unit = 0; unit < space.units.size(); ++unit)
    unitOfAxis[space.units[unit].front().index()] = static_cast<int>(unit);
}

unsigned RedistributionSearch::graphDimOf(unsigned dim, llvm::ArrayRef<int64_t> parts) const {
  for (unsigned i = 0; i < space.dims.size(); ++i)
    if (space.dims[i] == dim && llvm::ArrayRef<int64_t>(space.parts[i]) == parts)
      return i;
  llvm_unreachable("the space has all dims that its shardings cut");
}

llvm::ArrayRef<int64_t> RedistributionSearch::runsOf(unsigned graphDim) const {
  const llvm::SmallVector<int64_t, 4> &parts = space.parts[graphDim];
  return parts.empty() ? llvm::ArrayRef(shape.dims[space.dims[graphDim]]) : llvm::ArrayRef(parts);
}

uint32_t RedistributionSearch::stateOf(const Sharding &sharding) const {
  ShardingKey key;
  for (size_t unit = 0; unit < space.units.size(); ++unit)
    key.setPlace(unit, ShardingKey::free);
  for (unsigned dim = 0; dim < sharding.numDims(); ++dim) {
    unsigned position = 0;
    for (AxisId axis : sharding.dims[dim])
      if (int unit = unitOfAxis[axis.index()]; unit >= 0)
        key.setPlace(unit, ShardingKey::inDim(graphDimOf(dim, sharding.partsOf(dim)), position++));
  }
  for (AxisId axis : sharding.partial)
    if (int unit = unitOfAxis[axis.index()]; unit >= 0)
      key.setPlace(unit, ShardingKey::partial);
  return graph.find(key);
}

void RedistributionSearch::allowCutsOf(const Sharding &sharding) {
  UnitLists lists = graph.lists(stateOf(sharding));
  for (size_t dim = 0; dim < lists.dims.size(); ++dim)
    allowedLists[dim].push_back(lists.dims[dim]);
}

/// A dim of 3 may be cut by (2) but not by (2 2), unless the source or target begins with these units there.
bool RedistributionSearch::isAllowed(uint32_t state) const {
  llvm::ArrayRef<int64_t> cuts = graph.cuts(state);
  if (!cutsOneWay(state))
    return false;
  for (size_t dim = 0; dim < cuts.size(); ++dim) {
    if (cuts[dim] <= std::max<int64_t>(*llvm::min_element(runsOf(dim)), 1))
      continue;
    auto beginsWithIt = [&](llvm::ArrayRef<uint8_t> list) {
      llvm::SmallVector<uint8_t, 8> units = graph.lists(state).dims[dim];
      return units.size() <= list.size() && std::equal(units.begin(), units.end(), list.begin());
    };
    if (llvm::none_of(allowedLists[dim], beginsWithIt))
      return false;
  }
  return true;
}

bool RedistributionSearch::cutsOneWay(uint32_t state) const {
  if (llvm::all_of(space.parts, [](const auto &sizes) { return sizes.empty(); }))
    return true;
  UnitLists lists = graph.lists(state);
  for (size_t dim = 0; dim < space.dims.size(); ++dim)
    for (size_t other = 0; other < dim; ++other)
      if (space.dims[dim] == space.dims[other] && !lists.dims[dim].empty() && !lists.dims[other].empty())
        return false;
  return true;
}

bool RedistributionSearch::staysInDim(const CollectiveClass &collectiveClass) const {
  return collectiveClass.kind == CollectiveKind::AllToAll &&
         space.dims[collectiveClass.fromDim] == space.dims[collectiveClass.toDim];
}

std::optional<double> RedistributionSearch::seconds(uint32_t from, uint32_t to) {
  Tree &tree = treeFrom(from);
  grow(tree, to);
  if (to >= tree.reached.size() || !tree.reached[to].settled)
    return std::nullopt;
  return tree.reached[to].seconds;
}

std::optional<Redistribution> RedistributionSearch::path(uint32_t from, uint32_t to, Combiner combiner) {
  std::optional<double> total = seconds(from, to);
  if (!total)
    return std::nullopt;
  Redistribution result;
  result.seconds = *total;
  const Tree &tree = treeFrom(from);
  for (uint32_t state = to; state != from; state = tree.reached[state].before) {
    const Reached &reached = tree.reached[state];
    Collective collective =
        makeCollective(graph.collectiveClass(reached.collectiveClass), bytesOf(reached.before), bytesOf(state));
    collective.result = shardingOf(state, combiner);
    if (isReduction(collective.kind))
      collective.combiner = combiner;
    result.collectives.push_back(std::move(collective));
  }
  std::reverse(result.collectives.begin(), result.collectives.end());
  return result;
}

RedistributionSearch::Tree &RedistributionSearch::treeFrom(uint32_t from) {
  std::unique_ptr<Tree> &tree = trees[from];
  if (!tree) {
    tree = std::make_unique<Tree>();
    // From a sharding that is not partial, only such shardings are reached.
    tree->reached.resize(from < graph.numWholeStates() ? graph.numWholeStates() : graph.numStates());
    tree->reached[from] = {0, 0, from, 0, true, false};
    tree->queue.push_back({0, 0, from});
  }
  return *tree;
}

/// Settles states in order until `to` is among them.
void RedistributionSearch::grow(Tree &tree, uint32_t to) {
  auto later = [](const Label &a, const Label &b) { return a > b; };
  auto &queue = tree.queue;
  while (!queue.empty() && !(to < tree.reached.size() && tree.reached[to].settled)) {
    std::pop_heap(queue.begin(), queue.end(), later);
    Label label = queue.back();
    queue.pop_back();
    if (std::exchange(tree.reached[label.state].settled, true))
      continue;
    for (const CostedEdge &edge : costedEdges(label.state)) {
      Reached &target = tree.reached[edge.target];
      double seconds = label.seconds + edge.seconds;
      uint32_t numCollectives = label.numCollectives + 1;
      bool better = !target.known || seconds < target.seconds ||
                    (seconds == target.seconds && numCollectives < target.numCollectives);
      if (target.settled || !better)
        continue;
      target = {seconds, numCollectives, label.state, edge.collectiveClass, true, false};
      queue.push_back({seconds, numCollectives, edge.target});
      std::push_heap(queue.begin(), queue.end(), later);
    }
  }
}

llvm::ArrayRef<RedistributionSearch::CostedEdge> RedistributionSearch::costedEdges(uint32_t state) {
  if (isCosted[state])
    return costed[state];
  isCosted[state] = true;
  llvm::ArrayRef<GraphEdge> edges = graph.edges(state);
  costed[state].reserve(edges.size());
  for (const GraphEdge &edge : edges) {
    const CollectiveClass &collectiveClass = graph.collectiveClass(edge.collectiveClass);
    if (staysInDim(collectiveClass) || !isAllowed(edge.target) || !dividesEvenly(state, collectiveClass.concernedDims))
      continue;
    double seconds = costOf(edge.collectiveClass, bytesOf(state), bytesOf(edge.target));
    costed[state].push_back({seconds, edge.target, edge.collectiveClass});
  }
  return costed[state];
}

double RedistributionSearch::costOf(uint32_t collectiveClass, int64_t inputBytes, int64_t outputBytes) {
  if (classCosts.size() <= collectiveClass)
    classCosts.resize(graph.numClasses());
  for (const ClassCost &known : classCosts[collectiveClass])
    if (known.inputBytes == inputBytes && known.outputBytes == outputBytes)
      return known.seconds;
  double seconds = cost(makeCollective(graph.collectiveClass(collectiveClass), inputBytes, outputBytes));
  assert(seconds >= 0 && "a cost is never negative");
  classCosts[collectiveClass].push_back({inputBytes, outputBytes, seconds});
  return seconds;
}

bool RedistributionSearch::dividesEvenly(uint32_t state, uint32_t dims) const {
  for (unsigned dim = 0; dims != 0; ++dim, dims >>= 1)
    if ((dims & 1) != 0 && llvm::any_of(runsOf(dim), [&](int64_t size) { return size % graph.cuts(state)[dim] != 0; }))
      return false;
  return true;
}

int64_t RedistributionSearch::bytesOf(uint32_t state) {
  if (bytes[state] >= 0)
    return bytes[state];
  TensorShape local = shape;
  for (auto [graphDim, cut] : llvm::enumerate(graph.cuts(state))) {
    if (cut == 1)
      continue;
    int64_t &size = local.dims[space.dims[graphDim]] = 0;
    for (int64_t run : runsOf(graphDim))
      size += llvm::divideCeilSigned(run, cut);
  }
  return bytes[state] = local.bytes();
}

Collective RedistributionSearch::makeCollective(const CollectiveClass &collectiveClass, int64_t inputBytes,
                                                int64_t outputBytes) const {
  Collective collective;
  collective.kind = collectiveClass.kind;
  for (uint8_t unit : collectiveClass.units)
    llvm::append_range(collective.axes, space.units[unit]);
  if (collective.kind == CollectiveKind::AllReduce || collective.kind == CollectiveKind::Permute)
    llvm::sort(collective.axes);
  if (!space.dims.empty()) {
    collective.fromDim = space.dims[collectiveClass.fromDim];
    collective.toDim = space.dims[collectiveClass.toDim];
  }
  collective.inputBytes = inputBytes;
  collective.outputBytes = outputBytes;
  collective.wholeBytes = shape.bytes();
  return collective;
}

Sharding RedistributionSearch::shardingOf(uint32_t state, Combiner combiner) const {
  Sharding sharding = Sharding::replicated(shape.numDims());
  UnitLists lists = graph.lists(state);
  for (size_t dim = 0; dim < lists.dims.size(); ++dim)
    for (uint8_t unit : lists.dims[dim])
      llvm::append_range(sharding.dims[space.dims[dim]], space.units[unit]);
  for (size_t dim = 0; dim < lists.dims.size(); ++dim)
    if (!sharding.dims[space.dims[dim]].empty() && !lists.dims[dim].empty())
      setParts(sharding.parted, space.dims[dim], space.parts[dim]);
  sharding.partial = space.staysPartial;
  for (uint8_t unit : lists.partial)
    llvm::append_range(sharding.partial, space.units[unit]);
  llvm::sort(sharding.partial);
  if (sharding.isPartial())
    sharding.combiner = combiner;
  return sharding;
}

} // namespace apc
