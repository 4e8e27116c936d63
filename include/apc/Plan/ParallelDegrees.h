// The layouts that experts write down: so many ways of data parallelism, so many of tensor parallelism.
#pragma once

#include "apc/Plan/RecomputeChoice.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace apc {

/// `dp=8,tp=8,zero=3` on 64 devices: 8 groups of 8; the groups share the batch, the 8 of a group the weights. Groups
/// lie next to each other: tp takes the innermost (fastest) links, dp what is left.
struct ParallelDegrees {
  int64_t data = 1;   ///< dp: ways in which the batch is cut
  int64_t tensor = 1; ///< tp: ways in which weights are cut
  /// ZeRO's stage: 1 cuts the optimizer's state over dp, 2 the sums of gradients over micro-batches as well, 3 the
  /// parameters. Without training there is nothing for 1 and 2 to cut.
  int zero = 0;
  /// mb: samples of a micro-batch on one rank of dp; dp=8,mb=2 has micro-batches of 16. None: the request's.
  std::optional<int64_t> microBatch = {};
  std::optional<RecomputeSetting> recompute = {}; ///< none: the request's

  friend bool operator==(const ParallelDegrees &, const ParallelDegrees &) = default;

  int64_t numDevices() const { return data * tensor; }
  std::string str() const; ///< "dp=8,tp=8" or "dp=8,tp=8,zero=3,mb=2,recompute=full:26,norms"
};

/// Reads the form above; keys in any order, each at most once; dp and tp are 1 and zero is 0 where they are left out.
/// Errors name `source`, the key and what would be accepted.
llvm::Expected<ParallelDegrees> parseParallelDegrees(llvm::StringRef text, llvm::StringRef source);

} // namespace apc
