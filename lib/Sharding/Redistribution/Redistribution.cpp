// Redistributions: which space is searched for a pair, and what is remembered.
#include "apc/Sharding/Redistribution.h"

#include "SpaceRestriction.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

namespace apc {

llvm::StringRef stepName(StepKind kind) {
  static constexpr llvm::StringLiteral names[] = {"AllGather",     "Slice",     "AllToAll",
                                                  "ReduceScatter", "AllReduce", "Permute"};
  return names[static_cast<size_t>(kind)];
}

std::string Step::str(const Mesh &mesh) const {
  std::string text = stepName(kind).str() + "{";
  text += llvm::join(llvm::map_range(axes, [&](AxisId axis) { return mesh.axis(axis).name; }), " ") + "}";
  switch (kind) {
  case StepKind::AllGather:
    return text + " " + std::to_string(fromDim);
  case StepKind::Slice:
  case StepKind::ReduceScatter:
    return text + " ->" + std::to_string(toDim);
  case StepKind::AllToAll:
    return text + " " + std::to_string(fromDim) + "->" + std::to_string(toDim);
  case StepKind::AllReduce:
    return text;
  case StepKind::Permute:
    return text + " -> " + result.str(mesh);
  }
  llvm_unreachable("every kind of step has a text");
}

std::shared_ptr<const ShardingGraph> buildShardingGraph(unsigned numDims, const Mesh &mesh) {
  if (!ShardingGraph::fits(numDims, mesh.numAxes()))
    return nullptr;
  auto graph = std::make_shared<ShardingGraph>(numDims, SearchSpace::whole(numDims, mesh).unitSizes(mesh));
  graph->expandAll();
  return graph;
}

struct Redistributor::State {
  using Price = RedistributionSearch::Price;
  using Pair = std::pair<Sharding, Sharding>;

  State(std::shared_ptr<const ShardingGraph> given, const TensorShape &shape, const Mesh &mesh, Price price)
      : shape(shape), mesh(mesh), price(std::move(price)), shared(std::move(given)) {
    if (!shared && ShardingGraph::fits(shape.numDims(), mesh.numAxes()))
      own = std::make_unique<ShardingGraph>(shape.numDims(), wholeSpace().unitSizes(mesh));
    graph = shared ? shared.get() : own.get();
    assert((!graph || graph->getNumDims() == shape.numDims()) && "the graph is for tensors of other dims");
    assert((!graph || graph->unitSizes() == llvm::ArrayRef(wholeSpace().unitSizes(mesh))) && "another mesh");
    if (graph)
      search.emplace(*graph, own.get(), wholeSpace(), this->shape, this->mesh, this->price);
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
      return searchOne(*graph, own.get(), wholeSpace(), from, to);
    std::optional<SearchSpace> space = restrictSpace(from, to, shape, mesh);
    if (!space)
      return directPath(from, to, shape, mesh, price);
    ShardingGraph smaller(space->dims.size(), space->unitSizes(mesh));
    return searchOne(smaller, &smaller, *space, from, to);
  }

  Redistribution searchOne(const ShardingGraph &over, ShardingGraph *growing, const SearchSpace &space,
                           const Sharding &from, const Sharding &to) {
    RedistributionSearch one(over, growing, space, shape, mesh, price);
    one.allowCutsOf(from);
    one.allowCutsOf(to);
    std::optional<Redistribution> path = one.path(one.stateOf(from), one.stateOf(to), from.combiner);
    assert(path && "gathering and slicing always lead to the target");
    return path ? std::move(*path) : directPath(from, to, shape, mesh, price);
  }

  TensorShape shape;
  Mesh mesh;
  Price price;
  std::shared_ptr<const ShardingGraph> shared;
  std::unique_ptr<ShardingGraph> own;
  const ShardingGraph *graph = nullptr;
  std::optional<RedistributionSearch> search;
  std::map<Pair, Redistribution> specials;
};

Redistributor::Redistributor(const TensorShape &shape, const Mesh &mesh, std::function<double(const Step &)> price)
    : Redistributor(nullptr, shape, mesh, std::move(price)) {}

Redistributor::Redistributor(std::shared_ptr<const ShardingGraph> graph, const TensorShape &shape, const Mesh &mesh,
                             std::function<double(const Step &)> price)
    : state(std::make_unique<State>(std::move(graph), shape, mesh, std::move(price))) {}

Redistributor::~Redistributor() = default;
Redistributor::Redistributor(Redistributor &&) noexcept = default;

std::optional<double> Redistributor::seconds(const Sharding &from, const Sharding &to) {
  if (!State::isReachable(from, to))
    return std::nullopt;
  if (auto states = state->ordinary(from, to))
    return state->search->seconds(states->first, states->second);
  return state->special(from, to).seconds;
}

std::optional<Redistribution> Redistributor::steps(const Sharding &from, const Sharding &to) {
  if (!State::isReachable(from, to))
    return std::nullopt;
  if (auto states = state->ordinary(from, to))
    return state->search->path(states->first, states->second, from.combiner);
  return state->special(from, to);
}

std::optional<Redistribution> redistribute(const Sharding &from, const Sharding &to, const TensorShape &shape,
                                           const Mesh &mesh, StepPrice price) {
  return Redistributor(shape, mesh, [&](const Step &step) { return price(step); }).steps(from, to);
}

} // namespace apc
