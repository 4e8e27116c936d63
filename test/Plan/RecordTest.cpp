// The record that a plan is held to.
#include "PlanSamples.h"

#include "apc/Plan/PlanJson.h"
#include "apc/Plan/Record.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

std::string messageOf(llvm::StringRef text) {
  llvm::Expected<PlanRecord> record = parseRecord(text, "model.baseline");
  return record ? "" : takeMessage(record.takeError()).second;
}

RecordComparison compared(const Plan &now, double tolerance = 0.02) {
  return compareRecords(recordOf(samplePlan()), recordOf(now), tolerance);
}

} // namespace

TEST_CASE("a record is one fact a line, merged over layers, in a fixed order") {
  CHECK(printRecord(recordOf(samplePlan())) == R"(apc baseline 1
setting cluster dgx-h100
setting cluster-set device.memory_bytes=40GiB
setting cluster-set level.node.bytes_per_second=25e9
setting devices 8
setting dim batch=4
setting layout dp=2,tp=4
setting memory-limit 8589934592
setting mode train
setting runtime torch-compiled
setting search dp
mesh data=2 (node) model=4 (device)
seconds communication 0.003
seconds compute 0.007
seconds step 0.01
bytes AllReduce 4096
bytes memory activations 1024
bytes memory parameters 1048576
bytes memory total 1049600
op h.*/Add (add) x 2: replicated
op h.*/MatMul (matmul) x 2: k:model
)");
}

TEST_CASE("a record reads back the same, also with lines in another order and from a whole plan.json") {
  PlanRecord record = recordOf(samplePlan());
  std::string text = printRecord(record);
  llvm::Expected<PlanRecord> read = parseRecord(text, "model.baseline");
  REQUIRE(bool(read));
  CHECK(*read == record);
  llvm::Expected<PlanRecord> whole = parseRecord(printPlan(samplePlan()), "plan.json");
  REQUIRE(bool(whole));
  CHECK(*whole == record);
  std::string moved = "seconds step 0.01\n";
  size_t at = text.find(moved);
  std::string shuffled = text.substr(0, at) + text.substr(at + moved.size()) + "# merged by hand\n" + moved;
  llvm::Expected<PlanRecord> again = parseRecord(shuffled, "model.baseline");
  REQUIRE(bool(again));
  CHECK(*again == record);
}

TEST_CASE("limits of the search and shardings that were left out are recorded where they are not the default") {
  Plan plan = samplePlan();
  plan.request.timeLimitSeconds = 0.05;
  plan.request.gapTolerance = 1e-6;
  plan.request.ignoresModelShardings = true;
  PlanRecord record = recordOf(plan);
  std::string text = printRecord(record);
  CHECK_THAT(text, Catch::Contains("setting dim batch=4\nsetting gap 1e-06\nsetting ignore-model-shardings true\n") &&
                       Catch::Contains("setting search dp\nsetting time-limit 0.05\n"));
  for (const std::string &form : {text, printPlan(plan)}) {
    llvm::Expected<PlanRecord> read = parseRecord(form, "model.baseline");
    REQUIRE(bool(read));
    CHECK(*read == record);
  }
  CHECK_THAT(messageOf(text + "setting time-limit soon\n"), Catch::Contains("setting time-limit soon"));
  CHECK_THAT(messageOf(text + "setting gap nan\n"), Catch::Contains("setting gap nan"));
}

TEST_CASE("times of planning leave no trace in a record") {
  Plan later = samplePlan();
  later.timing.searchSeconds = 1e3;
  CHECK(printRecord(recordOf(later)) == printRecord(recordOf(samplePlan())));
}

TEST_CASE("an op whose name no other shares keeps its numbers; a layer that differs shows beside the others") {
  Plan plan = samplePlan();
  plan.stages.front().choices[1].op = "head_7/Add";
  plan.stages.front().choices[2].strategy = strategy("n:model");
  std::string text = printRecord(recordOf(plan));
  CHECK_THAT(text, Catch::Contains("op head_7/Add (add) x 1: replicated\n") &&
                       Catch::Contains("op h.*/MatMul (matmul) x 1: k:model\nop h.*/MatMul (matmul) x 1: n:model\n"));
}

TEST_CASE("names with the text form's own marks survive") {
  Plan plan = samplePlan();
  plan.stages.front().choices[0].op = "a (b) x 3: c";
  PlanRecord record = recordOf(plan);
  llvm::Expected<PlanRecord> read = parseRecord(printRecord(record), "model.baseline");
  REQUIRE(bool(read));
  CHECK(*read == record);
}

TEST_CASE("a text that is no baseline is refused with its line") {
  std::string text = printRecord(recordOf(samplePlan()));
  CHECK_THAT(messageOf(""), Catch::Contains("one is missing"));
  CHECK_THAT(messageOf("hello\n"), Catch::Contains("'hello'") && Catch::Contains("apc baseline 1"));
  CHECK_THAT(messageOf("{\"a\": 1}"), Catch::Contains("a plan.json written by 'apc plan' is expected") ||
                                          Catch::Contains("'version' is missing"));
  CHECK_THAT(messageOf(text + "op h.*/Add (add) x 2: replicated\n"), Catch::Contains("line 22"));
  CHECK_THAT(messageOf(text + "setting devices many\n"), Catch::Contains("line 22") && Catch::Contains("many"));
  CHECK_THAT(messageOf(text + "seconds step nan\n"), Catch::Contains("line 22"));
  CHECK_THAT(messageOf("apc baseline 1\nmesh one device\n"), Catch::Contains("one is missing"));
  // A merge that kept both sides: which of them holds is not for us to say.
  for (const char *second : {"mesh one device", "seconds step 5", "bytes memory total 1", "setting devices 16",
                             "setting search auto", "setting dim batch=8"})
    CHECK_THAT(messageOf(text + second + "\n"), Catch::Contains("line 22") && Catch::Contains("none is given twice"));
}

TEST_CASE("the stages of a pipeline are recorded, and others fail") {
  Plan plan = samplePlan(), other = samplePlan();
  plan.pipeline = PlanPipeline{"1f1b", 2, 1, {"h.1/MatMul"}, {}};
  other.pipeline = PlanPipeline{"zb-h1", 2, 1, {"h.1/MatMul"}, {}};
  PlanRecord record = recordOf(plan);
  std::string text = printRecord(record);
  CHECK_THAT(text, Catch::Contains("\nstages 1f1b on 2 workers, cut before 'h.1/MatMul'\n"));
  llvm::Expected<PlanRecord> read = parseRecord(text, "model.baseline");
  REQUIRE(bool(read));
  CHECK(*read == record);
  CHECK_THAT(messageOf(text + "stages one\n"), Catch::Contains("none is given twice"));
  CHECK(compareRecords(record, recordOf(plan), 0).passes());
  CHECK(compareRecords(record, recordOf(other), 0).failures ==
        std::vector<std::string>{"stages: 1f1b on 2 workers, cut before 'h.1/MatMul' -> zb-h1 on 2 workers, cut before "
                                 "'h.1/MatMul'"});
  CHECK_THAT(compareRecords(record, recordOf(samplePlan()), 0).failures.at(0), Catch::EndsWith(" -> one"));
}

TEST_CASE("the same plan passes; a changed strategy or mesh fails whatever it costs") {
  CHECK(compared(samplePlan()).passes());
  Plan changed = samplePlan();
  changed.stages.front().choices[2].strategy = strategy("n:model");
  RecordComparison comparison = compared(changed);
  REQUIRE(comparison.failures.size() == 1);
  CHECK(comparison.failures[0] == "h.*/MatMul (matmul): 2 x k:model -> 1 x k:model, 1 x n:model");
  Plan remeshed = samplePlan();
  remeshed.stages.front().mesh.axes.pop_back();
  CHECK_THAT(compared(remeshed).failures.at(0), Catch::StartsWith("mesh: data=2 (node) model=4 (device) -> data=2"));
}

TEST_CASE("on a mesh of other axes only those ops fail that cut other devices") {
  Plan parts = samplePlan();
  StagePlan &stage = parts.stages.front();
  stage.mesh.axes = {{"data", 2, "node", 0}, {"model", 2, "device", 1}, {"model2", 2, "device", 1}};
  for (PlanChoice &choice : stage.choices)
    if (choice.strategy.str() == "k:model")
      choice.strategy = strategy("k:(model model2)");
  CHECK(compared(parts).passes()); // axes of other names are no change
  stage.choices[2].strategy = strategy("k:model");
  RecordComparison comparison = compared(parts);
  REQUIRE(comparison.failures.size() == 2);
  CHECK(comparison.failures[1] == "h.*/MatMul (matmul): 2 x k:model -> 1 x k:(model model2), 1 x k:model");
}

TEST_CASE("axes that are renamed alone fail nothing; a mesh of other devices fails") {
  Plan renamed = samplePlan();
  StagePlan &stage = renamed.stages.front();
  stage.mesh.axes = {{"model", 2, "node", 0}, {"model2", 4, "device", 1}};
  for (PlanChoice &choice : stage.choices)
    if (choice.strategy.str() == "k:model")
      choice.strategy = strategy("k:model2");
  CHECK(compared(renamed).passes());
  stage.mesh.axes[0].size = 4;
  CHECK(compared(renamed).failures ==
        std::vector<std::string>{"mesh: data=2 (node) model=4 (device) -> model=4 (node) model2=4 (device)"});
}

TEST_CASE("ops that come or go fail") {
  Plan shorter = samplePlan();
  std::vector<PlanChoice> &choices = shorter.stages.front().choices;
  choices.erase(choices.begin() + 1);
  choices.pop_back();
  CHECK(compared(shorter).failures.at(0) == "h.*/Add (add): 2 x replicated -> absent");
  CHECK(compareRecords(recordOf(shorter), recordOf(samplePlan()), 0.02).failures.at(0) ==
        "h.*/Add (add): absent -> 2 x replicated");
}

TEST_CASE("worse beyond the tolerance fails, within it passes, better is said") {
  Plan plan = samplePlan();
  plan.stepSeconds = 0.0101;
  CHECK(compared(plan).passes());
  CHECK_FALSE(compared(plan, 0.005).passes());
  plan.stepSeconds = 0.011;
  CHECK(compared(plan).failures.at(0) == "step: 10.0 ms -> 11.0 ms (+10.00 %, the tolerance is 2 %)");
  plan.stepSeconds = 0.009;
  CHECK(compared(plan).passes());
  CHECK_THAT(compared(plan).improvements.at(0), Catch::Contains("-10.00 %"));
  plan.memory[MemoryCategory::Parameters] *= 2;
  CHECK_THAT(compared(plan).failures.at(0), Catch::StartsWith("memory: 1.00 MiB -> 2.00 MiB"));
}
