// How long the search of stages takes, and how near it comes: random layers under 1F1B; equal ones with a heavy end
// under five schedules; and equal ones whose stages must recompute.
#include "OwnProcess.h"

#include "apc/Planning/Stages/SearchStages.h"
#include "apc/Support/Error.h"
#include "apc/Support/TextTable.h"

#include <chrono>
#include <random>

using namespace apc;

namespace {

enum class Kind : uint8_t { Random, Schedules, Recompute };

StageWork layerOf(Kind kind, uint32_t layer, uint32_t numLayers, std::mt19937_64 &random) {
  auto draw = [&] { return static_cast<double>(5 + random() % 20); };
  StageWork work{.activationBytes = 10, .weightActivationBytes = 4, .staticBytes = 20};
  work.forwardSeconds = kind == Kind::Random ? draw() : 10;
  work.inputGradientSeconds = kind == Kind::Random ? draw() : 10;
  work.weightGradientSeconds = kind == Kind::Random ? draw() : 9;
  if (kind != Kind::Random && layer + 1 == numLayers) {
    work.forwardSeconds *= 2.1;
    work.inputGradientSeconds *= 2.1;
    work.weightGradientSeconds *= 2.5;
  }
  return work;
}

StageProblem problemOf(Kind kind, uint32_t numLayers, uint32_t workers) {
  std::mt19937_64 random(numLayers * 100 + workers);
  StageProblem problem;
  problem.byWidth = {{1, {}}};
  for (uint32_t layer = 0; layer < numLayers; ++layer)
    problem.byWidth[0].layers.push_back(layerOf(kind, layer, numLayers, random));
  problem.boundaryBytes.assign(numLayers - 1, 4);
  problem.link = {LinkMode::Link, 1, std::nullopt};
  problem.microBatches = 4 * workers;
  problem.space.workers = {workers};
  problem.space.schedules = {{"1f1b"}};
  if (kind == Kind::Schedules)
    for (const char *name : {"zb-h1", "zb-h2", "interleaved", "zb-v"})
      problem.space.schedules.push_back({name});
  if (kind == Kind::Recompute) {
    problem.space.recompute = true;
    problem.memoryLimitBytes = (numLayers / workers + 1) * (20 + 6 * workers);
  }
  return problem;
}

std::vector<std::string> measure(const StageProblem &problem) {
  SearchOptions options;
  options.timeLimitSeconds = 5;
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<StageResult> result = searchStages(problem, options);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!result)
    return {takeMessage(result.takeError()).second};
  double gap = result->hasAnswer() ? 100 * (result->seconds - result->lowerBoundSeconds) / result->seconds : 0;
  return {searchStatusName(result->status).str(), formatSeconds(seconds), llvm::formatv("{0:f2} %", gap),
          std::to_string(result->numSimulated), peakMemory()};
}

} // namespace

int main() {
  TextTable table;
  table.addColumn("layers");
  for (const char *title : {"number", "workers", "status", "time", "gap", "simulated", "memory"})
    table.addColumn(title, TextTable::Align::Right);
  for (auto [kind, name] : {std::pair(Kind::Random, "random, 1f1b"), std::pair(Kind::Schedules, "equal, 5 schedules"),
                            std::pair(Kind::Recompute, "equal, recompute")})
    for (uint32_t numLayers : {16, 32, 64, 96})
      for (uint32_t workers : {4, 8, 16}) {
        std::vector<std::string> row = {name, std::to_string(numLayers), std::to_string(workers)};
        llvm::append_range(row, inOwnProcess([&] { return measure(problemOf(kind, numLayers, workers)); }));
        table.addRow(std::move(row));
      }
  table.print(llvm::outs());
  return 0;
}
