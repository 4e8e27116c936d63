// Gradients of weights in 16 bits that are summed and reduced in 32: bytes of states, collectives, and the judge.
#include "../ValueOf.h"
#include "GptText.h"
#include "TinySteps.h"

#include "apc/Autodiff/TrainingStep.h"
#include "apc/Driver/ExecuteProgram.h"
#include "apc/Driver/PlannedProgram.h"
#include "apc/IR/Apc.h"
#include "apc/Transforms/BuildGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr int64_t hiddenSize = 256, layerParameters = 12 * hiddenSize * hiddenSize + 4 * hiddenSize;

OpGraph stepOf(int64_t batch, bool widens, int64_t microBatches) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(gptText({batch, 1, hiddenSize, 4, 1, 0, "f32"}), &context);
  REQUIRE(module);
  TrainingOptions options;
  options.loss = "sum:y";
  options.precision = Precision::Bf16;
  options.widensGradients = widens;
  options.microBatches = microBatches;
  return valueOf(graphOfModel(*valueOf(buildTrainingStep(*module, options)).module, "gpt"));
}

Plan planOn(const OpGraph &graph, const ParallelDegrees &layout) {
  PlanRequest request = requestOf({"", layout.numDevices(), "dgx-h100"});
  request.mode = StepMode::Train;
  return valueOf(evaluateLayout(graph, request, valueOf(readTarget(request)), layout, {}));
}

/// Of parameters, gradients and states on a device, for each parameter of the model.
double statesPerParameter(const Plan &plan) {
  int64_t bytes = plan.memory[MemoryCategory::Parameters] + plan.memory[MemoryCategory::Gradients] +
                  plan.memory[MemoryCategory::Optimizer];
  return static_cast<double>(bytes) / static_cast<double>(layerParameters);
}

} // namespace

// Megatron-LM's table of its distributed optimizer: weights of 2 bytes, gradients of 4, and masters and two moments of
// 4 each: 18 bytes for each parameter, and 6 + 12 / d where the last three are cut. ZeRO's table has gradients of 2.
TEST_CASE("With gradients in 32 bits states take 18 bytes for each parameter, and 6 + 12 / d where they are cut") {
  for (int64_t microBatches : {1, 2}) {
    INFO(microBatches);
    // Where the memory of one micro-batch is largest, gradients of one product and the norm before it are to come.
    double missing = microBatches > 1 ? 0 : 4.0 * (hiddenSize * hiddenSize + 2 * hiddenSize) / double(layerParameters);
    OpGraph wide = stepOf(8, /*widens=*/true, microBatches);
    CHECK(statesPerParameter(planOn(wide, {1, 1})) == Approx(18 - missing).epsilon(1e-3));
    for (int64_t d : {2, 4, 8})
      CHECK(statesPerParameter(planOn(wide, {d, 1, 1})) == Approx(6 + 12.0 / double(d) - missing).epsilon(2e-3));
  }
  CHECK(statesPerParameter(planOn(stepOf(8, /*widens=*/false, 1), {1, 1})) == Approx(16).epsilon(1e-3));
}

TEST_CASE("Reductions over devices have the bits that sums of gradients have") {
  // Every byte of the gradients of all parameters, once for each micro-batch at ZeRO's stage 2.
  for (bool widens : {false, true})
    for (int64_t microBatches : {1, 2}) {
      INFO(widens << " " << microBatches);
      OpGraph graph = stepOf(8, widens, microBatches);
      auto reduced = [&](const ParallelDegrees &layout, const char *collective) {
        Plan plan = planOn(graph, layout);
        auto found = plan.communicationBytes.find(collective);
        return found == plan.communicationBytes.end() ? 0 : double(found->second);
      };
      double once = reduced({4, 1, 0}, "AllReduce") / double(layerParameters);
      CHECK(once == Approx(widens || microBatches > 1 ? 4 : 2).epsilon(1e-3));
      double cut = reduced({4, 1, 2}, "ReduceScatter") / double(layerParameters);
      CHECK(cut == Approx((widens ? 4.0 : 2.0) * double(microBatches)).epsilon(1e-3));
    }
}

// 2 + 2 bytes that are gathered for each parameter, for both passes, and 4 that are reduced, by rings. The backward
// pass reads no biases of the two norms.
TEST_CASE("ZeRO 3 sends (2 + 2 + 4) P (N - 1) / N bytes with gradients in 32 bits") {
  for (int64_t n : {2, 4, 8}) {
    INFO(n);
    Plan plan = planOn(stepOf(8, /*widens=*/true, 1), {n, 1, 3});
    std::map<std::string, int64_t> received;
    for (const PlanCollectives &row : plan.stages.front().collectives)
      received[row.collective] += row.receivedBytes;
    const double each = double(layerParameters) * double(n - 1) / double(n);
    CHECK(double(received["AllGather"]) / each == Approx(2 + 2 * (1 - 3.0 * hiddenSize / double(layerParameters))));
    CHECK(double(received["ReduceScatter"]) / each == Approx(4));
    CHECK(double(received["AllGather"] + received["ReduceScatter"]) / each == Approx(2 + 2 + 4).epsilon(1e-3));
  }
}

TEST_CASE("Steps with gradients in 32 bits are those of one device, whatever is cut") {
  for (const char *layout : {"dp=2,tp=2", "dp=3,zero=1", "dp=3,zero=2,mb=1", "dp=2,tp=2,zero=3"})
    checkTinyGptStep(layout, [](PlanRequest &request) {
      request.precision = PrecisionChoice::Bf16;
      request.fp32Gradients = true;
      request.clipNorm = 1;
    });
}

// The class token of a ViT: a parameter that is joined with the patches, which a convolution makes.
TEST_CASE("A parameter that is joined with activations widens its own gradient alone") {
  PlanRequest request = requestOfStep({.model = "vit", .precision = PrecisionChoice::Bf16});
  request.fp32Gradients = true;
  request.cluster = "cpu-local";
  request.devices = 2;
  PlannedProgram built = valueOf(buildProgram(valueOf(planModel(request, controlOf()))));
  auto data = valueOf(ModelData::open(built.modelPath));
  for (const OutputError &output :
       valueOf(executeProgram(*built.imported, built.program, parametersOf(data, &built.folded)))) {
    INFO(output.name);
    CHECK(output.agrees());
  }
}
