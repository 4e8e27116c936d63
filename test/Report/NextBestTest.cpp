// The next best points beside a plan, by the choice in which they differ.
#include "../../lib/Report/NextBest.h"
#include "../Plan/PlanSamples.h"

#include "apc/Report/ExplainJson.h"
#include "apc/Report/Summary.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

#include <sstream>

using namespace apc;

namespace {

/// The sample on 4 workers, {4, "1f1b", 1, 8, 8, "none"} in 10 ms, beside points that are slower or do not fit.
Plan pipelinePlan() {
  Plan plan = samplePlan();
  plan.pipeline = PlanPipeline{"1f1b", 4, 1, {}, {}};
  plan.parallelism.clear();
  plan.memoryLimitBytes = int64_t(1) << 30;
  int64_t bytes = int64_t(1) << 29;
  plan.tried = {{4, "1f1b", 1, 8, 8, 2, "none", "auto", 0.010, bytes, true, "", false},
                {4, "gpipe", 1, 8, 8, 2, "none", "auto", 0.011, bytes, true, "", true},
                {4, "zb-v", 2, 8, 8, 2, "norms", "auto", 0.012, bytes, true, "", true},
                {4, "gpipe", 1, 4, 16, 2, "none", "auto", 0.013, bytes, true, "", true},
                {4, "gpipe", 1, 2, 32, 2, "none", "auto", 0.009, 4 * bytes, false, "the stages need too much", true},
                {8, "", 1, 8, 8, 2, "full", "auto", std::nullopt, std::nullopt, false, "stage 3 does not fit", true}};
  plan.numTried = 6;
  return plan;
}

const NextBest *find(const std::vector<NextBest> &rows, llvm::StringRef kind) {
  auto row = llvm::find_if(rows, [&](const NextBest &own) { return own.kind == kind; });
  return row == rows.end() ? nullptr : &*row;
}

std::string explained(const Plan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  explainPlan(plan, os);
  return text;
}

/// The shares of "Where the time goes", as percent.
std::vector<double> sharesIn(const std::string &text) {
  std::vector<double> shares;
  std::istringstream lines(text.substr(text.find("Where the time goes")));
  std::string line;
  std::getline(lines, line);
  for (double share = 0; std::getline(lines, line) && std::istringstream(line) >> share;)
    shares.push_back(share);
  return shares;
}

} // namespace

TEST_CASE("each kind of choice has the best point that differs in it, those that fit first") {
  std::vector<NextBest> rows = nextBest(pipelinePlan());
  REQUIRE(rows.size() == 5);
  CHECK(*find(rows, "other schedule")->point.stepSeconds == 0.011);
  CHECK(*find(rows, "other chunks")->point.stepSeconds == 0.012);
  CHECK(*find(rows, "other recomputation")->point.stepSeconds == 0.012);
  const NextBest &microBatches = *find(rows, "other micro-batches");
  CHECK(*microBatches.point.stepSeconds == 0.013);
  CHECK(microBatches.remark == "planned quickly; a faster one does not fit: 9.00 ms with 2.00 GiB");
  CHECK(find(rows, "other workers")->remark == "stage 3 does not fit");
  CHECK(untriedKinds(pipelinePlan()) == std::vector<std::string>{"no step without a pipeline was tried",
                                                                 "no other number of copies was tried",
                                                                 "no other stage of ZeRO was tried"});
}

TEST_CASE("layouts count beside what was tried, and the program without cut storage where nothing was") {
  Plan plan = pipelinePlan();
  plan.references = {{"layout dp=8,tp=1,pp=1,mb=2", 0.008, int64_t(1) << 29, false, "is not as --pipeline 4 wants it"},
                     {"layout dp=4,tp=1,pp=2,mb=2", 0.001, int64_t(1) << 29, true, ""},
                     {"layout dp=4,tp=2,mb=2", 0.007, int64_t(1) << 31, false, "is too large"}};
  plan.parallelism = {{"cut storage", 0.0095, int64_t(1) << 31}};
  std::vector<NextBest> rows = nextBest(plan);
  const NextBest *without = find(rows, "no pipeline");
  REQUIRE(without);
  CHECK(*without->point.stepSeconds == 0.008);
  CHECK(*without->point.microBatch == 16);
  CHECK(without->point.microBatches == 4);
  CHECK_THAT(without->remark, Catch::StartsWith("layout dp=8,tp=1") && Catch::Contains("--pipeline 4 wants it") &&
                                  Catch::Contains("a faster one does not fit: 7.00 ms with 2.00 GiB"));
  const NextBest *workers = find(rows, "other workers");
  REQUIRE(workers);
  CHECK(workers->point.workers == 2);
  CHECK(workers->point.schedule == "1f1b");
  CHECK(*workers->point.stepSeconds == 0.001);
  CHECK(workers->remark == "layout dp=4,tp=1,pp=2,mb=2");
  CHECK(*find(rows, "other schedule")->point.stepSeconds == 0.011); // layouts of its own schedule are none
  const NextBest *whole = find(rows, "other ZeRO");
  REQUIRE(whole);
  CHECK_FALSE(whole->point.feasible);
  CHECK_THAT(whole->remark, Catch::Contains("does not fit: the limit is 1.00 GiB"));
  CHECK(*find(rows, "other copies")->point.stepSeconds == 0.001); // of two in the plan
  CHECK(untriedKinds(plan).empty());
}

TEST_CASE("a plan without a pipeline says nothing of schedules") {
  std::vector<NextBest> rows = nextBest(samplePlan());
  CHECK(!find(rows, "other schedule"));
  CHECK(!find(rows, "no pipeline"));
  CHECK(!find(rows, "other workers"));
  REQUIRE(find(rows, "a pipeline"));
  CHECK(find(rows, "a pipeline")->point.workers == 2);
  CHECK(find(rows, "other recomputation")->remark == "does not fit");
  Plan inference = samplePlan();
  inference.training.reset();
  CHECK(nextBest(inference).empty());
  CHECK(untriedKinds(inference).empty());
}

TEST_CASE("fewer layers with the same policy are no other recomputation") {
  Plan plan = pipelinePlan();
  plan.training->recompute = "full:26";
  plan.tried[0].recompute = "full:27";
  plan.tried[1].recompute = "full:26,norms";
  const std::vector<NextBest> rows = nextBest(plan);
  REQUIRE(find(rows, "other recomputation"));
  CHECK(find(rows, "other recomputation")->point.recompute == "full:26,norms");
}

TEST_CASE("the explanation lists the points, the best first, and the kinds that were not tried") {
  std::string text = explained(pipelinePlan());
  CHECK_THAT(text, Catch::Contains("next best of 6 tried") && Catch::Contains("this plan") &&
                       Catch::Contains("\nno step without a pipeline was tried; no other number of copies was tried; "
                                       "no other stage of ZeRO was tried\n"));
  size_t list = text.find("\nTried around the step, the best first:\n");
  REQUIRE(list != std::string::npos);
  CHECK(text.find("this plan", list) < text.find("4 of 16", list));
  std::string json = explainPlanJson(pipelinePlan());
  CHECK_THAT(json, Catch::Contains("\"kind\": \"other schedule\"") && Catch::Contains("\"tried_count\": 6"));
  Plan many = pipelinePlan();
  many.numTried = 90;
  CHECK_THAT(explained(many), Catch::Contains("without 84 that are neither the best nor the best of a kind"));
}

TEST_CASE("the shares of the time are of all workers together") {
  Plan plan = pipelinePlan();
  plan.stepSeconds = 0.011;
  plan.stages.push_back(plan.stages.front());
  plan.stages[1].firstRank = 8;
  plan = withTotals(std::move(plan));
  CHECK(plan.computeSeconds == Approx(0.007)); // the mean worker's
  std::vector<double> shares = sharesIn(explained(plan));
  REQUIRE(shares.size() == 2);
  CHECK(shares[0] == Approx(60)); // four ops of 3 ms, of 20 ms
  CHECK(shares[0] + shares[1] <= 100 + 1e-9);
}
