// One contiguous range for each thread.
#include "Parallel.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace apc {

void parallelRanges(size_t size, unsigned numThreads, llvm::function_ref<void(size_t, size_t)> body) {
  size_t numRanges = std::clamp<size_t>(numThreads, 1, std::max<size_t>(size, 1));
  std::vector<std::thread> threads;
  for (size_t range = 1; range < numRanges; ++range) {
    size_t begin = size * range / numRanges, end = size * (range + 1) / numRanges;
    try {
      threads.emplace_back([body, begin, end] { body(begin, end); });
    } catch (const std::system_error &) {
      body(begin, end);
    }
  }
  body(0, size / numRanges);
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace apc
