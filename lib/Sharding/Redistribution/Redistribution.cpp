// Redistributions: which space is searched for a pair, and what is remembered.
#include "apc/Sharding/Redistribution.h"

#include "SpaceRestriction.h"

#include <map>

namespace apc {

struct Redistributor::State {
  using Pair = std::pair<Sharding, Sharding>;

  State(const TensorShape &shape, const Mesh &mesh, SecondsOfCollective cost)
      : shape(shape), mesh(mesh), cost(std::move(cost)) {}

  /// Made when it is first asked for, like the search: most tensors are used as they are made. Null where there are too
  /// many shardings for one graph.
  ShardingGraph *wholeGraph() {
    if (!graph && ShardingGraph::fits(shape.numDims(), mesh.numAxes()))
      graph.emplace(shape.numDims(), wholeSpace().unitSizes(mesh));
    return graph ? &*graph : nullptr;
  }

  RedistributionSearch *wholeSearch() {
    if (ShardingGraph *whole = search ? nullptr : wholeGraph())
      search.emplace(*whole, wholeSpace(), shape, mesh, cost);
    return search ? &*search : nullptr;
  }

  /// One search for all pairs of shardings that cut dims inside these parts, or as one run.
  struct PartedSearch {
    ShardingGraph graph;
    RedistributionSearch search;

    PartedSearch(const State &state, const SearchSpace &space)
        : graph(space.dims.size(), space.unitSizes(state.mesh)),
          search(graph, space, state.shape, state.mesh, state.cost) {}
  };

  SearchSpace wholeSpace() const { return SearchSpace::whole(shape.numDims(), mesh); }

  /// The dims that either cuts inside parts, once for each list of parts.
  static PartedDims partedOf(const Sharding &from, const Sharding &to) {
    PartedDims parted = from.parted;
    for (const PartedDim &entry : to.parted)
      if (!llvm::is_contained(parted, entry))
        parted.push_back(entry);
    llvm::sort(parted);
    return parted;
  }

  /// The search for a pair that cuts inside parts; null for other pairs, and where there are too many shardings.
  RedistributionSearch *partedSearch(const Sharding &from, const Sharding &to) {
    PartedDims parted = partedOf(from, to);
    if (parted.empty() || !ShardingGraph::fits(shape.numDims() + parted.size(), mesh.numAxes()))
      return nullptr;
    std::unique_ptr<PartedSearch> &found = partedSearches[parted];
    if (!found)
      found = std::make_unique<PartedSearch>(*this, SearchSpace::whole(shape.numDims(), mesh, parted));
    return &found->search;
  }

  static bool isReachable(const Sharding &from, const Sharding &to) {
    return llvm::all_of(to.partial, [&](AxisId axis) { return llvm::is_contained(from.partial, axis); }) &&
           (!to.isPartial() || from.combiner == to.combiner);
  }

  /// A search that answers a pair, and the pair's states in it.
  struct Shared {
    RedistributionSearch *search;
    uint32_t from, to;
  };

  /// The search for many pairs that may answer this pair.
  std::optional<Shared> ordinary(const Sharding &from, const Sharding &to) {
    const bool isParted = !from.parted.empty() || !to.parted.empty();
    RedistributionSearch *found = isParted ? partedSearch(from, to) : wholeSearch();
    if (!found)
      return std::nullopt;
    Shared shared{found, found->stateOf(from), found->stateOf(to)};
    if (!found->isAllowed(shared.from) || !found->isAllowed(shared.to))
      return std::nullopt;
    return shared;
  }

  /// Pairs that cut a dim more finely than it has elements, or whose mesh is too large for one graph.
  const Redistribution &special(const Sharding &from, const Sharding &to) {
    auto [entry, isNew] = specials.try_emplace(Pair(from, to));
    if (isNew)
      entry->second = findSpecial(from, to);
    return entry->second;
  }

  Redistribution findSpecial(const Sharding &from, const Sharding &to) {
    PartedDims parted = partedOf(from, to);
    if (ShardingGraph *whole = parted.empty() ? wholeGraph() : nullptr)
      return searchOne(*whole, wholeSpace(), from, to);
    if (ShardingGraph::fits(shape.numDims() + parted.size(), mesh.numAxes())) {
      SearchSpace space = SearchSpace::whole(shape.numDims(), mesh, parted);
      ShardingGraph whole(space.dims.size(), space.unitSizes(mesh));
      return searchOne(whole, space, from, to);
    }
    std::optional<SearchSpace> space = restrictSpace(from, to, shape, mesh);
    if (!space)
      return directPath(from, to, shape, mesh, cost);
    ShardingGraph smaller(space->dims.size(), space->unitSizes(mesh));
    return searchOne(smaller, *space, from, to);
  }

  Redistribution searchOne(ShardingGraph &over, const SearchSpace &space, const Sharding &from, const Sharding &to) {
    RedistributionSearch one(over, space, shape, mesh, cost);
    one.allowCutsOf(from);
    one.allowCutsOf(to);
    std::optional<Redistribution> path = one.path(one.stateOf(from), one.stateOf(to), from.combiner);
    assert(path && "gathering and slicing always lead to the target");
    return path ? std::move(*path) : directPath(from, to, shape, mesh, cost);
  }

  TensorShape shape;
  Mesh mesh;
  SecondsOfCollective cost;
  std::optional<ShardingGraph> graph;
  std::optional<RedistributionSearch> search;
  std::map<PartedDims, std::unique_ptr<PartedSearch>> partedSearches;
  std::map<Pair, Redistribution> specials;
};

Redistributor::Redistributor(const TensorShape &shape, const Mesh &mesh, SecondsOfCollective cost)
    : state(std::make_unique<State>(shape, mesh, std::move(cost))) {}

Redistributor::~Redistributor() = default;
Redistributor::Redistributor(Redistributor &&) noexcept = default;

/// Searches with other costs for tensors whose reductions take two exchanges.
Redistributor::State &Redistributor::stateFor(const Sharding &from) {
  if (!from.isPartial() || from.combiner != Combiner::LogSumExp)
    return *state;
  if (!ofLogSums)
    ofLogSums = std::make_unique<State>(state->shape, state->mesh, [cost = state->cost](const Collective &collective) {
      Collective asked = collective;
      if (isReduction(asked.kind))
        asked.combiner = Combiner::LogSumExp;
      return cost(asked);
    });
  return *ofLogSums;
}

std::optional<double> Redistributor::seconds(const Sharding &from, const Sharding &to) {
  if (from == to)
    return 0;
  if (!State::isReachable(from, to))
    return std::nullopt;
  State &own = stateFor(from);
  if (auto shared = own.ordinary(from, to))
    return shared->search->seconds(shared->from, shared->to);
  return own.special(from, to).seconds;
}

std::optional<Redistribution> Redistributor::collectives(const Sharding &from, const Sharding &to) {
  if (!State::isReachable(from, to))
    return std::nullopt;
  State &own = stateFor(from);
  if (auto shared = own.ordinary(from, to))
    return shared->search->path(shared->from, shared->to, from.combiner);
  return own.special(from, to);
}

Redistributor &Redistributors::of(const TensorShape &shape) {
  auto found = byShape.find({shape.elementBits, shape.dims});
  if (found == byShape.end())
    found = byShape.try_emplace({shape.elementBits, shape.dims}, shape, mesh, cost).first;
  return found->second;
}

} // namespace apc
