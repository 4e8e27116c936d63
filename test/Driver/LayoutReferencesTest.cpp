// Layouts beside a plan: what ends the trials of them at once, and when others are tried.
#include "../../lib/Driver/Training/Layouts/LayoutReferences.h"

#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;
using Catch::Contains;

namespace {

PlanRequest tinyTraining(llvm::StringRef loss) {
  PlanRequest request = requestOf({"tiny/training/gpt/model.onnx", 8, "dgx-h100"});
  request.mode = StepMode::Train;
  request.loss = loss.str();
  request.globalBatch = 8;
  request.pipeline.count = 2;
  return request;
}

/// Plans beside layouts none of which can be; `search` finds nothing either, for a reason.
struct Trial {
  std::string message;
  int64_t layouts = 0, searches = 0;

  Trial(const PlanRequest &request, Fault fault) {
    auto figures = [&](const PlanRequest &, const ParallelDegrees &layout, std::optional<double>,
                       const std::shared_ptr<WorkClock> &) -> llvm::Expected<LayoutFigures> {
      ++layouts;
      return inputError("{0} cannot be", layout.str());
    };
    auto countStep = [](const PlanRequest &, const ParallelDegrees &, WorkClock &) {};
    auto planOf = [](const PlanRequest &, const ParallelDegrees &) -> llvm::Expected<Plan> {
      return internalError("there is nothing to plan");
    };
    auto search = [&](const PlanRequest &, const LayoutReferences &) -> llvm::Expected<Plan> {
      ++searches;
      return llvm::make_error<PlannerError>(fault, "nothing was found");
    };
    llvm::Expected<Plan> plan =
        planBesideLayouts(request, search, {figures, countStep, planOf}, controlOf().within(request.timeLimitSeconds));
    REQUIRE(!plan);
    message = takeMessage(plan.takeError()).second;
  }
};

} // namespace

TEST_CASE("Of a model that gives no training step one layout is tried, and nothing is searched") {
  Trial trial(tinyTraining(/*loss=*/""), Fault::NoPlan);
  CHECK_THAT(trial.message, Contains("no output is one float"));
  CHECK(trial.layouts == 1);
  CHECK(trial.searches == 0);
}

TEST_CASE("A batch that the model leaves open is that of the request when its step is checked") {
  PlanRequest request = requestOf({"gpt3_6_7b_dyn.onnx", 16, "dgx-h100"});
  request.mode = StepMode::Train;
  request.dims["seq"] = 16;
  request.globalBatch = 16;
  request.pipeline.count = 2;
  Trial trial(request, Fault::NoPlan);
  CHECK_THAT(trial.message, Contains("nothing was found"));
  CHECK(trial.searches == 1);
}

TEST_CASE("Other numbers of workers are tried where nothing fits, but not for a request that is wrong") {
  const PlanRequest request = tinyTraining("cross-entropy:logits");
  Trial wrong(request, Fault::Input), none(request, Fault::NoPlan);
  CHECK(wrong.message == "nothing was found");
  CHECK_THAT(none.message, Contains("nothing was found"));
  CHECK(wrong.layouts > 1);
  CHECK(none.layouts > wrong.layouts);
  CHECK(wrong.searches == 1);
  CHECK(none.searches == 1);
}
