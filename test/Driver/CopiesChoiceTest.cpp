// The choice between whole micro-batches and copies of them, by planners that answer as the tests say.
#include "../../lib/Driver/Training/ChooseCopies.h"

#include "../ValueOf.h"

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A request that leaves the copies open and nothing else that is searched around a step.
PlanRequest openCopies() {
  PlanRequest request;
  request.mode = StepMode::Train;
  request.recompute = RecomputeChoice::None;
  request.globalBatch = 8;
  request.microBatch = 4;
  request.pipeline = {2};
  request.copies = {};
  return request;
}

/// A pipeline of \p own with a schedule of pieces, half of whose seconds are communication that nothing hides.
Plan answer(const PlanRequest &own, double seconds) {
  Plan plan;
  plan.request = own;
  plan.stepSeconds = seconds;
  plan.exposedCommunicationSeconds = seconds / 2;
  plan.training.emplace().globalBatch = *own.globalBatch;
  plan.training->microBatch = *own.microBatch;
  plan.training->copies = copiesOf(own);
  plan.pipeline.emplace().workers = *own.pipeline.count;
  plan.pipeline->schedule = "interleaved";
  plan.pipeline->chunks = 3;
  return plan;
}

llvm::Expected<Plan> choose(PlanOfRequest whole) {
  auto never = [](const PlanRequest &) -> llvm::Expected<Plan> { return internalError("not asked for"); };
  auto first = [](const PlanRequest &, std::optional<double>) -> llvm::Expected<Plan> {
    return internalError("not asked for");
  };
  auto least = [](const PlanRequest &) -> llvm::Expected<LeastPlan> { return internalError("not asked for"); };
  auto onlyAdds = [](const PlanRequest &) -> llvm::Expected<bool> { return internalError("not asked for"); };
  auto bound = [](const PlanRequest &) -> llvm::Expected<PipelineBound> { return internalError("not asked for"); };
  const PlanningControl control = PlanningControl().within(60);
  return chooseCopies(openCopies(), {whole, never, never, first, least, onlyAdds, bound, control});
}

} // namespace

TEST_CASE("A fault inside of planning copies is told, and a lack of memory is the reason why there are none") {
  Fault fault = GENERATE(Fault::Internal, Fault::NoPlan);
  llvm::Expected<Plan> plan = choose([&](const PlanRequest &own) -> llvm::Expected<Plan> {
    if (copiesOf(own) == 2)
      return llvm::make_error<PlannerError>(fault, "two copies cannot be");
    return answer(own, 10);
  });
  if (fault == Fault::Internal) {
    REQUIRE(!plan);
    CHECK(takeMessage(plan.takeError()) == std::pair(fault, std::string("two copies cannot be")));
    return;
  }
  const Plan whole = valueOf(std::move(plan));
  CHECK(whole.stepSeconds == 10);
  REQUIRE(whole.tried.size() == 2);
  CHECK(whole.tried.back().copies == 2);
  CHECK(whole.tried.back().reason == "two copies cannot be");
}

TEST_CASE("Copies are planned with the schedule that was found without them, and leave it open in the request") {
  PlanRequest ofCopies;
  const Plan plan = valueOf(choose([&](const PlanRequest &own) -> llvm::Expected<Plan> {
    if (copiesOf(own) == 2)
      ofCopies = own;
    return answer(own, copiesOf(own) == 2 ? 8 : 10);
  }));
  CHECK(ofCopies.schedule == "interleaved");
  CHECK(ofCopies.chunks.count == 3);
  CHECK(plan.stepSeconds == 8);
  CHECK(copiesOf(plan.request) == 2);
  CHECK(plan.request.schedule == "auto");
  CHECK(!plan.request.chunks.count);
  CHECK(plan.request.timeLimitSeconds == openCopies().timeLimitSeconds);
}
