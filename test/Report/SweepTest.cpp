// The marks of a sweep.
#include "../Plan/PlanSamples.h"

#include "apc/Report/PrintSweep.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

SweepCell cell(llvm::StringRef cluster, int64_t devices, double stepSeconds) {
  SweepCell made{cluster.str(), devices};
  made.stepSeconds = stepSeconds;
  made.samplesPerSecond = 4 / stepSeconds;
  return made;
}

SweepCell failed(llvm::StringRef cluster, int64_t devices) {
  return {cluster.str(), devices,
          "nothing fits:\n  - memory\nwhat would help: a limit above 9.00 GiB, or more than 4 devices (where dims can "
          "be cut so often)\n  more"};
}

} // namespace

TEST_CASE("a cell has the figures of its plan") {
  SweepCell made = cellOf(samplePlan());
  CHECK(made.cluster == "dgx-h100");
  CHECK(made.devices == 8);
  CHECK(made.stepSeconds == Approx(0.01));
  CHECK(*made.deviceSecondsPerSample() == Approx(0.02)); // 8 devices, 400 samples/s
  Plan unknown = samplePlan();
  unknown.samplesPerSecond.reset();
  CHECK_FALSE(cellOf(unknown).deviceSecondsPerSample());
}

TEST_CASE("the fewest devices that fit and the knee are marked for each cluster") {
  // a: twice the devices halve the step, then take a fifth, then nothing off it. b: still three quarters of the speed.
  std::vector<SweepCell> cells = {failed("a", 2),     cell("a", 4, 8), cell("a", 8, 4),  cell("a", 16, 3.2),
                                  cell("a", 32, 3.2), cell("b", 4, 8), cell("b", 8, 4.5)};
  SweepMarks marks = marksOf(cells);
  CHECK(marks.fewest == std::vector<size_t>{1, 5});
  CHECK(marks.knees == std::vector<size_t>{2});
  std::string text;
  llvm::raw_string_ostream os(text);
  printSweep(cells, os);
  CHECK_THAT(text, Catch::Contains("does not fit: needs a limit above 9.00 GiB, or more than 4 devices\n") &&
                       Catch::Contains("fewest that fit") &&
                       Catch::Contains("knee: each device beyond it brings less than half"));
  CHECK(marksOf({failed("a", 2)}).fewest.empty());
}

TEST_CASE("a document says null where there is no plan") {
  std::string json = printSweepJson("m.onnx", {failed("a", 2), cell("a", 4, 8)});
  CHECK_THAT(json, Catch::Contains("\"model\": \"m.onnx\"") &&
                       Catch::Contains("\"reason\": \"nothing fits:\\n  - memory\\n") &&
                       Catch::Contains("\"step_seconds\": null") && Catch::Contains("\"fewest\": true"));
}
