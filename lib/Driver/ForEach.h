// Independent pieces of work on several threads.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace apc {

/// Calls `work(0)` to `work(count - 1)`, each once, on at most \p numThreads threads, and returns when all are done.
/// Calls must not touch what others write.
void forEach(size_t count, unsigned numThreads, llvm::function_ref<void(size_t)> work);

} // namespace apc
