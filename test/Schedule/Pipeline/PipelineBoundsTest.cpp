// Lower bounds against simulations, the forms that planners use in the place of a simulation, and the ends of workers.
#include "RandomPipelines.h"

#include "apc/Schedule/Pipeline/PipelineBounds.h"
#include "apc/Schedule/SimulateStep.h"

#include <numeric>

using namespace apc;

namespace {

using Seconds = std::vector<double>;

double sum(const Seconds &list) { return std::accumulate(list.begin(), list.end(), 0.0); }
double most(const Seconds &list) { return *std::max_element(list.begin(), list.end()); }

/// One stage per worker, of so many seconds; B is not split.
PipelineWork unequal(const Seconds &f, const Seconds &b) {
  PipelineWork work;
  for (size_t stage = 0; stage < f.size(); ++stage)
    work.stages.push_back({.forwardSeconds = f[stage], .inputGradientSeconds = b[stage]});
  for (uint32_t stage = 1; stage < f.size(); ++stage)
    work.messages.push_back({stage - 1, stage, 0});
  return work;
}

double simulated(llvm::StringRef schedule, const Seconds &f, const Seconds &b, uint32_t m) {
  ActionLists lists = listsOf(schedule, {static_cast<uint32_t>(f.size()), m});
  return valueOf(simulatePipeline(lists, unequal(f, b))).stepSeconds;
}

/// Alpa's form of a pipeline's time.
double alpaForm(const Seconds &f, const Seconds &b, uint32_t m) {
  Seconds t(f.size());
  std::transform(f.begin(), f.end(), b.begin(), t.begin(), std::plus<>());
  return sum(t) + (m - 1) * most(t);
}

} // namespace

TEST_CASE("no schedule undercuts its bound") {
  std::mt19937_64 random(21);
  size_t numTight = 0, numDraws = 4000;
  for (size_t draw = 0; draw < numDraws; ++draw) {
    RandomPipeline pipeline = randomPipeline(random);
    double seconds = valueOf(simulatePipeline(pipeline.lists, pipeline.work)).stepSeconds;
    double bound = pipelineBound(pipeline.lists.shape, pipeline.work, pipeline.schedule->splitsBackward);
    INFO(pipeline.schedule->name.data() << " link " << static_cast<int>(pipeline.work.linkMode) << "\n"
                                        << printActionLists(pipeline.lists));
    CHECK(bound <= seconds);
    numTight += bound == seconds;
  }
  INFO(numTight << " of " << numDraws);
  CHECK(numTight > numDraws / 20);
}

TEST_CASE("with one stage per worker the bound is the one of the books") {
  std::mt19937_64 random(22);
  size_t numTight = 0;
  for (size_t draw = 0; draw < 600; ++draw) {
    uint32_t p = 2 + random() % 5, m = 1 + random() % 12;
    double c = static_cast<double>(random() % 10);
    PipelineShape shape{Placement::Loop, p, 1, m, 1};
    PipelineWork work;
    Seconds f, i, w;
    for (uint32_t stage = 0; stage < p; ++stage) {
      StageWork one = randomStage(random);
      f.push_back(one.forwardSeconds), i.push_back(one.inputGradientSeconds), w.push_back(one.weightGradientSeconds);
      work.stages.push_back(
          {.forwardSeconds = f.back(), .inputGradientSeconds = i.back(), .weightGradientSeconds = w.back()});
    }
    work.messages = chainMessages(shape, c);
    double whole = sum(f) + sum(i) + sum(w) + 2 * (p - 1) * c, split = sum(f) + sum(i) + 2 * (p - 1) * c + w[0];
    double fBefore = 0, iBefore = 0, wBefore = 0;
    for (uint32_t s = 0; s < p; ++s) {
      double t = f[s] + i[s] + w[s];
      whole = std::max(whole, fBefore + m * t + iBefore + wBefore + 2 * s * c);
      split = std::max({split, fBefore + s * c + m * t, fBefore + m * (f[s] + i[s]) + iBefore + 2 * s * c + w[0]});
      fBefore += f[s], iBefore += i[s], wBefore += w[s];
    }
    CHECK(pipelineBound(shape, work, false) == whole);
    CHECK(pipelineBound(shape, work, true) >= split); // W of other stages than the first count, too
    double step = valueOf(simulatePipeline(listsOf("1f1b", {p, m}), work)).stepSeconds;
    CHECK(whole <= step);
    numTight += whole == step;
  }
  INFO(numTight);
  CHECK(numTight > 100);
}

TEST_CASE("GPipe over unequal stages takes both passes' sums and largest stages") {
  std::mt19937_64 random(23);
  for (size_t draw = 0; draw < 300; ++draw) {
    uint32_t p = 1 + random() % 6, m = 1 + random() % 9;
    Seconds f(p), b(p);
    for (double &each : f)
      each = static_cast<double>(1 + random() % 20);
    for (double &each : b)
      each = static_cast<double>(1 + random() % 20);
    double step = simulated("gpipe", f, b, m);
    CHECK(step == sum(f) + (m - 1) * most(f) + sum(b) + (m - 1) * most(b));
    Seconds t(p);
    std::transform(f.begin(), f.end(), b.begin(), t.begin(), std::plus<>());
    CHECK((alpaForm(f, b, m) == step) == (m == 1 || most(f) + most(b) == most(t)));
  }
}

TEST_CASE("Alpa's form of the time of 1F1B errs to both sides") {
  CHECK(simulated("1f1b", {9, 1, 2}, {4, 18, 1}, 3) == 78);
  CHECK(alpaForm({9, 1, 2}, {4, 18, 1}, 3) == 73);
  CHECK(simulated("1f1b", {8, 5, 3, 8}, {10, 8, 4, 2}, 4) == 81);
  CHECK(alpaForm({8, 5, 3, 8}, {10, 8, 4, 2}, 4) == 102);
  CHECK(simulated("1f1b", {6, 1, 3, 1, 2, 3}, {12, 2, 6, 2, 4, 6}, 6) == 108);
  CHECK(alpaForm({6, 1, 3, 1, 2, 3}, {12, 2, 6, 2, 4, 6}, 6) == 138);
}

TEST_CASE("the drain of 1F1B hides reductions of gradients") {
  std::mt19937_64 random(24);
  for (size_t draw = 0; draw < 200; ++draw) {
    uint32_t p = 1 + random() % 8, m = 1 + random() % 16;
    auto f = static_cast<double>(1 + random() % 20), b = static_cast<double>(1 + random() % 20);
    ActionLists lists = listsOf("1f1b", {p, m});
    PipelineWork work = workOf(lists.shape, {f, b, 0});
    PipelineTime before = valueOf(simulatePipeline(lists, work));
    double exposed = 0;
    for (uint32_t r = 0; r < p; ++r) {
      CHECK(before.workers[r].finishSeconds == (m + p - 1) * (f + b) - r * b);
      work.stages[r].gradientSyncSeconds = static_cast<double>(random() % 100);
      exposed = std::max(exposed, work.stages[r].gradientSyncSeconds - r * b);
    }
    work.tail = PipelineTail{};
    CHECK(valueOf(simulatePipeline(lists, work)).stepSeconds == before.stepSeconds + exposed);
  }
}

TEST_CASE("two copies of a batch hide all but one part of the shorter stream") {
  // L layers compute T and then communicate C; n copies take turns on both streams.
  auto secondsOf = [](unsigned layers, double compute, double communication, unsigned copies) {
    std::vector<StepEvent> events;
    for (unsigned layer = 0; layer < layers; ++layer)
      for (unsigned copy = 0; copy < copies; ++copy) {
        StepEvent op{StepEventKind::Op, compute / copies, {}};
        if (layer > 0)
          op.after.push_back(static_cast<unsigned>(events.size()) - 2 * copies + 1);
        events.push_back(op);
        events.push_back(
            {StepEventKind::CollectiveBeside, communication / copies, {static_cast<unsigned>(events.size()) - 1}});
      }
    return simulateStep(events).seconds;
  };
  CHECK(secondsOf(4, 10, 6, 1) == 64);
  CHECK(secondsOf(4, 10, 6, 2) == 43);
  CHECK(secondsOf(4, 10, 6, 3) == Approx(42));
  CHECK(secondsOf(4, 10, 6, 4) == 41.5);
  for (double communication : {1.0, 7.0, 10.0, 24.0})
    for (unsigned copies : {2, 4, 8})
      CHECK(secondsOf(5, 10, communication, copies) ==
            Approx(5 * std::max(10.0, communication) + std::min(10.0, communication) / copies));
}
