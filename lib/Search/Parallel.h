// Splitting a loop over threads.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace apc {

/// Calls `body(begin, end)` on disjoint ranges that cover [0, size), at most `numThreads` at once, and returns when all
/// are done. Where no thread can be had, the caller's does the work.
void parallelRanges(size_t size, unsigned numThreads, llvm::function_ref<void(size_t, size_t)> body);

} // namespace apc
