// Tables of seconds: which searches answer for a tensor, and what is left to its own Redistributor.
#include "apc/Sharding/RedistributionSeconds.h"

#include "RedistributionSearch.h"

#include <map>

namespace apc {

namespace {

/// A tensor without dims of 1, the others in ascending order: [8, 1, 4096, 128] is [8, 128, 4096].
struct SortedShape {
  TensorShape shape;
  llvm::SmallVector<int, 8> graphDim; ///< of each dim of the tensor; -1: left out

  SortedShape(const TensorShape &tensor, bool dropOnes) : graphDim(tensor.numDims(), -1) {
    llvm::SmallVector<unsigned, 8> order;
    for (unsigned dim = 0; dim < tensor.numDims(); ++dim)
      if (tensor.dims[dim] != 1 || !dropOnes)
        order.push_back(dim);
    llvm::stable_sort(order, [&](unsigned a, unsigned b) { return tensor.dims[a] < tensor.dims[b]; });
    shape.elementBits = tensor.elementBits;
    for (unsigned dim : order) {
      graphDim[dim] = static_cast<int>(shape.numDims());
      shape.dims.push_back(tensor.dims[dim]);
    }
  }

  /// Empty when a dim is cut that was left out, or inside parts, and where reductions have costs of their own.
  std::optional<ShardingKey> keyOf(const Sharding &sharding, unsigned numAxes) const {
    bool combinesLogSums = sharding.isPartial() && sharding.combiner == Combiner::LogSumExp;
    if (!sharding.parted.empty() || combinesLogSums)
      return std::nullopt;
    ShardingKey key;
    for (unsigned axis = 0; axis < numAxes; ++axis)
      key.setPlace(axis, ShardingKey::free);
    for (AxisId axis : sharding.partial)
      key.setPlace(axis.index(), ShardingKey::partial);
    for (auto [dim, axes] : llvm::zip_equal(graphDim, sharding.dims)) {
      if (dim < 0 && !axes.empty())
        return std::nullopt;
      for (auto [position, axis] : llvm::enumerate(axes))
        key.setPlace(axis.index(), ShardingKey::inDim(dim, position));
    }
    return key;
  }
};

/// The search for all tensors of one sorted shape.
struct SortedSearch {
  TensorShape shape;
  const ShardingGraph &graph;
  RedistributionSearch search;

  SortedSearch(const TensorShape &given, ShardingGraph &graph, const Mesh &mesh, const SecondsOfCollective &cost)
      : shape(given), graph(graph), search(graph, SearchSpace::whole(given.numDims(), mesh), shape, mesh, cost) {}
};

} // namespace

struct RedistributionSeconds::State {
  using States = std::vector<std::optional<uint32_t>>;

  State(const Mesh &mesh, SecondsOfCollective cost)
      : mesh(mesh), cost(std::move(cost)), redistributors(mesh, this->cost),
        dropOnes(llvm::none_of(mesh.getAxes(), [](const MeshAxis &axis) { return axis.size == 1; })) {}

  SortedSearch &searchOf(const TensorShape &sorted) {
    std::unique_ptr<SortedSearch> &found = searches[{sorted.elementBits, sorted.dims}];
    if (!found) {
      std::unique_ptr<ShardingGraph> &graph = graphs[sorted.numDims()];
      if (!graph)
        graph = std::make_unique<ShardingGraph>(sorted.numDims(),
                                                SearchSpace::whole(sorted.numDims(), mesh).unitSizes(mesh));
      found = std::make_unique<SortedSearch>(sorted, *graph, mesh, cost);
    }
    return *found;
  }

  States statesOf(llvm::ArrayRef<Sharding> shardings, const SortedShape &sorted, const SortedSearch &search) const {
    States states;
    for (const Sharding &sharding : shardings) {
      std::optional<ShardingKey> key = sorted.keyOf(sharding, mesh.numAxes());
      std::optional<uint32_t> state = key ? std::optional(search.graph.find(*key)) : std::nullopt;
      states.push_back(state && search.search.isAllowed(*state) ? state : std::nullopt);
    }
    return states;
  }

  using Extents = std::pair<unsigned, llvm::SmallVector<int64_t, 4>>; ///< with the bits of an element
  Mesh mesh;
  SecondsOfCollective cost;
  Redistributors
      redistributors; ///< for pairs that no shared search may answer: more pieces than elements, too many axes, parts
  bool dropOnes;      ///< an axis of 1 may cut a dim of 1
  std::map<unsigned, std::unique_ptr<ShardingGraph>> graphs;
  std::map<Extents, std::unique_ptr<SortedSearch>> searches;
};

RedistributionSeconds::RedistributionSeconds(const Mesh &mesh, SecondsOfCollective cost)
    : state(std::make_unique<State>(mesh, std::move(cost))) {}

RedistributionSeconds::~RedistributionSeconds() = default;

/// Every source is every target.
static bool areOne(llvm::ArrayRef<Sharding> sources, llvm::ArrayRef<Sharding> targets) {
  auto isFirst = [&](const Sharding &own) { return own == sources.front(); };
  return !sources.empty() && llvm::all_of(targets, isFirst) && llvm::all_of(sources.drop_front(), isFirst);
}

void RedistributionSeconds::between(const TensorShape &shape, llvm::ArrayRef<Sharding> sources,
                                    llvm::ArrayRef<Sharding> targets,
                                    llvm::function_ref<void(size_t source, Row seconds)> take) {
  if (areOne(sources, targets)) { // what stays takes no search
    const std::vector<std::optional<double>> row(targets.size(), 0.0);
    for (size_t source = 0; source < sources.size(); ++source)
      take(source, row);
    return;
  }
  State::States starts(sources.size()), ends(targets.size());
  const RedistributionSearch *search = nullptr;
  if (ShardingGraph::fits(shape.numDims(), state->mesh.numAxes())) {
    SortedShape sorted(shape, state->dropOnes);
    SortedSearch &shared = state->searchOf(sorted.shape);
    starts = state->statesOf(sources, sorted, shared);
    ends = state->statesOf(targets, sorted, shared);
    shared.search.searchFrom(starts);
    search = &shared.search;
  }
  std::vector<std::optional<double>> row(targets.size());
  for (auto [index, source] : llvm::enumerate(sources)) {
    std::optional<uint32_t> start = starts[index];
    llvm::ArrayRef<double> labels = start ? search->labelsFrom(*start) : llvm::ArrayRef<double>();
    for (size_t target = 0; target < targets.size(); ++target) {
      if (std::optional<uint32_t> end = ends[target]; start && end)
        row[target] = *end < search->numWholeStates() || targets[target].combiner == source.combiner
                          ? RedistributionSearch::lookUp(labels, *end)
                          : std::nullopt;
      else
        row[target] = state->redistributors.of(shape).seconds(source, targets[target]);
    }
    take(index, row);
  }
}

} // namespace apc
