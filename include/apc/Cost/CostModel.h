// The one cost model: the price of a rule under a strategy, and of a redistribution step. All searches and the plan use
// it.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Sharding/Redistribution.h"
#include "apc/Sharding/Strategy.h"

namespace apc {

/// The price of one op on one device (roofline): max(compute, memory) + launch.
struct OpPrice {
  double computeSeconds = 0; ///< local flops / (peak * efficiency)
  double memorySeconds = 0;  ///< local bytes / (bandwidth * efficiency)
  double launchSeconds = 0;
  double flops = 0;  ///< on one device, padding included
  int64_t bytes = 0; ///< read and written on one device

  double seconds() const { return std::max(computeSeconds, memorySeconds) + launchSeconds; }
};

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

/// Seconds of one collective over `bytes`, which is the full buffer: the input of AllReduce / ReduceScatter / AllToAll
/// on one device, the output of AllGather. Ring or tree per level, hierarchical where cheaper. Zero for groups of one.
/// Formulas and sources: lib/Cost/README.md.
double collectiveSeconds(StepKind kind, const GroupSpan &span, int64_t bytes, const Cluster &cluster);

/// Binds a cluster and a mesh (whose axes' levels index `cluster.levels`). A value; cheap to copy; safe to share
/// between threads.
class CostModel {
public:
  CostModel(const Cluster &cluster, const Mesh &mesh);

  const Mesh &getMesh() const { return mesh; }
  const Cluster &getCluster() const { return cluster; }

  /// `format` is the number format the op computes in.
  OpPrice opPrice(const FactorRule &rule, const Strategy &strategy, NumberFormat format) const;
  GroupSpan span(llvm::ArrayRef<AxisId> axes) const;
  /// Slice: the copy of the kept piece within device memory is charged to its consumer, hence 0.
  double stepSeconds(const Step &step) const;
  /// Padded local bytes of a tensor.
  int64_t localBytes(const TensorShape &shape, const Sharding &sharding) const;

private:
  Cluster cluster;
  Mesh mesh;
};

} // namespace apc
