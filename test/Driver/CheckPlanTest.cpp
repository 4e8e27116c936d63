// A plan is searched again with the settings that its record holds.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Driver/CheckPlan.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The request that is read back from the record of a plan.
PlanRequest planAgain(const PlanRequest &request) {
  return valueOf(requestOf(recordOf(valueOf(planModel(request, controlOf()))), "model.baseline"));
}

} // namespace

TEST_CASE("planning again takes the limits of the search and the pins of the model as they were") {
  PlanRequest request = requestOf({"tiny/gpt/model.onnx", 4, "cpu-local"});
  request.timeLimitSeconds = 7;
  request.gapTolerance = 0.125;
  request.ignoresModelShardings = true;
  PlanRequest again = planAgain(request);
  CHECK(again.timeLimitSeconds == 7);
  CHECK(again.gapTolerance == 0.125);
  CHECK(again.ignoresModelShardings);
}

TEST_CASE("limits that were the default stay it") {
  PlanRequest request = requestOf({"tiny/gpt/model.onnx", 4, "cpu-local"});
  PlanRecord record = recordOf(valueOf(planModel(request, controlOf())));
  CHECK(record.settings.count("time-limit") == 0);
  CHECK(record.settings.count("gap") == 0);
  PlanRequest again = valueOf(requestOf(record, "model.baseline"));
  CHECK(again.timeLimitSeconds == PlanRequest().timeLimitSeconds);
  CHECK(again.gapTolerance == PlanRequest().gapTolerance);
  CHECK_FALSE(again.ignoresModelShardings);
}

TEST_CASE("a plan passes against its own record, and a record without its cluster is refused") {
  PlanRequest request = requestOf({"tiny/gpt/model.onnx", 4, "cpu-local"});
  PlanRecord record = recordOf(valueOf(planModel(request, controlOf())));
  CHECK(valueOf(checkPlan(request, controlOf(), record, 0)).comparison.passes());
  record.settings.erase("cluster");
  auto [fault, message] = takeMessage(checkPlan(request, controlOf(), record, 0).takeError());
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Catch::Contains("does not say with which cluster it was planned"));
}
