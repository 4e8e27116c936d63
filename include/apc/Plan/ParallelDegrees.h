// The layouts that experts write down: so many ways of data parallelism, so many of tensor parallelism.
#pragma once

#include "apc/Plan/RecomputeChoice.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace apc {

/// `dp=8,tp=8,zero=3` on 64 devices: 8 groups of 8; the groups share the batch, the 8 of a group the weights. Groups
/// lie next to each other: tp takes the innermost (fastest) links, then cp, then dp; pp takes the outermost.
///
/// `dp=16,tp=8,pp=8,chunks=3,mb=1` on 1,024 devices: 8 workers of 128 devices; each has 3 stages, on a mesh of 16 x 8.
/// Micro-batches have 16 samples, one on each rank of dp.
struct ParallelDegrees {
  int64_t data = 1;   ///< dp: ways in which the batch is cut
  int64_t tensor = 1; ///< tp: ways in which weights are cut
  /// ZeRO's stage: 1 cuts the optimizer's state over dp, 2 the sums of gradients over micro-batches as well, 3 the
  /// parameters. Without training there is nothing for 1 and 2 to cut.
  int zero = 0;
  /// mb: samples of a micro-batch on one rank of dp, as Megatron counts them; dp=8,mb=2 has micro-batches of 16. None:
  /// the request's.
  std::optional<int64_t> microBatch = {};
  std::optional<RecomputeSetting> recompute = {}; ///< none: the request's
  int64_t pipeline = 1;                           ///< pp: workers of a pipeline; 1: no pipeline
  int64_t context = 1;                            ///< cp: ways in which sequences are cut
  int64_t experts = 1;                            ///< ep: ways in which experts are spread, over ranks of dp and cp
  /// etp: ways in which tp cuts the weights of each expert: as it cuts all others (none), or 1; ep then counts ranks of
  /// tp, too, each of which has a part of every sequence.
  std::optional<int64_t> expertTensor = {};
  /// sp: values between the weights that tp cuts may be cut along the sequence over tp, where that is cheapest. With 0
  /// no rank of tp has a part of a sequence, and rows are normalised whole.
  bool cutsSequences = true;
  std::optional<int64_t> chunks = {}; ///< stages of a worker; none: 1
  std::string schedule = {};          ///< "": 1f1b, or interleaved with several chunks
  int64_t copies = 1;                 ///< of a micro-batch, which run in turn
  /// shard: ranks of dp and cp next to each other over which ZeRO cuts. The groups of so many ranks are replicas of
  /// each other, as with PyTorch's hybrid sharding (HSDP). None: all ranks are one group.
  std::optional<int64_t> shard = {};

  friend bool operator==(const ParallelDegrees &, const ParallelDegrees &) = default;

  /// Experts lie on devices that dp, cp and tp count.
  int64_t numDevices() const { return data * context * tensor * pipeline; }
  bool hasWholeExperts() const { return expertTensor == 1; }
  /// The ranks over which ep may spread the experts of a stage.
  int64_t ranksOfExperts() const { return data * context * (hasWholeExperts() ? tensor : 1); }
  int64_t numChunks() const { return chunks.value_or(1); }
  std::string scheduleName() const; ///< the one that is meant where none is given
  std::string product() const;      ///< "dp x tp x pp = 16 x 8 x 8 = 1024": of dp and tp, and of all others beyond 1
  /// "dp=8,tp=8" or "dp=8,tp=8,pp=2,zero=3,mb=2,chunks=3,schedule=interleaved,recompute=full:26,norms"
  std::string str() const;
};

/// Reads the form above; keys in any order, each at most once; degrees are 1 and zero is 0 where they are left out.
/// Errors name `source`, the key and what would be accepted: also for chunks or a schedule without a pipeline, for an
/// ep or a shard that does not divide its ranks, for an etp between 1 and tp, or of 1 without parts of sequences, and
/// for a shard without ZeRO or beside ep.
llvm::Expected<ParallelDegrees> parseParallelDegrees(llvm::StringRef text, llvm::StringRef source);
/// The layout in the name of a reference, or of the search of a plan: "layout dp=2,tp=4"; none in other names.
std::optional<ParallelDegrees> layoutNamed(llvm::StringRef name);

} // namespace apc
