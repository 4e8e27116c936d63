// Out of memory, and faults that LLVM finds: our words and exit codes. Nothing here allocates.
#include "FatalErrors.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace apc {

namespace {

/// Threads may fail together: the first has the word.
std::atomic_flag isEnding = ATOMIC_FLAG_INIT;

[[noreturn]] void end(llvm::StringRef message, const char *detail, Fault fault) {
  if (isEnding.test_and_set())
    for (;;)
      pause();
  for (llvm::StringRef part :
       {llvm::StringRef("apc: error: "), message, llvm::StringRef(detail), llvm::StringRef("\n")})
    if (write(STDERR_FILENO, part.data(), part.size()) < 0)
      break;
  _exit(static_cast<int>(fault));
}

void onBadAlloc(void *, const char *, bool) {
  end("out of memory: the system gives no more (ulimit -v, a container's limit); fewer --threads and --mesh-axes, "
      "fewer devices or a smaller model need less",
      "", Fault::Input);
}

void onFatalError(void *, const char *reason, bool) {
  end("a fault of apc itself, please report it with the command and its files: ", reason, Fault::Internal);
}

} // namespace

void installFatalErrors() {
  llvm::install_bad_alloc_error_handler(onBadAlloc);
  llvm::install_fatal_error_handler(onFatalError);
  std::signal(SIGXFSZ, SIG_IGN); // a file too large for the limit is the error of a write, which tidies up
  llvm::setBugReportMsg("apc: a fault of apc itself; please report it with the command and its files.\n");
}

} // namespace apc
