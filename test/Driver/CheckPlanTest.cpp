// A plan is searched again with the settings that its record holds.
#include "../ValueOf.h"
#include "PlanRequests.h"

#include "apc/Driver/CheckPlan.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("planning again takes the limits of the search and the pins of the model as they were") {
  PlanOptions options = optionsOf(PlanRequest{"tiny/gpt/model.onnx", 4, "cpu-local"});
  options.searchOptions.timeLimitSeconds = 7;
  options.searchOptions.gapTolerance = 0.125;
  options.pinsFromModel = false;
  PlanOptions again = valueOf(optionsOf(recordOf(valueOf(planModel(options)))));
  CHECK(again.searchOptions.timeLimitSeconds == 7);
  CHECK(again.searchOptions.gapTolerance == 0.125);
  CHECK_FALSE(again.pinsFromModel);
}

TEST_CASE("limits that were the default stay it") {
  PlanRecord record = recordOf(valueOf(planModel(optionsOf(PlanRequest{"tiny/gpt/model.onnx", 4, "cpu-local"}))));
  CHECK_FALSE(record.settings.timeLimitSeconds);
  CHECK_FALSE(record.settings.gap);
  PlanOptions again = valueOf(optionsOf(record));
  CHECK(again.searchOptions.timeLimitSeconds == PlanOptions().searchOptions.timeLimitSeconds);
  CHECK(again.searchOptions.gapTolerance == PlanOptions().searchOptions.gapTolerance);
  CHECK(again.pinsFromModel);
}
