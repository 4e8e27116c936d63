// A plan beside the layouts that an expert would try in its place. Takes a minute: ctest runs it beside the others, as
// Driver.ExpertLayouts.
#include "../ValueOf.h"
#include "Samples.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Llama 3 8B by 128 texts of 8,192 tokens.
PlanRequest llama() {
  PlanRequest request = requestOf({"llama3_8b.onnx", 64, "dgx-h100", {{"seq", 8192}}});
  request.mode = StepMode::Train;
  request.loss = "cross-entropy:logits";
  request.globalBatch = 128;
  return request;
}

constexpr const char *degrees[] = {"dp=64,tp=1", "dp=32,tp=2", "dp=16,tp=4", "dp=8,tp=8"};
constexpr const char *storages[] = {"zero=1", "zero=3"};
constexpr const char *microBatches[] = {"mb=1", "mb=1,recompute=norms", "mb=1,recompute=full", "mb=2",
                                        "mb=2,recompute=full"};

} // namespace

TEST_CASE("Llama 3 8B on 64 H100 is planned within 3 % of the best of 40 layouts of experts", "[.layouts]") {
  Plan plan = valueOf(planModel(llama(), controlOf()));
  CHECK(plan.memory.total() <= plan.memoryLimitBytes);
  unsigned numFitting = 0;
  for (llvm::StringRef ways : degrees)
    for (llvm::StringRef storage : storages)
      for (llvm::StringRef micro : microBatches) {
        std::string text = (ways + "," + storage + "," + micro).str();
        Plan layout = valueOf(evaluateModel(llama(), valueOf(parseParallelDegrees(text, "--layout")), controlOf()));
        if (layout.memory.total() > layout.memoryLimitBytes)
          continue;
        ++numFitting;
        INFO(text << " takes " << layout.stepSeconds << " s");
        CHECK(plan.stepSeconds <= layout.stepSeconds * 1.03);
      }
  CHECK(numFitting >= 30); // most of the 40 are a choice
}
