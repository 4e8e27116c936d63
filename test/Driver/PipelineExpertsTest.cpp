// Plans of whole clusters beside layouts that experts would try in their place. Minutes each: `APCDriverTests
// "[long]"`.
#include "../ValueOf.h"
#include "Samples.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A step of training on a cluster, and what experts vary of its layout; data parallelism has the devices that are
/// left.
struct ExpertCase {
  Sample sample;
  std::string loss; ///< empty where the model computes its own
  int64_t globalBatch;
  std::vector<int64_t> tensor, pipeline;
  std::vector<std::string> rest;      ///< micro-batch, chunks, recomputation
  std::vector<std::string> published; ///< layouts of runs and of configuration files
};

PlanRequest expertStep(const ExpertCase &own) {
  PlanRequest request = requestOf(own.sample);
  request.mode = StepMode::Train;
  request.loss = own.loss;
  request.globalBatch = own.globalBatch;
  return request;
}

std::vector<std::string> layoutsOf(const ExpertCase &own) {
  std::vector<std::string> layouts = own.published;
  for (int64_t tensor : own.tensor)
    for (int64_t pipeline : own.pipeline)
      for (llvm::StringRef rest : own.rest) {
        const int64_t data = own.sample.devices / (tensor * pipeline);
        if (data == 0)
          continue;
        layouts.push_back("dp=" + std::to_string(data) + ",tp=" + std::to_string(tensor) +
                          ",pp=" + std::to_string(pipeline) + ",zero=1," + rest.str());
      }
  return layouts;
}

/// The plan of all that is open is no slower than any layout that fits.
void checkBesideExperts(const ExpertCase &own, size_t least) {
  PlanRequest open = expertStep(own);
  open.pipeline.count.reset();
  open.timeLimitSeconds = 120; // where processors are slow or busy
  const Plan plan = valueOf(planModel(open, controlOf()));
  CHECK(plan.memory.total() <= plan.memoryLimitBytes);
  const std::vector<std::string> layouts = layoutsOf(own);
  CHECK(layouts.size() >= 60);
  size_t numFitting = 0;
  for (const std::string &text : layouts) {
    INFO(text << " beside " << plan.stepSeconds << " s");
    Plan layout = valueOf(evaluateModel(expertStep(own), valueOf(parseParallelDegrees(text, "test")), controlOf()));
    if (layout.memory.total() > layout.memoryLimitBytes)
      continue;
    ++numFitting;
    CHECK(plan.stepSeconds <= layout.stepSeconds * (1 + open.gapTolerance));
  }
  WARN(numFitting << " of " << layouts.size() << " layouts fit, the plan takes " << plan.stepSeconds << " s");
  CHECK(numFitting >= least); // many of them are a choice
}

const std::vector<std::string> usualRest = {"mb=1,recompute=none",          "mb=1,recompute=attention",
                                            "mb=1,recompute=full",          "mb=2,recompute=full",
                                            "mb=1,chunks=2,recompute=none", "mb=1,chunks=2,recompute=attention"};

/// Korthikanti et al., table 5, and the recipe of MLPerf Training, for GPT-3 175B.
std::vector<std::string> publishedOn(int64_t devices) {
  return {"dp=" + std::to_string(devices / 64) + ",tp=8,pp=8,chunks=3,mb=1,zero=1,recompute=attention",
          "dp=" + std::to_string(devices / 32) + ",tp=4,pp=8,chunks=6,mb=2,zero=1,recompute=attention"};
}

} // namespace

TEST_CASE("GPT-3 175B on 1,024 A100 is planned no slower than layouts of experts", "[.long]") {
  checkBesideExperts({{"gpt3_175b_loss.onnx", 1024, "dgx-a100-80gb"},
                      "",
                      1536,
                      {4, 8},
                      {4, 8, 16, 32, 2},
                      usualRest,
                      publishedOn(1024)},
                     20);
}

TEST_CASE("GPT-3 175B on 64 A100 is planned no slower than layouts of experts", "[.long]") {
  checkBesideExperts(
      {{"gpt3_175b_loss.onnx", 64, "dgx-a100-80gb"}, "", 64, {2, 4, 8}, {2, 4, 8, 16}, usualRest, publishedOn(64)}, 10);
}

TEST_CASE("GPT-3 175B on 16,384 A100 is planned no slower than layouts of experts", "[.long]") {
  checkBesideExperts({{"gpt3_175b_loss.onnx", 16384, "dgx-a100-80gb"},
                      "",
                      16384,
                      {4, 8},
                      {4, 8, 16, 32, 2},
                      usualRest,
                      publishedOn(16384)},
                     20);
}

TEST_CASE("Llama 3 70B on 512 H100 is planned no slower than layouts of experts", "[.long]") {
  checkBesideExperts({{"llama3_70b.onnx", 512, "dgx-h100", {{"seq", 8192}}},
                      "cross-entropy:logits",
                      512,
                      {4, 8},
                      {2, 4, 8, 16, 32},
                      usualRest,
                      {}},
                     20);
}

TEST_CASE("Mixtral 8x7B on 128 H100 is planned no slower than layouts of experts", "[.long]") {
  checkBesideExperts({{"mixtral_8x7b.onnx", 128, "dgx-h100", {{"seq", 4096}}},
                      "cross-entropy:logits",
                      256,
                      {1, 2, 4, 8},
                      {1, 2, 4, 8},
                      {"mb=1,recompute=none", "mb=1,recompute=attention", "mb=1,recompute=full", "mb=2,recompute=full"},
                      {}},
                     15);
}
