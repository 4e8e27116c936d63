// The origin that a plan states: a search, or another one that plans have.
#include "../ValueOf.h"
#include "TinySteps.h"

#include "apc/Driver/GraphOfStep.h"
#include "apc/Planning/CheckStatements.h"
#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;
using Catch::Contains;

TEST_CASE("a plan comes from a search or another origin that plans have") {
  const PlanRequest request = requestOf({"tiny/gpt/model.onnx", 4, "cpu-local"});
  const Plan plan = valueOf(planModel(request, controlOf()));
  const OpGraph graph = valueOf(graphAsRun(importedStep(request).graph, request));
  auto faultOf = [&](const std::string &origin) -> std::string {
    Plan changed = plan;
    changed.search = origin;
    llvm::Error error = checkStatements(graph, changed);
    return error ? takeMessage(std::move(error)).second : "";
  };
  for (const char *origin : {"auto", "dp", "data parallel", "pins", "reference: data parallel", "layout dp=2,pp=2"})
    CHECK(faultOf(origin) == "");
  CHECK_THAT(faultOf(std::string(1, '\0')), Contains("search is") && Contains("'data parallel' or 'pins' is expected"));
  CHECK_THAT(faultOf("reference: "), Contains("is expected"));
  CHECK_THAT(faultOf("layout dp=none"), Contains("search is \"layout dp=none\""));
}
