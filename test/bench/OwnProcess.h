// Measures of processes, for the benchmarks.
#pragma once

#include "apc/Support/Units.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace apc {

/// Processor seconds of this process so far, all threads: on a machine that is shared, steadier than the time that
/// passes.
inline double processorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The most memory that this process has held, as text: "309 MiB".
inline std::string peakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return formatBytes(static_cast<double>(usage.ru_maxrss) * 1024);
}

/// The cells that `measure` returns, run in a process of its own, so that its peak memory is its own.
inline std::vector<std::string> inOwnProcess(llvm::function_ref<std::vector<std::string>()> measure) {
  int ends[2];
  if (pipe(ends) != 0)
    return {"no pipe"};
  pid_t child = fork();
  if (child == 0) {
    std::string text = llvm::join(measure(), "\t");
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  llvm::SmallVector<llvm::StringRef> cells;
  llvm::StringRef(text).split(cells, '\t');
  return {cells.begin(), cells.end()};
}

} // namespace apc
