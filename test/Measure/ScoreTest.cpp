// Scores of made-up predictions, worked by hand.
#include "Rows.h"

#include "apc/Measure/Score.h"

using namespace apc;

namespace {

Prediction predicted(double seconds, int64_t bytes = 10, int64_t limit = 100) {
  Prediction own;
  own.seconds = seconds, own.memoryBytes = own.lastStageBytes = bytes, own.memoryLimitBytes = limit;
  return own;
}

Prediction failure(const char *reason) {
  Prediction own;
  own.failure = reason;
  return own;
}

Cells timed(const char *id, const char *seconds, const char *group = "") {
  return throughputCells({{"id", id}, {"iteration_time_s", seconds}, {"strategy_group", group}});
}

Cells outcome(const char *id, const char *group, const char *microBatch, bool ranOut) {
  Cells cells = timed(id, ranOut ? "" : "1", group);
  cells["micro_batch"] = microBatch;
  if (ranOut)
    cells["measured_metric"] = "FEASIBILITY", cells["measured_value"] = "OOM (-1)", cells["use"] = "F";
  return cells;
}

} // namespace

TEST_CASE("rows count by source, and left-out rows by reason") {
  Cells other = throughputCells({{"id", "o"}, {"source", "Other; a remark"}, {"iteration_time_s", "4"}});
  Cells same = throughputCells({{"id", "p"}, {"source", "Other; another"}, {"trust", "C"}});
  std::vector<Measurement> rows = readRows({timed("a", "1"), timed("b", "2"), timed("c", "3"), other, same});
  std::vector<Prediction> predictions = {predicted(2), predicted(1), failure("layout dp=8: 12 is not 13"), predicted(4),
                                         failure("trust C")};
  Score score = scoreRows(rows, predictions);
  REQUIRE(score.sources.size() == 2);
  CHECK(score.sources[0].source == "Made up");
  CHECK(score.sources[0].rows == 3);
  CHECK(score.sources[0].rowsUsed == 2);
  REQUIRE(score.sources[0].leftOut.size() == 1);
  CHECK(score.sources[0].leftOut.at("N is not N").str() == "12 is not 13");
  CHECK(*meanAbsoluteError(score.sources[0].times) == Approx((1 + 0.5) / 2));
  CHECK(score.sources[1].source == "Other");
  CHECK(score.sources[1].rows == 2);
  CHECK(score.sources[1].leftOut.at("trust C").rows == 1);
  CHECK(score.rows() == 5);
  CHECK(score.rowsUsed() == 3);
  CHECK(*meanAbsoluteError(score.times()) == Approx((1 + 0.5 + 0) / 3));
}

TEST_CASE("reasons that differ in numbers count together, and names stand as they are written") {
  std::vector<Measurement> rows = readRows({timed("a", "1"), timed("b", "1"), timed("c", "1")});
  std::vector<Prediction> predictions = {failure("hardware without a preset: AMD MI250X (GCD)"),
                                         failure("known is the H100 with 80 GB, not with 96"),
                                         failure("known is the H100 with 80 GB, not with 64")};
  std::string text;
  llvm::raw_string_ostream os(text);
  printScore(scoreRows(rows, predictions), os);
  CHECK_THAT(text, Catch::Contains("1  hardware without a preset: AMD MI250X (GCD)\n"));
  CHECK_THAT(text, Catch::Contains("2  known is the H100 with 80 GB, not with 96, and alike\n"));
  CHECK_THAT(printScoreJson(scoreRows(rows, predictions)), Catch::Contains("not with 96, and alike"));
}

TEST_CASE("regret is the time of the choice by the best") {
  std::vector<Measurement> rows = readRows({timed("a", "2", "G1"), timed("b", "3", "G1"), timed("c", "4", "G1"),
                                            timed("d", "5", "G2"), timed("e", "6", "G2"), timed("f", "1", "G3")});
  // G1: c is predicted fastest but does not fit, so b is chosen: 3 / 2. G2: d, which is the best. G3 is no choice.
  std::vector<Prediction> predictions = {predicted(9), predicted(8), predicted(1, 200),
                                         predicted(1), predicted(2), predicted(1)};
  Score score = scoreRows(rows, predictions);
  REQUIRE(score.choices.size() == 2);
  CHECK(score.choices[0].chosen == "b");
  CHECK(score.choices[0].best == "a");
  CHECK(score.choices[0].regret == Approx(1.5));
  CHECK(score.choices[1].regret == Approx(1));
}

TEST_CASE("rows of one group that differ in more than their layout are no choice") {
  auto choicesOf = [](const Cells &changes) {
    Cells other = timed("c", "1", "G");
    for (const auto &[column, text] : changes)
      other[column] = text;
    std::vector<Measurement> rows = readRows({timed("a", "2", "G"), timed("b", "3", "G"), other});
    return scoreRows(rows, {predicted(3), predicted(4), predicted(5)}).choices;
  };
  // The group keeps the choice between a and b.
  for (const auto &[column, text] : Cells{{"global_batch", "16"},
                                          {"seq", "256"},
                                          {"layers", "4"},
                                          {"source", "Another"},
                                          {"hardware", "H100 SXM"},
                                          {"precision", "fp16"},
                                          {"notes", "Megatron-LM"}}) {
    INFO(column);
    REQUIRE(choicesOf({{column, text}}).size() == 1);
    CHECK(choicesOf({{column, text}})[0].best == "a");
  }
  REQUIRE(choicesOf({{"num_devices", "4"}, {"dp", "4"}}).size() == 1);
  CHECK(choicesOf({{"num_devices", "4"}, {"dp", "4"}})[0].best == "a");
  for (const Cells &layout :
       {Cells{{"micro_batch", "1"}}, Cells{{"pp", "2"}, {"dp", "1"}}, Cells{{"tp", "2"}, {"dp", "1"}},
        Cells{{"cp", "2"}, {"dp", "1"}}, Cells{{"zero_stage", "1"}}, Cells{{"recompute", "full"}},
        Cells{{"source", "Made up; a remark on this row"}}})
    CHECK(choicesOf(layout)[0].best == "c");
}

TEST_CASE("outcomes and the limit between them") {
  std::vector<Measurement> rows = readRows({outcome("a", "G", "1", false), outcome("b", "G", "2", false),
                                            outcome("c", "G", "4", true), outcome("d", "", "1", true)});
  // The limit of 100 lies 20 above what is predicted of c, which ran out. b ran and fits.
  std::vector<Prediction> predictions = {predicted(3, 40), predicted(2, 60), predicted(1, 80), predicted(1, 150)};
  Score score = scoreRows(rows, predictions);
  CHECK(score.outOfMemory.predictedAndTrue == 1); // d
  CHECK(score.outOfMemory.trueOnly == 1);         // c
  CHECK(score.outOfMemory.predictedOnly == 0);
  REQUIRE(score.limits.size() == 1);
  CHECK(score.limits[0].ran == "b");
  CHECK(score.limits[0].ranOut == "c");
  CHECK(score.limits[0].error == Approx(0.2));
  REQUIRE(score.choices.size() == 1);
  CHECK(score.choices[0].ranOut); // c would be chosen
}

TEST_CASE("a limit lies between rows that ran the same kernels on the same devices") {
  auto limitsWith = [](const Cells &changes) {
    Cells out = outcome("b", "", "4", true);
    for (const auto &[column, text] : changes)
      out[column] = text;
    return scoreRows(readRows({outcome("a", "", "2", false), out}), {predicted(1, 60), predicted(1, 120)}).limits;
  };
  CHECK(limitsWith({}).size() == 1);
  CHECK(limitsWith({{"notes", "Megatron-LM"}}).empty());             // another runtime
  CHECK(limitsWith({{"notes", "kernel=flash_attention2"}}).empty()); // and gradients in the bits of the weights
  CHECK(limitsWith({{"gpus_per_node", "4"}}).empty());
}

TEST_CASE("memory of a test is that of its last stage") {
  std::vector<Measurement> rows = readRows({testCells()});
  Prediction own = predicted(1, 3'000'000'000, 80'000'000'000);
  own.lastStageBytes = 1'500'000'000;
  Score score = scoreRows(rows, own);
  CHECK(score.sources[0].times.empty());
  CHECK(*meanAbsoluteError(score.memory()) == Approx(0.5));
}

TEST_CASE("what is alive between steps is compared apart") {
  std::vector<Measurement> rows = readRows({testCells({{"id", "a"}, {"mem_allocated_bytes", "400000000"}}),
                                            testCells({{"id", "b"}, {"mem_allocated_bytes", "500000000"}}),
                                            testCells({{"id", "c"}, {"mem_allocated_bytes", ""}})});
  Prediction own = predicted(1, 3'000'000'000, 80'000'000'000);
  own.boundaryBytes = 440'000'000;
  Score score = scoreRows(rows, {own, own, own});
  CHECK(score.boundaries().size() == 2);
  CHECK(*errorQuantile(score.boundaries(), 1) == Approx(0.12));
  std::string text = printScoreJson(score);
  CHECK(text.find("\"boundary_memory_rows\": 2") != std::string::npos);
  CHECK(text.find("\"boundary_memory_median\": 0.1") != std::string::npos);
  CHECK(text.find("\"boundary_memory_p90\": 0.1") != std::string::npos);
}

TEST_CASE("the seconds of a row sum to its step") {
  Prediction own = predicted(7);
  own.computeSeconds = 1;
  own.communicationSeconds = 1.5;
  own.exposedSeconds = 0.5;
  own.hostSeconds = 2.25;
  own.bubbleSeconds = 3.25;
  std::string text;
  llvm::raw_string_ostream os(text);
  printRows(readRows({timed("a", "2")}), own, os);
  CHECK(text.find("predicted_seconds,compute_seconds,communication_seconds,exposed_seconds,host_seconds,bubble_seconds,"
                  "measured_bytes") != std::string::npos);
  CHECK(text.find(",2.0,7.0,1.0,1.5,0.5,2.25,3.25,,") != std::string::npos);
}

TEST_CASE("the document holds shares, and null where there is nothing") {
  Score score = scoreRows(readRows({timed("a", "2")}), predicted(3));
  std::string text = printScoreJson(score);
  CHECK(text.find("\"rows\": 1") != std::string::npos);
  CHECK(text.find("\"mape\": 0.5") != std::string::npos);
  CHECK(text.find("\"regret_mean\": null") != std::string::npos);
  CHECK(text.find("\"oom_precision\": null") != std::string::npos);
  CHECK(text.find("\"interval_coverage\": null") != std::string::npos);
}
