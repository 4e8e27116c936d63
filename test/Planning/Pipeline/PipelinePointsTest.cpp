// Micro-batches that schedules hold in flight, and where.
#include "../../../lib/Planning/Pipeline/PipelinePoints.h"

#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

PipelinePoint pointOf(const char *schedule, int64_t chunks) {
  PlanRequest request;
  request.schedule = schedule;
  return llvm::cantFail(pipelinePoints(request, 4, chunks, 12)).front();
}

/// By stage: those that wait for their backward pass, and for gradients of weights alone, beside one that runs: "4+1,
/// 3+2"; where they are a part of their own, also while these run: "3+1|3+0".
std::string waitingIn(const PipelinePoint &point) {
  std::vector<std::string> workers;
  for (const WaitingMicroBatches &own : point.waiting()) {
    auto textOf = [](const WaitingAt &most) {
      return std::to_string(most.backward) + "+" + std::to_string(most.weights);
    };
    workers.push_back(textOf(own.besidePass));
    if (point.schedule->splitsBackward)
      workers.back() += "|" + textOf(own.besideWeights);
  }
  return llvm::join(workers, ", ");
}

} // namespace

// Worker r of p holds p - r micro-batches whole under ZB-H1 and 2 (p - r) - 1 under ZB-H2 (Qi et al. 2023,
// section 2.3), and those of the first worker in all.
TEST_CASE("A stage says how many of its micro-batches wait for gradients of weights alone") {
  using Counts = std::vector<int64_t>;
  CHECK(pointOf("1f1b", 1).inFlight() == Counts{4, 3, 2, 1});
  CHECK(waitingIn(pointOf("1f1b", 1)) == "3+0, 2+0, 1+0, 0+0");
  CHECK(pointOf("zb-h1", 1).inFlight() == Counts{4, 4, 4, 4});
  CHECK(waitingIn(pointOf("zb-h1", 1)) == "3+0|3+0, 2+1|2+1, 1+2|1+2, 0+3|0+3");
  CHECK(pointOf("zb-h2", 1).inFlight() == Counts{7, 7, 7, 7});
  CHECK(waitingIn(pointOf("zb-h2", 1)) == "6+0|6+0, 4+2|4+2, 2+4|2+4, 0+6|0+6");
  CHECK(waitingIn(pointOf("zb-v", 2)) == "7+0|7+0, 6+1|6+1, 5+2|5+2, 4+3|4+3, 3+2|3+2, 2+1|2+1, 1+0|1+0, 0+0|0+0");
}
