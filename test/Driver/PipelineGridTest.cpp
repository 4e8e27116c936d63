// The tiny models under every schedule, worker count, micro-batch count, number of copies and stage of ZeRO, beside one
// device.
#include "../ValueOf.h"
#include "StagedSteps.h"

#include "apc/Driver/StagedProgram.h"
#include "apc/Graph/StageGraph.h"
#include "apc/Partition/VerifyStageOps.h"
#include "apc/Planning/Planning.h"
#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Schedule/Pipeline/SimulatePipeline.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

using namespace apc;

namespace {

/// A step of a model on `workers` groups of `ways` x `tensor` ranks.
struct GridCase {
  const char *model;
  uint32_t workers;
  int64_t ways, tensor; ///< in which a stage cuts the batch, and its weights
  int zero;
  const PipelineSchedule *schedule;
  uint32_t chunks, microBatches;
  int64_t copies = 1; ///< of each micro-batch

  int64_t devices() const { return workers * ways * tensor; }
  std::string str() const {
    return llvm::formatv("{0} under {1} on {2} workers of dp={3},tp={4},zero={5} with {6} chunks, {7} micro-batches "
                         "in {8} copies",
                         model, schedule->name, workers, ways, tensor, zero, chunks, microBatches, copies)
        .str();
  }
};

constexpr const char *gridModels[] = {"gpt", "llama", "t5", "unet", "moe"};

/// Devices, workers and stages of ZeRO; with one rank for each worker there is nothing to cut.
std::vector<GridCase> layoutsOf(const char *model) {
  std::vector<GridCase> layouts;
  for (int64_t devices : {2, 4, 8})
    for (uint32_t workers : {2U, 4U}) {
      int64_t ranks = devices / workers;
      if (ranks == 0)
        continue;
      for (int zero : {0, 1, 2, 3})
        if (zero == 0 || ranks > 1)
          layouts.push_back({model, workers, ranks, 1, zero, nullptr, 0, 0});
      if (ranks == 4)
        layouts.push_back({model, workers, 2, 2, 1, nullptr, 0, 0});
    }
  return layouts;
}

/// All cases of a model; those that their schedules refuse, too.
std::vector<GridCase> casesOf(const char *model) {
  std::vector<GridCase> cases;
  for (GridCase own : layoutsOf(model))
    for (const PipelineSchedule &schedule : allPipelineSchedules())
      for (uint32_t microBatches : {1U, 4U, 8U})
        for (int64_t copies : {1, 2}) {
          own.schedule = &schedule;
          own.chunks = schedule.leastChunks;
          own.microBatches = microBatches;
          own.copies = copies;
          cases.push_back(own);
        }
  return cases;
}

/// Steps by the numbers that they depend on, each imported once.
class ImportedSteps {
public:
  struct Step {
    PlanRequest request;
    ImportedStep imported;
  };
  const Step &of(const GridCase &own) {
    int64_t microBatch = std::max<int64_t>(own.ways, 2) * own.copies;
    auto [found, isNew] = steps.try_emplace({own.model, microBatch, own.microBatches, own.copies});
    if (isNew) {
      TinyStep tiny{.model = own.model,
                    .optimizer = own.microBatches == 4 ? OptimizerChoice::Adam : OptimizerChoice::Momentum,
                    .microBatch = microBatch,
                    .clipNorm = own.microBatches == 8 ? std::optional(1.0) : std::nullopt,
                    .globalBatch = microBatch * own.microBatches};
      found->second.request = requestOfStep(tiny);
      found->second.request.cluster = "cpu-local";
      found->second.request.copies = {own.copies};
      found->second.imported = importedStep(found->second.request);
    }
    return found->second;
  }

private:
  std::map<std::tuple<std::string, int64_t, uint32_t, int64_t>, Step> steps;
};

std::vector<StagePlan> planStages(const GridCase &own, const PlanRequest &wanted, const CutModule &cut,
                                  const ActionLists &lists) {
  PlanRequest request = wanted;
  request.devices = own.ways * own.tensor;
  PlanningTarget target = valueOf(readTarget(request));
  PipelineSimulator simulator = valueOf(PipelineSimulator::make(lists));
  std::vector<StagePlan> plans;
  for (unsigned stage = 0; stage < cut.split.numStages; ++stage) {
    int64_t inFlight = 1;
    for (const LiveCounts &live : simulator.liveCounts(stage))
      inFlight = std::max<int64_t>(inFlight, live.whole + live.kept);
    OpGraph graph = withInFlight(stageGraph(cut.graph, cut.split, stage, own.schedule->splitsBackward), inFlight);
    ParallelDegrees layout{own.ways, own.tensor, own.zero};
    layout.copies = own.copies;
    Plan plan = valueOf(evaluateLayout(graph, request, target, layout, {}));
    plans.push_back(std::move(plan.stages.front()));
    plans.back().firstRank = lists.shape.workerOf(stage) * request.devices;
  }
  return plans;
}

/// The fate of a case.
enum class CaseOutcome { Run, RefusedByCounts, TwoCopies };

/// Proves and runs a case that its schedule takes.
CaseOutcome checkCase(const GridCase &own, ImportedSteps &steps) {
  INFO(own.str());
  if (!own.schedule->accepts({own.workers, own.microBatches, own.chunks}))
    return CaseOutcome::RefusedByCounts;
  ActionLists lists = valueOf(generateActions(*own.schedule, {own.workers, own.microBatches, own.chunks}));
  if (own.schedule->placement == Placement::Mirrored)
    return CaseOutcome::TwoCopies;
  const ImportedSteps::Step &step = steps.of(own);
  const ImportedStep &imported = step.imported;
  CutModule cut = cutModule(imported, evenCuts(imported.graph, own.workers * own.chunks));
  std::vector<StagePlan> plans = planStages(own, step.request, cut, lists);
  StagedProgram staged =
      valueOf(buildStages(*cut.module, cut.graph, cut.split, plans, lists, own.schedule->splitsBackward));
  if (llvm::Error error = verifyStageOps(*cut.module, staged.modules))
    FAIL_CHECK(takeMessage(std::move(error)).second);
  auto proof = verifyStages(staged.modules, staged.program, plans);
  if (!proof)
    FAIL_CHECK(takeMessage(proof.takeError()).second);
  checkRun(imported, staged.program);
  return CaseOutcome::Run;
}

/// Numbers of cases, and a line about each schedule that refused some.
struct GridCounts {
  unsigned run = 0, refused = 0, twoCopies = 0;
  std::set<std::string> schedules; ///< that were run
  std::string lines;
};

/// Runs every `stride`-th case of a model from the `first` on.
GridCounts checkGrid(const char *model, size_t first, size_t stride) {
  ImportedSteps steps;
  GridCounts counts;
  std::map<const PipelineSchedule *, unsigned> refused;
  std::vector<GridCase> cases = casesOf(model);
  for (size_t index = first; index < cases.size(); index += stride) {
    const GridCase &own = cases[index];
    CaseOutcome outcome = checkCase(own, steps);
    counts.run += outcome == CaseOutcome::Run;
    counts.twoCopies += outcome == CaseOutcome::TwoCopies;
    if (outcome == CaseOutcome::Run)
      counts.schedules.insert(own.schedule->name.str());
    if (outcome == CaseOutcome::RefusedByCounts)
      ++refused[own.schedule];
  }
  for (auto [schedule, count] : refused) {
    counts.refused += count;
    counts.lines += llvm::formatv("; {0} refused {1}: it needs {2}", schedule->name, count, schedule->needs).str();
  }
  WARN(llvm::formatv("{0}: {1} cases of {2} schedules were run; {3} would need a program of two copies of the model{4}",
                     model, counts.run, counts.schedules.size(), counts.twoCopies, counts.lines)
           .str());
  return counts;
}

/// 15 layouts, 18 schedules, 3 numbers of micro-batches, of which 6 schedules refuse some, and 2 of copies.
void checkWholeGrid(const char *model) {
  GridCounts counts = checkGrid(model, 0, 1);
  CHECK(counts.run == 2 * 640);
  CHECK(counts.run + counts.refused + counts.twoCopies == 15 * 18 * 3 * 2);
  CHECK(counts.schedules.size() == 16);
}

} // namespace

TEST_CASE("Stages of the tiny models compute the step, whatever schedule, workers, micro-batches, copies and storage") {
  constexpr size_t stride = 79;
  std::set<std::string> schedules;
  for (auto [index, model] : llvm::enumerate(gridModels)) {
    GridCounts counts = checkGrid(model, 5 * index, stride);
    CHECK(counts.run >= 10);
    schedules.merge(counts.schedules);
  }
  CHECK(schedules.size() == 16);
}

TEST_CASE("A stage whose gathers wait for a parameter of another stage needs the memory that its plan says") {
  ImportedSteps steps;
  const PipelineSchedule *schedule = valueOf(findPipelineSchedule("1f1b"));
  CHECK(checkCase({"gpt", 2, 4, 1, 3, schedule, 1, 1}, steps) == CaseOutcome::Run);
}

TEST_CASE("The whole grid of gpt", "[.][long]") { checkWholeGrid("gpt"); }
TEST_CASE("The whole grid of llama", "[.][long]") { checkWholeGrid("llama"); }
TEST_CASE("The whole grid of t5", "[.][long]") { checkWholeGrid("t5"); }
TEST_CASE("The whole grid of unet", "[.][long]") { checkWholeGrid("unet"); }
TEST_CASE("The whole grid of moe", "[.][long]") { checkWholeGrid("moe"); }

TEST_CASE("Ranks add up copies of micro-batches in one order, whichever of them comes first") {
  GridCase own{"unet", 2, 2, 1, 0, valueOf(findPipelineSchedule("bfs", 2)), 2, 4, 2};
  ImportedSteps steps;
  CHECK(checkCase(own, steps) == CaseOutcome::Run);
}
