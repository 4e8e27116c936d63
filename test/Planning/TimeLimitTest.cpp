// The time limit ends references and reasons too: there is a plan all the same, and it says what it lacks.
#include "../ValueOf.h"
#include "GraphMaker.h"

#include "apc/Planning/Planning.h"

#include "llvm/ADT/StringExtras.h"

using namespace apc;

namespace {

/// Columns of the first product are worth cutting: it has few rows, which do not fill tiles.
OpGraph products() {
  GraphMaker maker;
  ValueId x = maker.source("x", {96, 1024}, ValueRole::Input);
  ValueId first = maker.matmul("first", x, maker.source("v", {1024, 4096}, ValueRole::Parameter));
  maker.sink(maker.matmul("second", maker.relu("relu", first), maker.source("w", {4096, 1024}, ValueRole::Parameter)));
  return maker.graph;
}

/// The plan of a command that began so long ago.
Plan planAfter(std::chrono::seconds elapsed, std::vector<Pin> pins = {}) {
  OpGraph graph = products();
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.devices = 4;
  request.pins = std::move(pins);
  PlanningControl control;
  control.clock = std::make_shared<WorkClock>(request.timeLimitSeconds);
  control.begin = -std::chrono::duration<double>(elapsed).count();
  return valueOf(planGraph(graph, request, valueOf(readTarget(request)), {}, control));
}

size_t numRunnerUps(const Plan &plan) {
  return llvm::count_if(plan.stages.front().choices,
                        [](const PlanChoice &choice) { return choice.runnerUp.has_value(); });
}

const Reference &referenceOf(const Plan &plan, llvm::StringRef name) {
  auto found = llvm::find_if(plan.references, [&](const Reference &entry) { return entry.name == name; });
  REQUIRE(found != plan.references.end());
  return *found;
}

} // namespace

TEST_CASE("a command that has its time gives all reasons and references") {
  Plan plan = planAfter(std::chrono::seconds(0));
  CHECK(numRunnerUps(plan) == plan.stages.front().choices.size());
  CHECK(referenceOf(plan, "tensor parallel").stepSeconds.has_value());
  CHECK(llvm::join(plan.notes, "\n").find("time limit") == std::string::npos);
}

TEST_CASE("a command whose time is over before the search gives a plan without runner-ups, and says so") {
  Plan plan = planAfter(std::chrono::hours(1));
  CHECK(plan.memory.total() <= plan.memoryLimitBytes);
  CHECK(numRunnerUps(plan) == 0);
  for (const PlanChoice &choice : plan.stages.front().choices)
    CHECK(choice.factors.empty());
  std::string notes = llvm::join(plan.notes, "\n");
  INFO(notes);
  CHECK(notes.find("the time limit of 60 s ended the search") != std::string::npos);
  CHECK(notes.find("the time limit of 60 s was over before the runner-ups of 4 of 4 ops were looked for") !=
        std::string::npos);
  CHECK(notes.find("was over before all references were costed: tensor parallel is missing") != std::string::npos);
  CHECK(plan.references.size() == 2);
  CHECK(referenceOf(plan, "data parallel").stepSeconds.has_value()); // it takes no search
}

TEST_CASE("a command that the user stops says so, and nothing of a time limit") {
  auto notesOn = [](int64_t devices, double begin = 0) {
    std::atomic<bool> stop = true;
    PlanRequest request;
    request.mode = StepMode::Infer;
    request.devices = devices;
    PlanningControl control;
    control.stop = &stop;
    control.clock = std::make_shared<WorkClock>(request.timeLimitSeconds);
    control.begin = begin;
    Plan plan = valueOf(planGraph(products(), request, valueOf(readTarget(request)), {}, control));
    return llvm::join(plan.notes, "\n");
  };
  auto says = [](const std::string &notes, const std::string &text) { return notes.find(text) != std::string::npos; };
  const std::string few = notesOn(4), many = notesOn(48), late = notesOn(4, -3600);
  INFO(few << "\n\n" << many << "\n\n" << late);
  CHECK(says(few, "the search was stopped before the runner-ups of 4 of 4 ops were looked for: left to its end, it"));
  CHECK(says(late, "the search was stopped before all references were costed: tensor parallel is missing"));
  CHECK(says(many, "meshes of 4 axes were not searched, for the search was stopped: the bound says nothing about"));
  CHECK(says(many, "the search was stopped before plans on "));
  for (const std::string &notes : {few, many, late}) {
    CHECK(says(notes, "the search was stopped: this is the best that it had found by then"));
    CHECK_FALSE(says(notes, "time"));
  }
}

TEST_CASE("searches that run at once leave out meshes whose problems there was no time to build") {
  OpGraph graph = products();
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.devices = 48; // several meshes of three axes
  PlanningControl control;
  control.clock = std::make_shared<WorkClock>(request.timeLimitSeconds);
  control.begin = -3600;
  for (const char *search : {"ilp", "dp"}) {
    INFO(search);
    request.search = search;
    llvm::Expected<Plan> plan = planGraph(graph, request, valueOf(readTarget(request)), {}, control);
    std::string said = plan ? llvm::join(plan->notes, "\n") : takeMessage(plan.takeError()).second;
    CHECK(said.find("time limit of 60 s") != std::string::npos);
  }
}

TEST_CASE("alternatives to pins are looked for in the same time") {
  std::vector<Pin> pins{valueOf(parsePin("first: m=4", "test"))};
  auto pinnedChoice = [](const Plan &plan) {
    return llvm::find_if(plan.stages.front().choices, [](const PlanChoice &choice) { return choice.op == "first"; })
        ->pinned.value();
  };
  CHECK(pinnedChoice(planAfter(std::chrono::seconds(0), pins)).free.has_value());
  Plan late = planAfter(std::chrono::hours(1), pins);
  CHECK_FALSE(pinnedChoice(late).free.has_value());
  CHECK_FALSE(pinnedChoice(late).by.empty());
  std::string notes = llvm::join(late.notes, "\n");
  INFO(notes);
  CHECK(notes.find("was over before the unpinned strategies of 1 of 4 ops were looked for") != std::string::npos);
}
