// The graph that redistribution searches walk: one state for each sharding of a tensor, one edge for each collective.
// It knows no extents and no costs, so one graph serves all tensors of as many dims on one mesh.
#pragma once

#include "apc/Sharding/Redistribution.h"

#include "llvm/ADT/DenseMap.h"

#include <array>

namespace apc {

/// A collective but for the tensor: kind, units (axes that move as one) and dims. Collectives of one class and equal
/// bytes have one cost.
struct CollectiveClass {
  CollectiveKind kind;
  llvm::SmallVector<uint8_t, 4> units; ///< in order for AllGather, Slice, AllToAll, ReduceScatter; else ascending
  uint8_t fromDim = 0, toDim = 0;
  uint32_t concernedDims = 0; ///< Permute: bit d when a unit of dim d changes its place
};

struct GraphEdge {
  uint32_t target;
  uint32_t collectiveClass;
};

/// A sharding packed in 64 bits: byte u says where unit u is: `dim << 3 | position in the dim`, or free, or partial.
/// [(x1 x0), -] sum{x2}: x0 -> 0<<3|1, x1 -> 0<<3|0, x2 -> partial.
class ShardingKey {
public:
  static constexpr uint8_t free = 30 << 3, partial = 31 << 3;

  uint8_t place(unsigned unit) const { return static_cast<uint8_t>(bits >> (8 * unit)); }
  void setPlace(unsigned unit, uint8_t place) {
    bits = (bits & ~(uint64_t(0xff) << (8 * unit))) | uint64_t(place) << (8 * unit);
  }
  static uint8_t inDim(unsigned dim, unsigned position) { return static_cast<uint8_t>(dim << 3 | position); }
  static unsigned dimOf(uint8_t place) { return place >> 3; }
  static unsigned positionOf(uint8_t place) { return place & 7; }
  uint64_t value() const { return bits; }

private:
  uint64_t bits = 0;
};

/// The units of one state by place.
struct UnitLists {
  llvm::SmallVector<llvm::SmallVector<uint8_t, 8>, 8> dims;
  llvm::SmallVector<uint8_t, 8> free, partial;
};

/// States are numbered with those that are not partial first. The collectives out of a state are made when they are
/// first asked for: not safe to share between threads.
class ShardingGraph {
public:
  static constexpr unsigned maxUnits = 8, maxDims = 29, maxStates = 12000;

  /// The number of shardings, partial ones included; saturates above maxStates.
  static size_t countStates(unsigned numDims, unsigned numUnits);
  static bool fits(unsigned numDims, unsigned numUnits);

  ShardingGraph(unsigned numDims, llvm::ArrayRef<int64_t> unitSizes);

  unsigned numUnits() const { return static_cast<unsigned>(sizes.size()); }
  size_t numStates() const { return keys.size(); }
  /// States below this one are not partial, and no collective leads from them to others.
  size_t numWholeStates() const { return wholeStates; }

  ShardingKey key(uint32_t state) const { return keys[state]; }
  uint32_t find(ShardingKey key) const { return index.find(key.value())->second; }
  UnitLists lists(uint32_t state) const;
  /// Into how many pieces each dim is cut.
  llvm::ArrayRef<int64_t> cuts(uint32_t state) const { return llvm::ArrayRef(allCuts).slice(state * numDims, numDims); }

  /// The collectives out of a state.
  llvm::ArrayRef<GraphEdge> edges(uint32_t state);
  const CollectiveClass &collectiveClass(uint32_t id) const { return classes[id]; }
  size_t numClasses() const { return classes.size(); }

private:
  void expand(uint32_t state);
  void enumerate(unsigned unit, uint32_t partialMask, UnitLists &lists);
  void addState(const UnitLists &lists);
  void groupByCuts();
  void addGathers(uint32_t state, const UnitLists &lists);
  void addSlices(uint32_t state, const UnitLists &lists);
  void addReductions(uint32_t state, const UnitLists &lists);
  void addPermutes(uint32_t state);
  void addEdge(uint32_t from, ShardingKey to, const CollectiveClass &collective);
  uint32_t classId(const CollectiveClass &collective);
  uint64_t stride(uint32_t state, unsigned unit) const { return strides[state * numUnits() + unit]; }

  unsigned numDims;
  llvm::SmallVector<int64_t, 8> sizes;
  size_t wholeStates = 0;
  std::vector<ShardingKey> keys;
  llvm::DenseMap<uint64_t, uint32_t> index;
  std::vector<int64_t> allCuts;
  std::vector<uint64_t> strides; ///< dim and stride of each unit, or its place when it cuts nothing
  std::vector<uint32_t> cliqueOf;
  std::vector<std::vector<uint32_t>> cliques; ///< states with equal cuts and partial units
  std::vector<std::vector<GraphEdge>> allEdges;
  std::vector<bool> expanded;
  std::vector<CollectiveClass> classes;
  llvm::DenseMap<uint64_t, uint32_t> classIndex;
};

} // namespace apc
