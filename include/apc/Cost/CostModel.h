// The one cost model: the cost of a rule under a strategy, and of a collective. All searches and the plan use
// it.
#pragma once

#include "apc/Cost/Collectives.h"
#include "apc/Cost/OpCost.h"
#include "apc/Sharding/Strategy.h"

#include <memory>

namespace apc {

/// Binds a pool and a mesh (whose axes' levels index `pool.levels`). A value; cheap to copy; safe to share
/// between threads.
///
///   Pool pool = withDevices(*loadCluster("dgx-a100-80gb"), 16)->pool;
///   CostModel model(pool, Mesh::fromLevels(pool.levelSizes()));
class CostModel {
public:
  CostModel(const Pool &pool, const Mesh &mesh);

  const Mesh &getMesh() const { return state->mesh; }
  const Pool &getPool() const { return state->pool; }

  /// `format` is the number format the op computes in.
  OpCost opCost(const FactorRule &rule, const Strategy &strategy, NumberFormat format) const;
  /// Scratch memory of an op on one device: the device's `workspaceBytes` for contractions, 0 otherwise.
  int64_t workspaceBytes(const FactorRule &rule) const;
  GroupSpan span(llvm::ArrayRef<AxisId> axes) const;
  /// Slice: the copy of the kept piece within device memory is charged to its consumer, hence 0.
  double collectiveSeconds(const Collective &collective) const;
  /// Padded local bytes of a tensor.
  int64_t localBytes(const TensorShape &shape, const Sharding &sharding) const;

private:
  struct State {
    Pool pool;
    Mesh mesh;
    DeviceRates rates;
  };
  std::shared_ptr<const State> state;
};

/// The bytes that a collective's cost is taken over: the output of AllGather, the input of every other collective.
int64_t costedBytes(const Collective &collective);
/// The bytes of the larger buffer on one device, once for each exchange; none for Slice.
int64_t exchangedBytes(const Collective &collective);

} // namespace apc
