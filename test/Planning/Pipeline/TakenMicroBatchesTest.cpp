// Numbers of micro-batches that a named schedule takes, and what a refusal names.
#include "apc/Planning/TakenMicroBatches.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

PlanRequest requestOf(const std::string &schedule, int64_t microBatch) {
  PlanRequest request;
  request.schedule = schedule;
  request.microBatch = microBatch;
  return request;
}

std::string refusalOf(const PlanRequest &request, int64_t workers, int64_t batch) {
  return takeMessage(refusalOfBatch(request, workers, batch)).second;
}

} // namespace

TEST_CASE("schedules take micro-batches as their rows say") {
  PlanRequest request = requestOf("dualpipev", 1);
  CHECK(takesMicroBatches(request, 3, 6));
  CHECK_FALSE(takesMicroBatches(request, 3, 5));
  request.schedule = "1f1b";
  CHECK(takesMicroBatches(request, 3, 5)); // with one chunk
  request.chunks = {2};
  CHECK(takesMicroBatches(request, 3, 4));
  CHECK_FALSE(takesMicroBatches(request, 3, 2));
  for (const char *other : {"auto", "dualpipe", "no schedule"}) {
    request.schedule = other;
    CHECK(takesMicroBatches(request, 3, 1));
  }
}

TEST_CASE("the refusal of a micro-batch names numbers that divide its global batch, or other global batches") {
  CHECK(refusalOf(requestOf("dualpipev", 2), 3, 8) ==
        "schedule 'dualpipev' needs m >= 2 p; on 3 workers, a global batch of 8 in 4 micro-batches is refused, 8 "
        "micro-batches would do");
  CHECK(refusalOf(requestOf("dualpipev", 8), 3, 24).find("in 3 micro-batches is refused, 6 micro-batches would do") !=
        std::string::npos);
  CHECK(refusalOf(requestOf("interleaved", 4), 3, 8).find("in 2 micro-batches is refused, 4 micro-batches would do") !=
        std::string::npos);
  CHECK(refusalOf(requestOf("dualpipev", 4), 3, 4)
            .find("in 1 micro-batch is refused, with the same micro-batch a "
                  "global batch of 24 would do") != std::string::npos);
}
