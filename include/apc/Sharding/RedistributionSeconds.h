// Seconds of redistributions between many shardings of many tensors, for the tables of a search problem.
#pragma once

#include "apc/Sharding/Redistribution.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace apc {

/// The same seconds as those of a Redistributor of each tensor, bit for bit, without the collectives. Searches are
/// shared: one graph for all tensors of as many dims, one search for all tensors of the same extents in any order,
/// where extents of 1 do not count ([8, 1, 4096] and [4096, 8] are moved alike), and all sources of a search at the
/// same time. Not safe to share between threads.
class RedistributionSeconds {
public:
  /// \p cost follows from a collective's kind, axes and bytes, and those of its tensor, alone: unlike a Redistributor's
  /// it must not look at the dims.
  RedistributionSeconds(const Mesh &mesh, SecondsOfCollective cost);
  ~RedistributionSeconds();

  /// The seconds from one source to every target; empty where `redistribute` is.
  using Row = llvm::ArrayRef<std::optional<double>>;
  /// Calls \p take with the row of each source, in order.
  void between(const TensorShape &shape, llvm::ArrayRef<Sharding> sources, llvm::ArrayRef<Sharding> targets,
               llvm::function_ref<void(size_t source, Row seconds)> take);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace apc
