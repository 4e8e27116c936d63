// The search of stages against published optima, full enumeration, and by hand.
#include "../../Sanitized.h"
#include "EnumerateStages.h"
#include "ValueOf.h"

#include "apc/Planning/Stages/StageProblemJson.h"
#include "apc/Search/SearchEnd.h"
#include "apc/Support/File.h"
#include "apc/Support/Json/JsonReader.h"

#include <chrono>
#include <random>

using namespace apc;

namespace {

std::vector<double> numbersOf(const JsonValue *list) {
  std::vector<double> numbers;
  if (list)
    for (const JsonValue &item : list->list())
      numbers.push_back(item.kind() == JsonValue::Kind::Bool ? item.boolean() : item.number());
  return numbers;
}

template <typename T>
std::vector<double> asNumbers(const std::vector<T> &list) {
  return {list.begin(), list.end()};
}

/// A random problem of up to eight layers with a few thousand candidates at most; with more layers, nothing is
/// recomputed and all widths are 1.
StageProblem randomProblem(std::mt19937_64 &random, uint32_t mostLayers = 8) {
  auto upTo = [&](uint64_t most) { return random() % (most + 1); };
  StageProblem problem;
  bool isSmall = mostLayers <= 8;
  auto numLayers = static_cast<uint32_t>(isSmall ? 1 + upTo(mostLayers - 1) : mostLayers);
  bool hasWidths = isSmall && upTo(3) == 0, recomputes = isSmall && upTo(3) == 0;
  bool repeats = upTo(3) == 0; // equal layers make ties
  for (uint32_t width : hasWidths ? std::vector<uint32_t>{1, 2} : std::vector<uint32_t>{1}) {
    LayersOfWidth &layers = problem.byWidth.emplace_back(LayersOfWidth{width, {}});
    for (uint32_t layer = 0; layer < numLayers; ++layer) {
      if (repeats && layer > 0) {
        layers.layers.push_back(layers.layers.front());
        continue;
      }
      StageWork &work = layers.layers.emplace_back();
      work.forwardSeconds = static_cast<double>(1 + upTo(15));
      work.inputGradientSeconds = static_cast<double>(upTo(15));
      work.weightGradientSeconds = static_cast<double>(upTo(15));
      work.firstForwardExtraSeconds = static_cast<double>(upTo(4));
      work.lastBackwardExtraSeconds = static_cast<double>(upTo(4));
      work.gradientSyncSeconds = static_cast<double>(upTo(20));
      work.optimizerSeconds = static_cast<double>(upTo(5));
      work.activationBytes = static_cast<int64_t>(upTo(12));
      work.weightActivationBytes = static_cast<int64_t>(upTo(6));
      work.staticBytes = static_cast<int64_t>(upTo(30));
    }
  }
  for (uint32_t layer = 1; layer < numLayers; ++layer)
    problem.boundaryBytes.push_back(repeats ? 4 : static_cast<int64_t>(upTo(12)));
  if (numLayers > 2 && upTo(2) == 0)
    problem.skips.push_back({0, numLayers - 1, static_cast<int64_t>(upTo(12))});
  problem.inputBytes = static_cast<int64_t>(upTo(12));
  problem.link.mode = static_cast<LinkMode>(upTo(2));
  problem.link.latencySeconds = static_cast<double>(upTo(4));
  if (upTo(1))
    problem.link.bytesPerSecond = static_cast<double>(1 + upTo(3));
  problem.microBatches = static_cast<uint32_t>(1 + upTo(5));
  if (upTo(2))
    problem.memoryLimitBytes = static_cast<int64_t>(20 + upTo(numLayers * 30));
  if (upTo(1)) {
    problem.tail = StageProblemTail{upTo(1) == 1, std::nullopt, upTo(1) == 1};
    if (upTo(1))
      problem.tail->tied = TiedLayers{static_cast<uint32_t>(upTo(numLayers - 1)),
                                      static_cast<uint32_t>(upTo(numLayers - 1)), static_cast<double>(upTo(40))};
  }
  const ScheduleChoice choices[] = {{"1f1b"},     {"gpipe"}, {"zbh1"},  {"interleaved", 2}, {"interleaved", 2, 1},
                                    {"zbv"},      {"bfs"},   {"zb-h2"}, {"eager-1f1b"},     {"zb1p", 2},
                                    {"dualpipev"}};
  for (size_t count = 1 + upTo(2); count > 0; --count)
    problem.space.schedules.push_back(choices[upTo(std::size(choices) - 1)]);
  for (size_t count = 1 + upTo(1); count > 0; --count)
    problem.space.workers.push_back(static_cast<uint32_t>(1 + upTo(isSmall ? 3 : 5)));
  if (hasWidths) {
    problem.space.widths = upTo(1) ? std::vector<uint32_t>{1, 2} : std::vector<uint32_t>{2, 1};
    problem.space.devices = static_cast<uint32_t>(2 + upTo(3));
  }
  problem.space.recompute = recomputes;
  return problem;
}

StageProblemFile instances() {
  return valueOf(parseStageProblems(valueOf(readFile(APC_STAGE_INSTANCES)), "instances"));
}

/// Eight equal layers on two workers.
StageProblem equalLayers(uint32_t numLayers, std::vector<uint32_t> workers) {
  StageProblem problem;
  StageWork layer{.forwardSeconds = 1, .inputGradientSeconds = 1, .weightGradientSeconds = 1, .activationBytes = 1};
  problem.byWidth = {{1, std::vector<StageWork>(numLayers, layer)}};
  problem.boundaryBytes.assign(numLayers - 1, 1);
  problem.microBatches = 8;
  problem.space = {std::move(workers), {{"1f1b"}}, {}, {}, false};
  return problem;
}

} // namespace

TEST_CASE("all twelve published problems of stages are solved to their optimum in a second") {
  StageProblemFile file = instances();
  JsonDocument document = valueOf(JsonDocument::parse(valueOf(readFile(APC_STAGE_INSTANCES)), "instances"));
  REQUIRE(file.problems.size() == 12);
  double searchSeconds = 0;
  for (size_t index = 0; index < file.problems.size(); ++index) {
    const StageProblem &problem = file.problems[index];
    const JsonValue &answer = *document.getRoot().find("instances")->list()[index].find("answer");
    auto begin = std::chrono::steady_clock::now();
    StageResult result = valueOf(searchStages(problem, {}));
    searchSeconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    INFO(problem.name);
    CHECK(result.status == SearchStatus::Optimal);
    CHECK(result.seconds == answer.find("step_seconds")->number());
    CHECK(result.lowerBoundSeconds == result.seconds);
    CHECK(result.choice.schedule == answer.find("schedule")->unsignedInteger());
    CHECK(result.choice.workers == answer.find("workers")->unsignedInteger());
    CHECK(asNumbers(result.choice.stageSizes) == numbersOf(answer.find("stage_sizes")));
    CHECK(result.finishSeconds == numbersOf(answer.find("finish_seconds")));
    CHECK(asNumbers(result.memoryBytes) == numbersOf(answer.find("memory_bytes")));
    if (const JsonValue *widths = answer.find("widths"))
      CHECK(asNumbers(result.choice.widths) == numbersOf(widths));
    if (const JsonValue *flags = answer.find("recompute"))
      CHECK(asNumbers(result.choice.recompute) == numbersOf(flags));
    Enumeration all = enumerateStages(problem);
    CHECK(all.numCandidates == answer.find("candidates")->unsignedInteger());
    CHECK(all.numFeasible == answer.find("feasible_candidates")->unsignedInteger());
    CHECK(result.numSimulated <= all.numCandidates + 100);
  }
  CHECK(searchSeconds < 1);
}

TEST_CASE("the search of stages equals full enumeration") {
  std::mt19937_64 random(31);
  constexpr size_t numDraws = isSanitized ? 300 : 1500;
  size_t numInfeasible = 0;
  for (size_t draw = 0; draw < numDraws; ++draw) {
    StageProblem problem = randomProblem(random, draw % 10 == 0 ? 13 : 8);
    Enumeration all = enumerateStages(problem);
    StageResult result = valueOf(searchStages(problem, {}));
    INFO("problem " << draw << " of " << all.numCandidates << " candidates");
    if (!all.choice) {
      ++numInfeasible;
      CHECK(result.status == SearchStatus::Infeasible);
      CHECK(!result.reason.empty());
      continue;
    }
    CHECK(result.status == SearchStatus::Optimal);
    CHECK(result.choice == *all.choice);
    CHECK(result.seconds == all.time->stepSeconds);
    CHECK(result.lowerBoundSeconds == result.seconds);
    for (size_t worker = 0; worker < result.finishSeconds.size(); ++worker) {
      CHECK(result.finishSeconds[worker] == all.time->workers[worker].finishSeconds);
      CHECK(result.memoryBytes[worker] == all.time->workers[worker].peakBytes);
    }
  }
  INFO(numInfeasible);
  CHECK((numInfeasible > numDraws / 25 && numInfeasible < numDraws / 2));
}

TEST_CASE("a search of stages that is cut short keeps a bound of all that it did not see") {
  std::mt19937_64 random(32);
  SearchOptions hurried;
  hurried.timeLimitSeconds = 0;
  SearchOptions loose;
  loose.gapTolerance = 0.2;
  for (size_t draw = 0; draw < 200; ++draw) {
    StageProblem problem = randomProblem(random);
    Enumeration all = enumerateStages(problem);
    StageResult early = valueOf(searchStages(problem, hurried)), near = valueOf(searchStages(problem, loose));
    INFO("problem " << draw);
    if (!all.choice) {
      CHECK((early.status == SearchStatus::Unknown || early.status == SearchStatus::Infeasible));
      CHECK(near.status == SearchStatus::Infeasible);
      continue;
    }
    double best = all.time->stepSeconds;
    CHECK(early.lowerBoundSeconds <= best);
    if (early.hasAnswer())
      CHECK(early.seconds >= best);
    REQUIRE(near.hasAnswer());
    CHECK(near.seconds >= best);
    CHECK(near.lowerBoundSeconds <= best);
    CHECK(near.seconds - near.lowerBoundSeconds <= 0.2 * near.seconds + 1e-9);
  }
  StageProblem large = equalLayers(64, {8});
  large.byWidth[0].layers[13].forwardSeconds = 5;
  StageResult early = valueOf(searchStages(large, hurried));
  CHECK(early.hasAnswer());
  REQUIRE(early.notes.size() == 1);
  CHECK(early.notes[0].find("time limit") != std::string::npos);
  std::atomic<bool> stop = true;
  SearchOptions stopped;
  stopped.stop = &stop;
  CHECK(valueOf(searchStages(large, stopped)).notes == std::vector<std::string>{stoppedNote()});
}

TEST_CASE("ties between cuts go to the first, and equal layers are cut evenly") {
  StageResult result = valueOf(searchStages(equalLayers(8, {2, 4}), {}));
  CHECK(result.choice.workers == 4);
  CHECK(result.choice.stageSizes == std::vector<uint32_t>{2, 2, 2, 2});
  CHECK(result.seconds == 66); // (8 + 4 - 1) * 6
  StageProblem odd = equalLayers(5, {2});
  odd.microBatches = 1; // every cut takes 15 s
  CHECK(valueOf(searchStages(odd, {})).choice.stageSizes == std::vector<uint32_t>{1, 4});
}

TEST_CASE("an embedding and a head as heavy as a layer each take the place of one, in the first and the last stage") {
  StageResult result = valueOf(searchStages(equalLayers(1 + 30 + 1, {4}), {})); // as Llama 3 has it
  CHECK(result.status == SearchStatus::Optimal);
  CHECK(result.choice.stageSizes == std::vector<uint32_t>(4, 8)); // of layers 7, 8, 8, 7
  CHECK(result.seconds == (8 + 4 - 1) * 3 * 8);
}

TEST_CASE("problems of stages without an answer say why") {
  StageProblem problem = equalLayers(4, {2});
  problem.memoryLimitBytes = 1; // one layer that keeps two micro-batches, then three that keep one
  StageResult result = valueOf(searchStages(problem, {}));
  CHECK(result.status == SearchStatus::Infeasible);
  CHECK(result.reason == "every choice of stages needs at least 3 B of memory on a worker; the limit is 1 B");
  problem = equalLayers(4, {8});
  CHECK(valueOf(searchStages(problem, {})).reason.find("4 layers are too few for 8 stages") != std::string::npos);
  problem = equalLayers(4, {2});
  problem.byWidth.push_back({3, problem.byWidth[0].layers});
  problem.space.widths = {3};
  problem.space.devices = 5;
  CHECK(valueOf(searchStages(problem, {})).reason == "no widths of the space add up to 5 devices");
}
