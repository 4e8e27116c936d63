// Work that crashes, hangs or talks, beside work that does none of it.
#include "../../lib/Conformance/Isolate.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

using namespace apc;

TEST_CASE("crashes and endless work are failures of that work alone") {
  std::vector<IsolatedResult> results(4);
  unsigned numDone = 0;
  runIsolated(
      4, 3, 2,
      [](size_t index) {
        if (index == 1) {
          std::cerr << "first\nindex out of range\n" << std::flush;
          std::abort();
        }
        if (index == 2)
          std::this_thread::sleep_for(std::chrono::minutes(5));
        return std::string(index == 3 ? 1 << 20 : 1, static_cast<char>('a' + index));
      },
      [&](size_t index, IsolatedResult result) {
        results[index] = std::move(result);
        ++numDone;
      });
  CHECK(numDone == 4);
  CHECK(results[0].text == "a");
  CHECK(results[0].failure.empty());
  CHECK_THAT(results[1].failure, Catch::Contains("killed by signal 6") && Catch::EndsWith("index out of range"));
  CHECK(results[2].failure == "ran longer than 2 s");
  CHECK(results[3].text == std::string(1 << 20, 'd'));
}
