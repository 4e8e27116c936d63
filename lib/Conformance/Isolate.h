// Pieces of work in processes of their own.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace apc {

struct IsolatedResult {
  std::string text;    ///< what the work gave
  std::string failure; ///< "killed by signal 6 (Aborted): ...", "ran longer than 60 s"; "" when it came to its end
  double seconds = 0;
};

/// Runs `work(0)` to `work(count - 1)`, up to `jobs` at a time, each in a forked process, and hands each result to
/// `done` in this process, in the order in which they end. Work that crashes or takes longer than `limitSeconds` is
/// a failure of that work alone; the last line that it wrote to stderr is part of the text. Must be called while this
/// process has one thread.
void runIsolated(size_t count, unsigned jobs, unsigned limitSeconds, llvm::function_ref<std::string(size_t)> work,
                 llvm::function_ref<void(size_t, IsolatedResult)> done);

} // namespace apc
