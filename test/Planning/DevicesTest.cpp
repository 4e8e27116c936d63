// Plans on fewer devices than there are: what is said where they are not found, and how figures are changed.
#include "../../lib/Planning/DescribePlan.h"
#include "../ValueOf.h"
#include "GraphMaker.h"

#include "apc/Planning/CheckStatements.h"
#include "apc/Planning/PlanStrategies.h"

#include "llvm/ADT/StringExtras.h"

using namespace apc;

namespace {

/// Two products of one row, between which every device has all columns.
OpGraph oneRow() {
  GraphMaker maker;
  ValueId first = maker.matmul("first", maker.source("x", {1, 4096}, ValueRole::Input),
                               maker.source("v", {4096, 4096}, ValueRole::Parameter));
  ValueId w = maker.source("w", {4096, 4096}, ValueRole::Parameter);
  maker.sink(maker.matmul("second", maker.alongRows("rows", first), w));
  return maker.graph;
}

/// Thirteen devices are one in each of thirteen nodes; eight are one node.
PlanRequest onThirteen() {
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.cluster = "dgx-h100";
  request.devices = 13;
  request.search = "dp";
  request.gapTolerance = 0;
  return request;
}

PlanningControl withClock(const PlanRequest &request) {
  PlanningControl control;
  control.clock = std::make_shared<WorkClock>(request.timeLimitSeconds);
  return control;
}

/// Decisions that `searchOnce` has seen begin; it is a plain function like every search.
thread_local unsigned numDecisions;

llvm::Expected<SearchResult> searchOnce(const Problem &problem, const SearchOptions &options) {
  if (numDecisions > 1)
    return internalError("the search is broken");
  return searchDp(problem, options);
}

Plan planOn(const OpGraph &graph, int64_t devices) {
  PlanRequest request = onThirteen();
  request.devices = devices;
  return valueOf(planGraph(graph, request, valueOf(readTarget(request)), {}, {}));
}

/// Seconds that the contractions of a model take on one device at its peak, as a plan states them.
double secondsAtPeak(const Plan &plan) {
  return plan.shareOfPeak.value() * plan.stepSeconds * static_cast<double>(plan.request.devices);
}

} // namespace

TEST_CASE("a plan of one device leaves no devices out") {
  GraphMaker maker;
  ValueId small = maker.matmul("small", maker.source("x", {1, 16}, ValueRole::Input),
                               maker.source("v", {16, 16}, ValueRole::Parameter));
  maker.sink(maker.alongRows("rows", small)); // cut, the product would have to be exchanged
  for (int64_t devices : {3, 7}) {
    INFO(devices);
    const Plan plan = planOn(maker.graph, devices);
    CHECK(plan.devicesUsed == 1);
    CHECK_THAT(llvm::join(plan.notes, "\n"), !Catch::Contains("planned on") && !Catch::Contains("fewer devices"));
    CHECK(secondsAtPeak(plan) == Approx(secondsAtPeak(planOn(maker.graph, 1))));
    CHECK(llvm::toString(checkStatements(maker.graph, plan)).empty());
  }
}

TEST_CASE("devices to which an input comes in pieces are used, though every op has it whole") {
  GraphMaker maker;
  maker.sink(maker.alongRows("rows", maker.source("x", {1, 64}, ValueRole::Input)));
  maker.source("unread", {64, 1}, ValueRole::Input);
  const Mesh mesh({{"device", 4, 0}});
  const Cluster cluster = valueOf(withDevices(valueOf(loadCluster("dgx-a100-80gb")), 4));
  auto planWith = [&](const std::map<std::string, std::string> &cuts) {
    std::vector<Strategy> strategies;
    for (const GraphOp &op : maker.graph.ops) {
      auto cut = cuts.find(op.name);
      strategies.push_back(valueOf(
          Strategy::parse(cut == cuts.end() ? "replicated" : cut->second, maker.graph.rules[op.rule.index()], mesh)));
    }
    return valueOf(planStrategies(maker.graph, cluster, mesh, std::move(strategies)));
  };
  CHECK(planWith({}).devicesUsed == 1);
  CHECK(planWith({{"unread", "d0:device"}}).devicesUsed == 1);
  const Plan inPieces = planWith({{"x", "d1:device"}});
  CHECK(inPieces.devicesUsed == 4);
  CHECK(inPieces.communicationSeconds > 0);
}

TEST_CASE("the share of peak is of all devices, also of those that a plan leaves out") {
  const OpGraph graph = oneRow();
  const Plan plan = planOn(graph, 13);
  REQUIRE(plan.devicesUsed == 10);
  CHECK_THAT(llvm::join(plan.notes, "\n"), Catch::Contains("planned on 10 of the 13 devices; on all 13 a step"));
  CHECK(secondsAtPeak(plan) == Approx(secondsAtPeak(planOn(graph, 1))));
  CHECK(llvm::toString(checkStatements(graph, plan)).empty());
}

TEST_CASE("the bound counts devices that there was no time to try") {
  const OpGraph graph = oneRow();
  const PlanRequest request = onThirteen();
  const PlanningTarget target = valueOf(readTarget(request));
  REQUIRE(!target.fewer.empty());
  const Decision onAll = valueOf(decide(valueOf(makeTask(graph, request, target, {}, withClock(request)))));
  REQUIRE(onAll.status == PlanStatus::Optimal);

  PlanningControl control = withClock(request);
  control.report = [&](llvm::StringRef phase) { // the search on all devices is done
    if (phase == "costing the references")
      control.clock->spend(1e9 * request.timeLimitSeconds);
  };
  const PlanningTask task = valueOf(makeTask(graph, request, target, {}, control));
  const DevicesDecision late = valueOf(decideDevices(task, target.fewer));
  CHECK(late.usesAll);
  CHECK(late.decision.status == PlanStatus::Feasible);
  CHECK(late.decision.lowerBoundSeconds < onAll.lowerBoundSeconds);
  CHECK(late.decision.gap == Approx(1 - late.decision.lowerBoundSeconds / late.decision.seconds()));
  CHECK_THAT(llvm::join(late.decision.notes, "\n"),
             Catch::Contains("the time limit of 60 s was over before plans on ") &&
                 Catch::Contains(" of the devices were looked for, which may be faster"));
}

TEST_CASE("a search that breaks on fewer devices is no search that finds nothing") {
  const OpGraph graph = oneRow();
  const PlanRequest request = onThirteen();
  PlanningTarget target = valueOf(readTarget(request));
  target.search.run = searchOnce;
  PlanningControl control = withClock(request);
  numDecisions = 0;
  control.report = [](llvm::StringRef phase) { numDecisions += phase == "searching"; };
  const PlanningTask task = valueOf(makeTask(graph, request, target, {}, control));
  llvm::Expected<DevicesDecision> decided = decideDevices(task, target.fewer);
  REQUIRE(!decided);
  const auto [fault, message] = takeMessage(decided.takeError());
  CHECK(fault == Fault::Internal);
  CHECK_THAT(message, Catch::Contains("the search is broken"));
}

TEST_CASE("with other figures a step may take longer than what was known of a task") {
  GraphMaker maker;
  ValueId many = maker.source("many", {512, 4096}, ValueRole::Input);
  for (const char *name : {"a", "b", "c"}) // cut by rows alone: no tensor parallelism
    many = maker.alongRows(name, many);
  maker.sink(many);
  ValueId single = maker.source("single", {1, 4096}, ValueRole::Input); // no data parallelism
  maker.sink(maker.matmul("product", single, maker.source("w", {4096, 4096}, ValueRole::Parameter)));
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.cluster = "cpu-local";
  request.devices = 4;
  PlanningTask task = valueOf(makeTask(maker.graph, request, valueOf(readTarget(request)), {}, withClock(request)));
  const Decision decision = valueOf(decide(task));
  const Plan plan = describePlan(task, decision);
  const Candidate kept = valueOf(costCandidate(task, decision.candidate.mesh, replicated(maker.graph)));
  const std::vector<PlanSensitivity> rows = measureSensitivity(task, kept, plan).rows;
  task.knownSeconds = 0;
  const std::vector<PlanSensitivity> known = measureSensitivity(task, kept, plan).rows;
  REQUIRE(rows.size() == 8);
  REQUIRE(known.size() == rows.size());
  for (auto [row, same] : llvm::zip_equal(rows, known)) {
    INFO(row.figure << " " << row.scale);
    REQUIRE(row.stepSeconds);
    CHECK(row.stepSeconds == same.stepSeconds);
  }
}
