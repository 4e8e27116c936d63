// The planner against all programs of small graphs: each is costed as it would be emitted.
#include "../Rounding.h"
#include "../Sanitized.h"
#include "RandomGraphs.h"

#include "apc/Cost/GraphCost.h"
#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// One program of a graph on a pool.
struct Program {
  double seconds;
  int64_t bytes;
};

/// All legal programs on all logical meshes; none when there are more than \p most.
std::optional<std::vector<Program>> allPrograms(const OpGraph &graph, const Pool &pool, unsigned axes, double most) {
  std::vector<Program> programs;
  std::vector<Mesh> meshes = logicalMeshes(Mesh::fromLevels(pool.levelSizes()), axes);
  for (const Mesh &mesh : meshes)
    if (Programs(graph, mesh).count() > most)
      return std::nullopt;
  for (const Mesh &mesh : meshes) {
    CostModel model(pool, mesh);
    Programs all(graph, mesh);
    do {
      if (llvm::Expected<GraphCost> cost = costOfGraph(graph, all.current(), model))
        programs.push_back({cost->seconds(), cost->memory.total()});
      else
        llvm::consumeError(cost.takeError()); // a value that cannot become partial
    } while (all.advance());
  }
  return programs;
}

/// The seconds of the fastest program within a limit; none when none fits.
std::optional<double> fastestWithin(llvm::ArrayRef<Program> programs, int64_t limit) {
  std::optional<double> fastest;
  for (const Program &program : programs)
    if (program.bytes <= limit)
      fastest = std::min(fastest.value_or(program.seconds), program.seconds);
  return fastest;
}

/// A limit that the fastest program does not keep, but some other does or nearly does.
int64_t bindingLimit(llvm::ArrayRef<Program> programs, std::mt19937_64 &random) {
  auto faster = [](const Program &a, const Program &b) { return a.seconds < b.seconds; };
  auto smaller = [](const Program &a, const Program &b) { return a.bytes < b.bytes; };
  int64_t least = llvm::min_element(programs, smaller)->bytes, fast = llvm::min_element(programs, faster)->bytes;
  int64_t from = least - least / 8, to = std::max(fast, least + 1);
  return from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from));
}

struct Tally {
  size_t optimal = 0, feasible = 0, infeasible = 0, lost = 0;
};

void comparePlan(const OpGraph &graph, const PlanRequest &request, llvm::ArrayRef<Program> programs, Tally &tally) {
  PlanningTarget target = llvm::cantFail(readTarget(request));
  std::optional<double> least = fastestWithin(programs, target.memoryLimitBytes);
  llvm::Expected<Plan> plan = planGraph(graph, request, target, {}, {});
  if (!plan) {
    auto [fault, message] = takeMessage(plan.takeError());
    INFO(message);
    REQUIRE(fault == Fault::NoPlan);
    CHECK_FALSE(least.has_value());
    ++tally.infeasible;
    return;
  }
  CHECK(plan->memory.total() <= target.memoryLimitBytes);
  if (!least) { // on fewer devices than those whose programs are known
    CHECK(plan->devicesUsed < request.devices);
    return;
  }
  CHECK(plan->lowerBoundSeconds <= *least * (1 + rounding));
  (plan->status == PlanStatus::Optimal ? tally.optimal : tally.feasible) += 1;
  if (plan->status == PlanStatus::Optimal)
    CHECK(plan->stepSeconds <= *least * (1 + rounding));
  tally.lost += plan->stepSeconds > *least * (1 + rounding);
}

/// Graphs of at most \p most programs on a mesh, half of them under a limit that binds.
Tally compareGraphs(size_t count, double most) {
  std::mt19937_64 random(300);
  Tally tally;
  std::map<int64_t, Pool> pools;
  for (size_t numGraphs = 0; numGraphs < count;) {
    PlanRequest request;
    request.mode = StepMode::Infer;
    request.devices = std::array{2, 4, 6}[numGraphs % 3];
    request.gapTolerance = 0;
    // With more axes an op has some 15 strategies: then the graph has one op.
    bool isSmall = numGraphs % 5 == 0;
    request.meshAxes = isSmall ? 2 : 1;
    OpGraph graph = randomGraph(random, isSmall ? 1 : 5);
    if (!pools.count(request.devices))
      pools[request.devices] = llvm::cantFail(readTarget(request)).cluster.pool;
    auto axes = static_cast<unsigned>(*request.meshAxes);
    std::optional<std::vector<Program>> programs = allPrograms(graph, pools[request.devices], axes, most);
    if (!programs)
      continue;
    if (numGraphs % 2)
      request.memoryLimitBytes = bindingLimit(*programs, random);
    INFO("graph " << numGraphs << " of " << graph.ops.size() << " ops on " << request.devices << " devices, limit "
                  << request.memoryLimitBytes.value_or(0));
    comparePlan(graph, request, *programs, tally);
    ++numGraphs;
  }
  WARN("optimal " << tally.optimal << ", feasible " << tally.feasible << ", no plan fits " << tally.infeasible
                  << ", slower than the fastest " << tally.lost);
  return tally;
}

} // namespace

TEST_CASE(
    "Plans of small graphs against all their programs: optimal ones are the fastest, bounds hold, none is missed") {
  Tally tally = compareGraphs(isSanitized ? 15 : 60, 4000);
  CHECK(tally.optimal > (isSanitized ? 5 : 25));
  CHECK((isSanitized || tally.infeasible > 0));
  CHECK(tally.lost <= 0);
}

/// `APCPlanningTests "[long]"`: minutes.
TEST_CASE("The same for 300 larger graphs", "[.long]") {
  Tally tally = compareGraphs(300, 60000);
  CHECK(tally.optimal > 200);
}
