// Plans with a pipeline carried out: proven, run on all ranks, and compared with one device.
#include "../ValueOf.h"
#include "TinySteps.h"

#include "apc/Driver/ExecuteProgram.h"
#include "apc/Driver/PlannedProgram.h"
#include "apc/Driver/StagedProgram.h"
#include "apc/Import/ModelData.h"
#include "apc/Planning/Planning.h"

using namespace apc;
using Catch::Contains;

namespace {

Plan pipelinePlan(const TinyStep &tiny, int64_t devices, PipelineChoice workers, const std::string &schedule,
                  int64_t chunks) {
  PlanRequest request = requestOfStep(tiny);
  request.devices = devices;
  request.cluster = "cpu-local";
  request.pipeline = std::move(workers);
  request.chunks = {chunks};
  request.schedule = schedule;
  return valueOf(planModel(request, controlOf()));
}

void checkPlan(const Plan &plan) {
  REQUIRE(plan.pipeline);
  PlannedProgram built = valueOf(buildProgram(plan));
  REQUIRE(built.stages.size() == plan.stages.size());
  StagedProof proof = valueOf(verifyStages(built.stages, built.program, plan.stages));
  CHECK(proof.transfers.numTransfers >= plan.stages.size());
  CHECK(proof.total(plan.stages).peakBytes <= plan.memory.total());
  CHECK(proof.total(plan.stages).parameterBytes == plan.memory[MemoryCategory::Parameters]);
  ModelData data = valueOf(ModelData::open(built.modelPath));
  for (const OutputError &output :
       valueOf(executeProgram(*built.imported, built.program, parametersOf(data, &built.folded)))) {
    INFO(output.name << ": error " << output.relative << ", accepted " << output.accepted);
    CHECK(output.agrees());
  }
}

} // namespace

TEST_CASE("Plans with a pipeline are carried out, proven and run") {
  for (const char *model : {"gpt", "t5", "moe"})
    for (const char *schedule : {"1f1b", "gpipe", "zb-h1"}) {
      INFO(model << " under " << schedule);
      checkPlan(pipelinePlan({.model = model, .microBatch = 1}, 4, {2}, schedule, 1));
    }
}

TEST_CASE("Plans with two chunks on each worker are carried out, proven and run") {
  for (const char *model : {"t5", "unet", "resnet"})
    for (const char *schedule : {"interleaved", "zb-v"}) {
      INFO(model << " under " << schedule);
      checkPlan(pipelinePlan({.model = model, .microBatch = 1}, 4, {2}, schedule, 2));
    }
}

// Schedules hold micro-batches in two places and on several stages of a worker; of one micro-batch a stage needs most
// while it runs. The proof counts each action of the programs by itself.
TEST_CASE("The memory of workers is no less than their programs need, and hardly more") {
  constexpr double most = 1.06;
  const std::pair<const char *, int64_t> schedules[] = {
      {"1f1b", 1}, {"zb-h1", 1},          {"zb-h2", 1}, {"interleaved", 2}, {"interleaved-short", 2},
      {"bfs", 2},  {"interleaved-zb", 2}, {"zb-v", 2},  {"v-half", 2},      {"v-min", 2}};
  auto takesOne = [](llvm::StringRef schedule) { return schedule == "1f1b" || schedule == "bfs"; };
  for (const char *model : {"llama", "unet", "t5"})
    for (const auto &[schedule, chunks] : schedules)
      for (int64_t microBatches : {1, 2, 6}) {
        INFO(model << " under " << schedule << ", " << microBatches << " micro-batches");
        if (microBatches == 1 && !takesOne(schedule))
          continue;
        const TinyStep tiny{.model = model, .microBatch = 1, .globalBatch = microBatches};
        Plan plan = pipelinePlan(tiny, 2, {2}, schedule, chunks);
        PlannedProgram built = valueOf(buildProgram(plan));
        StagedProof proof = valueOf(verifyStages(built.stages, built.program, plan.stages));
        const auto proven = static_cast<double>(proof.total(plan.stages).peakBytes);
        CHECK(static_cast<double>(plan.memory.total()) <= most * proven);
      }
}

TEST_CASE("Plans with workers of unequal devices are carried out, proven and run") {
  const std::pair<int64_t, std::vector<int64_t>> sizes[] = {{4, {3, 1}}, {4, {1, 1, 2}}, {6, {4, 2}}, {5, {2, 3}}};
  for (const char *model : {"gpt", "t5", "unet"})
    for (const auto &[devices, ofWorkers] : sizes)
      for (const char *schedule : {"1f1b", "zb-h1"}) {
        PipelineChoice workers{static_cast<int64_t>(ofWorkers.size()), ofWorkers};
        INFO(model << " on " << workers.str() << " under " << schedule);
        Plan plan = pipelinePlan({.model = model, .microBatch = 2}, devices, workers, schedule, 1);
        CHECK(plan.pipeline->workerDevices == ofWorkers);
        CHECK(plan.stages.back().firstRank == devices - ofWorkers.back());
        CHECK(plan.stages.front().mesh.numDevices() == ofWorkers.front());
        checkPlan(plan);
      }
}

TEST_CASE("Devices that are no equal groups are shared by the work of the stages") {
  Plan plan = pipelinePlan({.model = "gpt", .microBatch = 2}, 4, {3}, "1f1b", 1);
  CHECK(plan.pipeline->workers == 3);
  CHECK(plan.pipeline->workerDevices.size() == 3);
  checkPlan(plan);
}

TEST_CASE("A plan with a pipeline whose cuts or schedule the model does not have is refused") {
  Plan plan = pipelinePlan({.model = "gpt", .microBatch = 1}, 2, {2}, "1f1b", 1);
  auto faultOf = [](const Plan &changed) {
    auto built = buildProgram(changed);
    return built ? "" : takeMessage(built.takeError()).second;
  };
  Plan other = plan;
  other.pipeline->cuts = {"nothing"};
  CHECK(faultOf(other) == "the model has no op 'nothing' in its forward pass, before which a stage could begin");
  other = plan;
  other.pipeline->schedule = "1f2b";
  CHECK_THAT(faultOf(other), Contains("1f2b"));
  other = plan;
  other.pipeline->workers = 3;
  CHECK_THAT(faultOf(other), Contains("the step is cut into 2 stages, the plan has 2 and its schedule 3"));
  other = plan;
  std::swap(other.stages[0], other.stages[1]);
  CHECK_THAT(faultOf(other), Contains("stage 0: plan: no "));
}
