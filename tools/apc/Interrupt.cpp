// Ctrl-C and progress: how a person and a running search talk to each other.
#include "Flags.h"

#include "apc/Support/Units.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>

namespace apc {

namespace {

/// A signal has nowhere else to leave its mark.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void onInterrupt(int) {
  interrupted.store(true, std::memory_order_relaxed);
  std::signal(SIGINT, SIG_DFL);
}

} // namespace

const std::atomic<bool> *stopOnInterrupt() {
  std::signal(SIGINT, onInterrupt);
  return &interrupted;
}

void printProgress(const SearchProgress &progress) {
  std::string line = llvm::formatv("apc: {0}: step {1} (found after {2}), bound {3}, gap {4:f2} %\n", progress.phase,
                                   formatSeconds(progress.seconds), formatSeconds(progress.elapsedSeconds),
                                   formatSeconds(progress.lowerBoundSeconds), 100 * progress.gap)
                         .str();
  llvm::errs() << line;
}

} // namespace apc
