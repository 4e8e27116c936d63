// The memory of a stage of a pipeline, taken apart by what runs and what waits.
#pragma once

#include "apc/Cost/GraphCost.h"

namespace apc {

/// Bytes of one device. All micro-batches alike: with n that wait for their backward pass, k for gradients of weights
/// alone and one that runs its forward pass, a stage holds `pass` + n `atBackward` + k `atWeights`.
struct MemoryOfStage {
  MemoryTable idle;       ///< parameters, states and sums, and copies of weights that all that wait share
  MemoryTable pass;       ///< with `idle`: the fullest moment of a forward pass or of a backward pass
  MemoryTable weights;    ///< with `idle`: of gradients of weights, where they are a part of their own
  MemoryTable update;     ///< with `idle`: behind all micro-batches
  MemoryTable atBackward; ///< of a micro-batch that waits there
  MemoryTable atWeights;
  MemoryTable done;       ///< of the last micro-batch, once all have ended, for the update
  int64_t blockBytes = 0; ///< in blocks of a caching allocator, of one micro-batch alone, where the runtime has one
};

/// \p graph: of a stage, with one micro-batch in flight.
MemoryOfStage memoryOfStage(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                            llvm::ArrayRef<GraphMove> moves, llvm::ArrayRef<MoveBucket> buckets = {});

} // namespace apc
