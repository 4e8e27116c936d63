// Threads that take the next piece of work until there is none.
#include "ForEach.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace apc {

void forEach(size_t count, unsigned numThreads, llvm::function_ref<void(size_t)> work) {
  std::atomic<size_t> next = 0;
  auto loop = [&] {
    for (size_t index = next++; index < count; index = next++)
      work(index);
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < std::min<size_t>(numThreads, count); ++i)
    helpers.emplace_back(loop);
  loop();
  for (std::thread &helper : helpers)
    helper.join();
}

} // namespace apc
