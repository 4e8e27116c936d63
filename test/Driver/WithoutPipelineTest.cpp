// The step without a pipeline where the number of workers is open, by planners that answer as the tests say.
#include "../../lib/Driver/Training/Workers/WithoutPipeline.h"
#include "../ValueOf.h"

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The points that were planned, and the result.
struct WithoutRun {
  std::vector<std::string> points; ///< their policies, or "first of" one
  Without without;
};

using PlanOfStep = llvm::Expected<Without>(const PlanRequest &, const PointPlanner &);

/// Of a batch of one sample; what keeps everything does not fit, and the rest takes 8 s. A pipeline that is known takes
/// 9 s.
WithoutRun planFrom(std::optional<KnownStep> alone, PlanOfStep planOfStep = planWithout,
                    std::optional<RecomputeChoice> refused = std::nullopt) {
  PlanRequest request;
  request.mode = StepMode::Train;
  request.globalBatch = 1;
  request.pipeline = {};
  WithoutRun run;
  auto planOf = [](const PlanRequest &own) {
    Plan plan;
    plan.request = own;
    plan.stepSeconds = plan.lowerBoundSeconds = 8;
    plan.memoryLimitBytes = 1;
    plan.training = PlanTraining{};
    plan.training->recompute = own.recompute.str();
    return plan;
  };
  auto answer = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    if (refused && own.recompute == *refused)
      return inputError("not with pins");
    return own.recompute == RecomputeChoice::None ? noPlanError("does not fit") : llvm::Expected<Plan>(planOf(own));
  };
  auto whole = [&](const PlanRequest &own) {
    run.points.push_back(own.recompute.str());
    return answer(own);
  };
  auto first = [&](const PlanRequest &own, std::optional<double>) {
    run.points.push_back("first of " + own.recompute.str());
    return answer(own);
  };
  auto least = [&](const PlanRequest &own) -> llvm::Expected<LeastPlan> { return LeastPlan{planOf(own), false}; };
  auto onlyAdds = [](const PlanRequest &) -> llvm::Expected<bool> { return true; };
  auto bound = [](const PlanRequest &) -> llvm::Expected<PipelineBound> {
    PipelineBound share;
    share.shareSeconds = 8;
    return share;
  };
  PlanningControl control = PlanningControl().within(60).against(9);
  control.knownAlone = alone;
  run.without = valueOf(planOfStep(request, {whole, whole, whole, first, least, onlyAdds, bound, control}));
  return run;
}

} // namespace

TEST_CASE("A step without a pipeline is searched from a layout that has none and is not clearly slower than the best") {
  const ParallelDegrees layout = valueOf(parseParallelDegrees("dp=1,mb=1,recompute=mlp", "test"));
  const WithoutRun known = planFrom(KnownStep{layout, 9.5});
  CHECK(known.points.front() == "mlp");
  REQUIRE(known.without.plan);
  CHECK(known.without.plan->stepSeconds == 8);
  CHECK(known.without.isBounded);
  for (const WithoutRun &quick : {planFrom(std::nullopt), planFrom(KnownStep{layout, 11})}) {
    CHECK(quick.points == std::vector<std::string>{"first of none", "first of full"});
    CHECK_FALSE(quick.without.isBounded);
  }
}

TEST_CASE(
    "Where a pipeline is hardly faster than a layout without one, the point of that is planned before pipelines") {
  const ParallelDegrees layout = valueOf(parseParallelDegrees("dp=1,mb=1,recompute=mlp", "test"));
  const WithoutRun near = planFrom(KnownStep{layout, 9.2}, planLayoutWithout);
  CHECK(near.points == std::vector<std::string>{"mlp"});
  REQUIRE(near.without.plan);
  CHECK_FALSE(near.without.isBounded);
  CHECK(planFrom(KnownStep{layout, 9.5}, planLayoutWithout).points.empty());
  CHECK(planFrom(std::nullopt, planLayoutWithout).points.empty());
  const WithoutRun refused = planFrom(KnownStep{layout, 9.2}, planLayoutWithout, RecomputeChoice::Mlp);
  CHECK(refused.points.size() == 1);
  CHECK_FALSE(refused.without.plan);
  const ParallelDegrees large = valueOf(parseParallelDegrees("dp=1,mb=1,recompute=none", "test"));
  CHECK(planFrom(KnownStep{large, 9.2}, planLayoutWithout).without.tried.size() == 1); // does not fit
}

TEST_CASE("Pipelines know the plan without one where it is faster than the layout that is known") {
  Without without;
  auto known = [&](std::optional<double> layout) {
    return beside(without, PlanningControl().against(layout)).knownSeconds;
  };
  CHECK(known(9) == 9);
  without.plan.emplace().stepSeconds = 8;
  CHECK(known(9) == 8);
  CHECK(known(7) == 7);
  CHECK(!known(std::nullopt));
}
