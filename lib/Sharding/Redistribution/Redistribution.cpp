// Redistributions: which space is searched for a pair, and what is remembered.
#include "apc/Sharding/Redistribution.h"

#include "SpaceRestriction.h"

#include <map>

namespace apc {

struct Redistributor::State {
  using Pair = std::pair<Sharding, Sharding>;

  State(const TensorShape &shape, const Mesh &mesh, SecondsOfCollective cost)
      : shape(shape), mesh(mesh), cost(std::move(cost)) {
    if (!ShardingGraph::fits(shape.numDims(), mesh.numAxes()))
      return;
    graph.emplace(shape.numDims(), wholeSpace().unitSizes(mesh));
    search.emplace(*graph, wholeSpace(), this->shape, this->mesh, this->cost);
  }

  SearchSpace wholeSpace() const { return SearchSpace::whole(shape.numDims(), mesh); }

  static bool isReachable(const Sharding &from, const Sharding &to) {
    return llvm::all_of(to.partial, [&](AxisId axis) { return llvm::is_contained(from.partial, axis); }) &&
           (!to.isPartial() || from.combiner == to.combiner);
  }

  /// The states of a pair when the one search for all pairs may answer it.
  std::optional<std::pair<uint32_t, uint32_t>> ordinary(const Sharding &from, const Sharding &to) const {
    if (!search)
      return std::nullopt;
    std::pair<uint32_t, uint32_t> states(search->stateOf(from), search->stateOf(to));
    if (!search->isAllowed(states.first) || !search->isAllowed(states.second))
      return std::nullopt;
    return states;
  }

  /// Pairs that cut a dim more finely than it has elements, or whose mesh is too large for one graph.
  const Redistribution &special(const Sharding &from, const Sharding &to) {
    auto [entry, isNew] = specials.try_emplace(Pair(from, to));
    if (isNew)
      entry->second = findSpecial(from, to);
    return entry->second;
  }

  Redistribution findSpecial(const Sharding &from, const Sharding &to) {
    if (graph)
      return searchOne(*graph, wholeSpace(), from, to);
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
  std::optional<ShardingGraph> graph; ///< none where there are too many shardings for one graph
  std::optional<RedistributionSearch> search;
  std::map<Pair, Redistribution> specials;
};

Redistributor::Redistributor(const TensorShape &shape, const Mesh &mesh, SecondsOfCollective cost)
    : state(std::make_unique<State>(shape, mesh, std::move(cost))) {}

Redistributor::~Redistributor() = default;
Redistributor::Redistributor(Redistributor &&) noexcept = default;

std::optional<double> Redistributor::seconds(const Sharding &from, const Sharding &to) {
  if (!State::isReachable(from, to))
    return std::nullopt;
  if (auto states = state->ordinary(from, to))
    return state->search->seconds(states->first, states->second);
  return state->special(from, to).seconds;
}

std::optional<Redistribution> Redistributor::collectives(const Sharding &from, const Sharding &to) {
  if (!State::isReachable(from, to))
    return std::nullopt;
  if (auto states = state->ordinary(from, to))
    return state->search->path(states->first, states->second, from.combiner);
  return state->special(from, to);
}

Redistributor &Redistributors::of(const TensorShape &shape) {
  auto found = byShape.find({shape.elementBits, shape.dims});
  if (found == byShape.end())
    found = byShape.try_emplace({shape.elementBits, shape.dims}, shape, mesh, cost).first;
  return found->second;
}

} // namespace apc
