// The planner against all programs of small training steps, under limits of memory and of storage.
#include "../Rounding.h"
#include "../Sanitized.h"
#include "RandomGraphs.h"

#include "apc/Planning/BuildProblem.h"
#include "apc/Planning/Planning.h"
#include "apc/Planning/StorageLimit.h"
#include "apc/Schedule/ScheduleStep.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

#include <set>

using namespace apc;

namespace {

/// One program of a training step.
struct StepProgram {
  double seconds;
  int64_t bytes;
  bool keepsParameters; ///< no parameter is gathered: ZeRO 2 at most
};

/// All choices of strategies for the nodes of a problem, one after the other; hubs are left to the cost of the program.
class TiedPrograms {
public:
  explicit TiedPrograms(const PlanningProblem &planning) : planning(planning) {
    assignment.strategies.resize(planning.ops.size(), 0);
  }
  double count() const {
    double product = 1;
    for (size_t node = 0; node < planning.ops.size(); ++node)
      product *= static_cast<double>(size(node));
    return product;
  }
  std::vector<Strategy> current() const { return planning.decode(assignment); }
  bool advance() {
    for (size_t node = 0; node < planning.ops.size(); ++node) {
      if (++assignment.strategies[node] < size(node))
        return true;
      assignment.strategies[node] = 0;
    }
    return false;
  }

private:
  size_t size(size_t node) const { return planning.hubs[node] ? 1 : planning.choicesOf(NodeId(node)).size(); }

  const PlanningProblem &planning;
  Assignment assignment;
};

/// Every choice of values that come again for the backward pass, of those that move in \p cost.
std::vector<std::vector<ValueHub>> hubsOf(const OpGraph &graph, const GraphCost &cost) {
  PassUses passes(graph);
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  std::set<ValueId> moved;
  for (const GraphMove &move : cost.moves)
    for (ValueId value : move.values)
      if (move.redistribution.seconds > 0 && passes.mayComeAgain(value, uses[value.index()]))
        moved.insert(value);
  std::vector<std::vector<ValueHub>> choices{{}};
  for (ValueId value : moved)
    for (size_t index = choices.size(); index-- > 0;) {
      choices.push_back(choices[index]);
      choices.back().push_back({value, {}, /*again=*/true});
    }
  return choices;
}

/// None when there are more than \p most.
std::optional<std::vector<StepProgram>> allPrograms(const OpGraph &graph, const CostModel &model, double most) {
  PlanningProblem planning = buildProblem(graph, model);
  TiedPrograms all(planning);
  if (all.count() > most)
    return std::nullopt;
  StorageLimit storage(graph, 2);
  std::vector<StepProgram> programs;
  do {
    std::vector<Strategy> strategies = all.current();
    llvm::Expected<GraphCost> kept = costOfGraph(graph, strategies, model);
    if (!kept) {
      llvm::consumeError(kept.takeError()); // a value that cannot become partial
      continue;
    }
    for (const std::vector<ValueHub> &hubs : hubsOf(graph, *kept)) {
      GraphCost cost = llvm::cantFail(costOfGraph(graph, strategies, model, hubs));
      double seconds = stepTime(graph, cost, model).seconds;
      programs.push_back({seconds, cost.memory.total(), storage.allowsAll(strategies, cost.moves)});
    }
  } while (all.advance());
  return programs;
}

std::optional<double> fastestOf(llvm::ArrayRef<StepProgram> programs, const PlanRequest &request) {
  std::optional<double> fastest;
  for (const StepProgram &program : programs) {
    bool fits = program.bytes <= *request.memoryLimitBytes;
    bool isAllowed = program.keepsParameters || request.zero == ZeroChoice::Auto;
    if (fits && isAllowed)
      fastest = std::min(fastest.value_or(program.seconds), program.seconds);
  }
  return fastest;
}

struct StepTally {
  size_t optimal = 0, feasible = 0, none = 0, lost = 0, missed = 0;
};

/// The seconds of the plan; none where no plan fits.
std::optional<double> comparePlan(const OpGraph &graph, const PlanRequest &request,
                                  llvm::ArrayRef<StepProgram> programs, StepTally &tally) {
  PlanningTarget target = llvm::cantFail(readTarget(request));
  std::optional<double> least = fastestOf(programs, request);
  llvm::Expected<Plan> plan = planGraph(graph, request, target, {}, {});
  if (!plan) {
    auto [fault, message] = takeMessage(plan.takeError());
    INFO(message);
    REQUIRE(fault == Fault::NoPlan);
    // The least memory takes an exact search under sums that are no sums; only a proof may say that there is none.
    if (least)
      CHECK(llvm::StringRef(message).contains("all that was tried does"));
    tally.missed += least.has_value();
    tally.none += !least;
    return std::nullopt;
  }
  CHECK(plan->memory.total() <= *request.memoryLimitBytes);
  if (!least) {
    CHECK(plan->devicesUsed < request.devices);
    return plan->stepSeconds;
  }
  CHECK(plan->lowerBoundSeconds <= *least * (1 + rounding));
  (plan->status == PlanStatus::Optimal ? tally.optimal : tally.feasible) += 1;
  if (plan->status == PlanStatus::Optimal)
    CHECK(plan->stepSeconds <= *least * (1 + rounding));
  tally.lost += plan->stepSeconds > *least * (1 + rounding);
  return plan->stepSeconds;
}

/// The limit of a program of its own: the smallest, the fastest, or one by lot.
int64_t drawLimit(llvm::ArrayRef<StepProgram> programs, std::mt19937_64 &random) {
  auto smaller = [](const StepProgram &a, const StepProgram &b) { return a.bytes < b.bytes; };
  auto faster = [](const StepProgram &a, const StepProgram &b) { return a.seconds < b.seconds; };
  int64_t least = llvm::min_element(programs, smaller)->bytes, fast = llvm::min_element(programs, faster)->bytes;
  int64_t share = static_cast<int64_t>(random() % 9); // 8: what the fastest needs
  return least + (fast - least) / 8 * share + (share == 8 ? (fast - least) % 8 : 0);
}

StepTally compareSteps(size_t count, double most) {
  std::mt19937_64 random(17);
  StepTally tally;
  for (size_t number = 0; number < count;) {
    OpGraph graph = randomTrainingStep(random, 3);
    PlanRequest request;
    request.mode = StepMode::Train;
    request.devices = number % 2 ? 4 : 2;
    request.gapTolerance = 0;
    request.meshAxes = 1;
    Mesh mesh;
    CostModel model = modelOn(request.devices, mesh);
    std::optional<std::vector<StepProgram>> programs = allPrograms(graph, model, most);
    if (!programs)
      continue;
    request.memoryLimitBytes = drawLimit(*programs, random);
    INFO("step " << number << " of " << graph.ops.size() << " ops on " << request.devices << " devices, limit "
                 << *request.memoryLimitBytes);
    std::optional<double> any = comparePlan(graph, request, *programs, tally);
    request.zero = ZeroChoice::Stage2;
    std::optional<double> keeping = comparePlan(graph, request, *programs, tally);
    if (keeping) { // a larger space has whatever the smaller has
      REQUIRE(any);
      CHECK(*any <= *keeping * (1 + rounding));
    }
    ++number;
  }
  WARN("optimal " << tally.optimal << ", feasible " << tally.feasible << ", no plan fits " << tally.none
                  << ", slower than the fastest " << tally.lost << ", missed " << tally.missed);
  return tally;
}

} // namespace

TEST_CASE("Plans of small training steps against all their programs, with and without parameters that are gathered") {
  StepTally tally = isSanitized ? compareSteps(2, 6000) : compareSteps(16, 30000);
  CHECK(tally.optimal > (isSanitized ? 0 : 25));
  CHECK(tally.missed == 0);
  CHECK(tally.lost <= (isSanitized ? 2 : 0));
}

/// `APCPlanningTests "[long]"`: minutes.
TEST_CASE("The same for 150 larger training steps", "[.long]") {
  StepTally tally = compareSteps(150, 200000);
  CHECK(tally.optimal > 220);
  CHECK(tally.missed <= 3);
  CHECK(tally.lost <= 20);
}

TEST_CASE("A plan that fits is found again under a limit of what it needs") {
  std::mt19937_64 random(23);
  for (size_t number = 0; number < (isSanitized ? 8 : 40); ++number) {
    OpGraph graph = number % 2 ? randomTrainingStep(random, 6) : randomGraph(random, 8);
    PlanRequest request;
    request.devices = 8;
    request.timeLimitSeconds = 5; // one bound takes any time
    PlanningTarget target = llvm::cantFail(readTarget(request));
    Plan plan = llvm::cantFail(planGraph(graph, request, target, {}, {}));
    request.memoryLimitBytes = plan.memory.total();
    target = llvm::cantFail(readTarget(request));
    INFO("graph " << number);
    llvm::Expected<Plan> again = planGraph(graph, request, target, {}, {});
    if (!again)
      FAIL(takeMessage(again.takeError()).second);
    CHECK(again->stepSeconds <= plan.stepSeconds * (1 + rounding));
  }
}
