// The cost of collectives: a few algorithms, each one formula over the levels that a group spans.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Sharding/Redistribution.h"

namespace apc {

/// How a group of ranks lies on the interconnect: for each level that it spans (outermost first) how many ways.
/// 16 ranks as 2 nodes x 8 devices: {{0, 2}, {1, 8}}.
struct GroupSpan {
  struct Part {
    unsigned level;
    int64_t size;
  };
  llvm::SmallVector<Part, 3> parts;

  int64_t size() const;
};

/// AllReduce, AllGather and ReduceScatter, which rings and trees carry out: their seconds are the least of sums latency
/// + bytes / bandwidth, and so concave in the bytes.
bool isRingKind(CollectiveKind kind);

/// Ring: one ring through all ranks, with as many rings side by side as a node has devices in the group.
/// Tree: a chain inside the innermost level, a binary tree over the others.
/// Hierarchical: level after level, each with what the inner ones left.
/// Switch: the switch of one level reduces and copies, where it can.
/// AllRings: the rings of all levels of a torus at once.
/// Direct: AllToAll from each rank to each other one; Permute.
enum class CollectiveAlgorithm : uint8_t { Ring, Tree, Hierarchical, Switch, AllRings, Direct };

/// How messages are sent: for low latency at half the bandwidth, for bandwidth, or between the two.
enum class Protocol : uint8_t { LowLatency, Mixed, Bulk };

struct CollectiveCost {
  double seconds = 0;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Direct;
  Protocol protocol = Protocol::Bulk;
};

/// Seconds of one collective by one algorithm and protocol; nothing where the algorithm does not apply. `bytes` is the
/// full buffer: the input of AllReduce / ReduceScatter / AllToAll / Permute on one device, the output of AllGather.
/// Formulas and sources: lib/Cost/COSTS.md.
std::optional<double> algorithmSeconds(CollectiveAlgorithm algorithm, Protocol protocol, CollectiveKind kind,
                                       const GroupSpan &span, int64_t bytes, const Pool &pool);

/// The cheapest algorithm and protocol that apply; ties go to the one declared first. 0 seconds for groups of one and
/// for Slice; positive otherwise.
CollectiveCost collectiveCost(CollectiveKind kind, const GroupSpan &span, int64_t bytes, const Pool &pool);

/// The seconds of `collectiveCost`.
double collectiveSeconds(CollectiveKind kind, const GroupSpan &span, int64_t bytes, const Pool &pool);

} // namespace apc
