// The memory of the workers of a pipeline, by the micro-batches in flight.
#pragma once

#include "apc/IR/Program/Program.h"

#include "llvm/Support/Error.h"

namespace apc {

/// By worker, the bytes of one device: parameters, states and sums of all its stages, and the values of the
/// micro-batches between their forward pass and the end of their backward pass (`programBytes`), at the fullest moment
/// of its list or of the updates behind it. Inputs come with their micro-batch. The lists are those that `stageEvents`
/// accepts. Errors (a failed check): a function is missing.
llvm::Expected<std::vector<int64_t>> workerBytes(const Program &program);

} // namespace apc
