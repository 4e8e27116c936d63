// Work over threads: every piece once, whatever the number of threads.
#include "apc/Support/Parallel.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <vector>

using namespace apc;

TEST_CASE("every piece of work is done once, on any number of threads") {
  for (size_t count : {0, 1, 2, 100})
    for (unsigned threads : {0, 1, 2, 7, 200}) {
      INFO(count << " pieces on " << threads << " threads");
      std::vector<std::atomic<int>> times(count);
      forEach(count, threads, [&](size_t index) { ++times[index]; });
      for (const std::atomic<int> &each : times)
        CHECK(each == 1);
    }
}

TEST_CASE("ranges cover everything once, one for each thread") {
  for (size_t size : {0, 1, 10, 1000})
    for (unsigned threads : {0, 1, 3, 16}) {
      INFO(size << " on " << threads << " threads");
      std::vector<std::atomic<int>> times(size);
      std::atomic<size_t> numRanges = 0;
      parallelRanges(size, threads, [&](size_t begin, size_t end) {
        ++numRanges;
        for (size_t index = begin; index < end; ++index)
          ++times[index];
      });
      CHECK(numRanges == std::max<size_t>(1, std::min<size_t>(threads, size)));
      for (const std::atomic<int> &each : times)
        CHECK(each == 1);
    }
}
