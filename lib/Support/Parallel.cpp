// Threads that take the next piece of work until there is none.
#include "apc/Support/Parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace apc {

void forEach(size_t count, unsigned numThreads, llvm::function_ref<void(size_t)> work) {
  std::atomic<size_t> next = 0;
  auto loop = [&] {
    for (size_t index = next++; index < count; index = next++)
      work(index);
  };
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < std::min<size_t>(numThreads, count))
      threads.emplace_back(loop);
  } catch (const std::system_error &) {
    // Those that there are, and this one, do the rest.
  }
  loop();
  for (std::thread &thread : threads)
    thread.join();
}

void forEach(size_t count, unsigned numThreads, WorkClock &clock,
             llvm::function_ref<void(size_t, const std::shared_ptr<WorkClock> &)> work) {
  std::vector<std::shared_ptr<WorkClock>> forks;
  for (size_t index = 0; index < count; ++index)
    forks.push_back(clock.fork());
  forEach(count, numThreads, [&](size_t index) { work(index, forks[index]); });
  for (const std::shared_ptr<WorkClock> &fork : forks)
    clock.join(*fork);
}

void parallelRanges(size_t size, unsigned numThreads, llvm::function_ref<void(size_t, size_t)> body) {
  size_t numRanges = std::clamp<size_t>(numThreads, 1, std::max<size_t>(size, 1));
  forEach(numRanges, numThreads, [&](size_t range) { body(size * range / numRanges, size * (range + 1) / numRanges); });
}

} // namespace apc
