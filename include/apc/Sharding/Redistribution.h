// The collective steps that take a tensor from one sharding to another. What is priced is what is emitted: these very
// steps.
#pragma once

#include "apc/Sharding/Sharding.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>
#include <memory>

namespace apc {

/// AllGather     drops the minor axes `axes` of dim `fromDim`
/// Slice         appends `axes` as minor axes of dim `toDim` (free: each device keeps its part)
/// AllToAll      moves the minor axes `axes` of dim `fromDim` to the end of dim `toDim`
/// ReduceScatter settles the partial axes `axes` and appends them to dim `toDim`
/// AllReduce     settles the partial axes `axes`
/// Permute       sends each device's piece to another device: the tensor takes `result` directly (axes exchange places)
enum class StepKind : uint8_t { AllGather, Slice, AllToAll, ReduceScatter, AllReduce, Permute };

llvm::StringRef stepName(StepKind kind); ///< "AllGather", ...

struct Step {
  StepKind kind = StepKind::Slice;
  AxisList axes;          ///< the group: all ranks that differ along these axes only
  unsigned fromDim = 0;   ///< AllGather, AllToAll
  unsigned toDim = 0;     ///< Slice, AllToAll, ReduceScatter
  Sharding result;        ///< the sharding after this step
  int64_t inputBytes = 0; ///< bytes of the padded local piece before the step, on one device
  int64_t outputBytes = 0;

  /// `AllToAll{x1} 0->1`
  std::string str(const Mesh &mesh) const;
  friend bool operator==(const Step &, const Step &) = default;
};

/// Seconds of one step; must be positive for everything that communicates and >= 0 for Slice.
using StepPrice = llvm::function_ref<double(const Step &)>;

/// A sequence of steps and its price.
struct Redistribution {
  std::vector<Step> steps;
  double seconds = 0;
};

/// The cheapest sequence from `from` to `to`, by shortest path (Dijkstra) over all shardings of the tensor on this
/// mesh: exact for the price given, for steps over any suffix of a dim's axes. Every pair is reachable unless `to` is
/// partial over an axis that `from` is not partial over (there is no step that makes a tensor partial): an empty
/// optional. Ties: fewer steps, then the sharding met first in a fixed order.
std::optional<Redistribution> redistribute(const Sharding &from, const Sharding &to, const TensorShape &shape,
                                           const Mesh &mesh, StepPrice price);

/// The same for many pairs of one tensor: one search for each distinct `from`, kept. Not safe to share between threads.
class Redistributor {
public:
  Redistributor(const TensorShape &shape, const Mesh &mesh, std::function<double(const Step &)> price);
  ~Redistributor();
  Redistributor(Redistributor &&) noexcept;

  /// Seconds only, without building the steps.
  std::optional<double> seconds(const Sharding &from, const Sharding &to);
  std::optional<Redistribution> steps(const Sharding &from, const Sharding &to);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace apc
