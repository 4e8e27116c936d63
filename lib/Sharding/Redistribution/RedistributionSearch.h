// Shortest paths over the shardings of one tensor.
#pragma once

#include "ShardingGraph.h"

namespace apc {

/// The axes and dims that the units and dims of a graph stand for.
struct SearchSpace {
  llvm::SmallVector<AxisList, 8> units; ///< the axes of each unit, major first
  llvm::SmallVector<unsigned, 8> dims;  ///< the tensor's dim of each dim of the graph
  /// The parts inside which each dim of the graph is cut; none for one run. A dim of the tensor that may be cut both
  /// ways is two dims of the graph, of which one at a time is cut.
  llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 8> parts;
  AxisList staysPartial; ///< axes outside the space, partial from beginning to end

  /// One unit for each axis, all dims, and a further dim for each of `parted`.
  static SearchSpace whole(unsigned numDims, const Mesh &mesh, llvm::ArrayRef<PartedDim> parted = {});
  void addDim(unsigned dim, llvm::ArrayRef<int64_t> sizes);
  llvm::SmallVector<int64_t, 8> unitSizes(const Mesh &mesh) const;
};

/// Shortest paths by Dijkstra's algorithm, one tree for each source, grown as far as targets ask. No path enters a
/// sharding that cuts a dim into more pieces than it has elements, unless the source or target that is named at
/// construction does so in that dim.
class RedistributionSearch {
public:
  /// `graph`, `shape` and `cost` outlive this.
  RedistributionSearch(ShardingGraph &graph, SearchSpace space, const TensorShape &shape, const Mesh &mesh,
                       const SecondsOfCollective &cost);

  /// The state of a sharding whose used axes lie in the space.
  uint32_t stateOf(const Sharding &sharding) const;
  /// Lets paths cut dims as finely as this sharding does.
  void allowCutsOf(const Sharding &sharding);
  bool isAllowed(uint32_t state) const;
  /// States below this one are not partial.
  size_t numWholeStates() const { return graph.numWholeStates(); }

  /// Seconds of the shortest path; empty when there is none.
  std::optional<double> seconds(uint32_t from, uint32_t to);
  /// Finds the seconds from all sources to all states, where that was not done before; empty ones are left out.
  void searchFrom(llvm::ArrayRef<std::optional<uint32_t>> sources);
  /// The labels of all states, for a source that was searched from.
  llvm::ArrayRef<double> labelsFrom(uint32_t source) const { return swept.find(source)->second; }
  /// The same as `seconds`, bit for bit, read off the labels of the source.
  static std::optional<double> lookUp(llvm::ArrayRef<double> labels, uint32_t to) {
    return to < labels.size() && labels[to] != notReached ? std::optional(labels[to]) : std::nullopt;
  }
  /// The collectives of the shortest path; `combiner` is that of the source.
  std::optional<Redistribution> path(uint32_t from, uint32_t to, Combiner combiner);

private:
  /// The label of a state that no path led to. No path is as long: a cost is at most 2^100 s.
  static constexpr double notReached = 0x1p200;

  struct CostedEdge {
    double seconds;
    uint32_t target;
    uint32_t collectiveClass;
  };
  struct ClassCost {
    int64_t inputBytes, outputBytes;
    double seconds;
  };
  /// Ordered by seconds, then number of collectives, then state.
  struct Label {
    double seconds;
    uint32_t numCollectives;
    uint32_t state;
    bool operator>(const Label &other) const;
  };
  struct Reached {
    double seconds;
    uint32_t numCollectives;
    uint32_t before;
    uint32_t collectiveClass;
    bool known = false, settled = false;
  };
  struct Tree {
    std::vector<Reached> reached;
    std::vector<Label> queue;
  };

  Tree &treeFrom(uint32_t from);
  void grow(Tree &tree, uint32_t to);
  void sweep(llvm::ArrayRef<uint32_t> sources);
  llvm::ArrayRef<CostedEdge> costedEdges(uint32_t state);
  double costOf(uint32_t collectiveClass, int64_t inputBytes, int64_t outputBytes);
  bool dividesEvenly(uint32_t state, uint32_t dims) const;
  /// The dim of the graph that stands for a dim of the tensor cut inside `parts`.
  unsigned graphDimOf(unsigned dim, llvm::ArrayRef<int64_t> parts) const;
  /// The runs of a dim of the graph that are cut on their own: the parts, or the dim itself.
  llvm::ArrayRef<int64_t> runsOf(unsigned graphDim) const;
  /// True when no dim of the tensor is cut in two ways.
  bool cutsOneWay(uint32_t state) const;
  /// True when a collective moves axes between two dims of the graph that are one dim of the tensor.
  bool staysInDim(const CollectiveClass &collectiveClass) const;
  int64_t bytesOf(uint32_t state);
  Collective makeCollective(const CollectiveClass &collectiveClass, int64_t inputBytes, int64_t outputBytes) const;
  Sharding shardingOf(uint32_t state, Combiner combiner) const;

  ShardingGraph &graph;
  SearchSpace space;
  const TensorShape &shape;
  const SecondsOfCollective &cost;

  llvm::SmallVector<int, 8> unitOfAxis;                                 ///< the unit that begins with an axis, or -1
  std::vector<int64_t> bytes;                                           ///< of each state; -1 until asked
  std::vector<std::vector<llvm::SmallVector<uint8_t, 8>>> allowedLists; ///< by dim: what may cut too finely
  std::vector<std::vector<CostedEdge>> costed;
  std::vector<bool> isCosted;
  std::vector<llvm::SmallVector<ClassCost, 2>> classCosts;
  llvm::DenseMap<uint32_t, std::unique_ptr<Tree>> trees;
  llvm::DenseMap<uint32_t, std::vector<double>> swept; ///< by source: seconds to each state
};

} // namespace apc
