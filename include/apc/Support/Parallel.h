// Splitting work over threads.
#pragma once

#include "apc/Support/WorkClock.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace apc {

/// Calls `work(0)` to `work(count - 1)`, each once, on at most \p numThreads threads (0 counts as 1), and returns when
/// all are done. Where no thread can be had, fewer do the work. Calls must not touch what others write.
void forEach(size_t count, unsigned numThreads, llvm::function_ref<void(size_t)> work);

/// The same where each call counts its work on a fork of \p clock; forks are joined when all are done.
void forEach(size_t count, unsigned numThreads, WorkClock &clock,
             llvm::function_ref<void(size_t, const std::shared_ptr<WorkClock> &)> work);

/// Calls `body(begin, end)` on as many disjoint ranges as there are threads, which cover [0, size): size 10 on 3
/// threads is [0, 3), [3, 6) and [6, 10).
void parallelRanges(size_t size, unsigned numThreads, llvm::function_ref<void(size_t, size_t)> body);

} // namespace apc
