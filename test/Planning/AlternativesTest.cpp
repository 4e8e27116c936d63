// Changes of a request that does not fit, in the order in which they are planned.
#include "apc/Planning/Alternatives.h"

#include <catch2/catch.hpp>

using namespace apc;
using Lines = std::vector<std::string>;

namespace {

PlanRequest trainingOn(int64_t devices) {
  PlanRequest request;
  request.mode = StepMode::Train;
  request.devices = devices;
  request.recompute = RecomputeChoice::None;
  return request;
}

Lines flagsOf(const std::vector<Alternatives> &all) {
  Lines lines;
  for (const Alternatives &list : all) {
    std::string line = list.isLastResort ? "last:" : "";
    for (const Alternative &own : list.nearestFirst)
      line += (line.empty() || line == "last:" ? "" : ", ") + own.flags;
    lines.push_back(line);
  }
  return lines;
}

} // namespace

TEST_CASE("changes are half the micro-batch and the least, and doubled devices up to 64 times") {
  Lines lines = flagsOf(alternativesTo(trainingOn(8), 12, false));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "--recompute full");
  CHECK(lines[1] == "--global-batch 12 --micro-batch 6, --global-batch 12 --micro-batch 1");
  CHECK(lines[2] == "--precision bf16");
  CHECK(lines[3] == "--optimizer sgd");
  CHECK(lines[4] == "--devices 16, --devices 32, --devices 64, --devices 128, --devices 256, --devices 512");
  CHECK(lines[5] == "last:--recompute full --global-batch 12 --micro-batch 1");
}

TEST_CASE("changes that are made already, or that cannot help, are left out") {
  PlanRequest request = trainingOn(1);
  request.recompute = RecomputeChoice::Full;
  request.precision = PrecisionChoice::Fp16;
  request.optimizer = OptimizerChoice::Sgd;
  CHECK(flagsOf(alternativesTo(request, std::nullopt, false)).size() == 1);
  CHECK(flagsOf(alternativesTo(trainingOn(1), 8, true)).front() == "--precision bf16");
  request.globalBatch = 8; // every micro-batch has been tried
  CHECK(flagsOf(alternativesTo(request, 8, false)).size() == 1);
  request.microBatch = 4;
  CHECK(flagsOf(alternativesTo(request, 8, false)).front() == "--micro-batch 2, --micro-batch 1");
}

TEST_CASE("storage that may be cut further is offered stage by stage") {
  PlanRequest request = trainingOn(4);
  CHECK(flagsOf(alternativesTo(request, 6, false)).front() == "--recompute full"); // all stages have been tried
  request.zero = ZeroChoice::Stage0;
  std::vector<Alternatives> all = alternativesTo(request, 6, false);
  CHECK(flagsOf(all).front() == "--zero 1, --zero 2, --zero 3");
  CHECK(all.front().nearestFirst[1].request.zero == ZeroChoice::Stage2);
  request.zero = ZeroChoice::Stage2;
  CHECK(flagsOf(alternativesTo(request, 6, false)).front() == "--zero 3");
  CHECK(flagsOf(alternativesTo(request, 6, true)).front() == "--precision bf16"); // the cut of all is too much already
  request.zero = ZeroChoice::Stage3;
  CHECK(flagsOf(alternativesTo(request, 6, false)).front() == "--recompute full");
}

TEST_CASE("another optimizer comes without settings that are not its own") {
  PlanRequest request = trainingOn(1);
  request.beta1 = 0.5;
  request.amsgrad = true;
  request.weightDecay = 0.25;
  for (const Alternatives &list : alternativesTo(request, std::nullopt, false))
    if (const Alternative &own = list.nearestFirst.front(); own.flags == "--optimizer sgd") {
      CHECK(own.request.optimizer == OptimizerChoice::Sgd);
      CHECK(own.request.beta1 == PlanRequest().beta1);
      CHECK_FALSE(own.request.amsgrad);
      CHECK(own.request.weightDecay == 0.25);
      return;
    }
  FAIL("--optimizer sgd is not among the changes");
}
