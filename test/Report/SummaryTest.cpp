// The summary of a plan, and the words for its letters.
#include "../../lib/Report/FactorWords.h"
#include "../../lib/Report/OpsTable.h"
#include "../Plan/PlanSamples.h"

#include "apc/Report/Summary.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

#include <array>

using namespace apc;

namespace {

std::string summaryOf(const Plan &plan, bool allOps = false) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printSummary(plan, os, allOps);
  return text;
}

/// The sample with 20 kinds of ops more, each faster than the one before.
Plan longPlan() {
  Plan plan = samplePlan();
  StagePlan &stage = plan.stages.front();
  for (unsigned kind = 0; kind < 20; ++kind) {
    PlanChoice choice = stage.choices[1];
    choice.op = std::string("kind") + static_cast<char>('a' + kind);
    choice.seconds = 1e-4 / (kind + 1);
    choice.communicationSeconds = 0;
    stage.choices.push_back(choice);
  }
  return plan;
}

} // namespace

TEST_CASE("the summary says which work each axis carries") {
  CHECK_THAT(summaryOf(samplePlan()), Catch::Contains("mesh     data=2 (node) model=4 (device)\n"
                                                      "carries  data: idle; model: summed\n"));
}

TEST_CASE("an axis carries the inputs that arrive in pieces of it, where it cuts no op") {
  Plan plan = samplePlan();
  plan.stages[0].shardings.push_back({"x", "x", ValueRole::Input, {8, 16}, {4, 16}, {{{"data"}, {}}, {}}});
  CHECK_THAT(summaryOf(plan), Catch::Contains("carries  data: idle; model: summed\n")); // no op reads it
  plan.stages[0].shardings.back().users = {"h.0/MatMul"};
  CHECK_THAT(summaryOf(plan), Catch::Contains("carries  data: inputs; model: summed\n"));
}

TEST_CASE("the summary has rates, a layer, and the bound in plain words") {
  CHECK_THAT(
      summaryOf(samplePlan()),
      Catch::Contains("rate     400 samples/s, 25.0 % of the devices' peak bf16 and f32 FLOP/s\n"
                      "layer    5.00 ms each, 2 of them: h.*\n"
                      "bound    10.0 ms: no plan in the searched space is faster than that (optimal, gap 0.00 %)\n"));
  Plan tokens = samplePlan();
  tokens.stages[0].shardings.push_back(
      {"input_ids", "input_ids", ValueRole::Input, {4, 512}, {4, 512}, {{{}, {}}, {}}});
  CHECK_THAT(summaryOf(tokens), Catch::Contains("400 samples/s, 204,800 tokens/s, 25.0 %"));
  Plan unknown = samplePlan();
  unknown.samplesPerSecond.reset();
  unknown.shareOfPeak.reset();
  CHECK_THAT(summaryOf(unknown), !Catch::Contains("rate "));
}

TEST_CASE("the summary says which time ops take that wait for memory, and those that run again") {
  Plan plan = samplePlan();
  CHECK_THAT(summaryOf(plan), !Catch::Contains("wait for memory"));
  std::vector<PlanChoice> &choices = plan.stages.front().choices;
  choices[0].seconds = 2e-3;
  choices[0].isMemoryBound = true;
  choices[1].seconds = 1e-3;
  choices[1].op += ".recomputed";
  CHECK_THAT(summaryOf(plan), Catch::Contains("compute  2.00 ms, 20.0 %, in ops that wait for memory; 1.00 ms, 10.0 %, "
                                              "in ops that run again (recomputation)\n"));
  choices[1].isMemoryBound = true;
  CHECK_THAT(summaryOf(plan),
             Catch::Contains("compute  3.00 ms, 30.0 %, in ops that wait for memory; 1.00 ms, 10.0 %"));
}

TEST_CASE("the summary says where memory is largest, which part of it is used, and which collectives take the time") {
  CHECK_THAT(summaryOf(samplePlan()), Catch::Contains("largest at h.1/Add") && Catch::Contains("50 % of 16.0 GiB") &&
                                          Catch::Contains("AllReduce   device                 1    3.00 ms") &&
                                          Catch::Contains("6.00 KiB"));
}

TEST_CASE("the summary says what the memory is made of where it is largest, and what of it is logits and loss") {
  CHECK_THAT(summaryOf(samplePlan()),
             Catch::Contains("activations           1.00 KiB\n"
                             "  logits and loss        256 B  25.0 % of the activations\n") &&
                 Catch::Contains("values where memory is largest  count  counted as                    bytes\n") &&
                 Catch::Contains("w*                                  2  parameters                 1.00 MiB\n"
                                 "y0                                  1  activations, moved copies     768 B\n"
                                 "logits                              1  activations                   256 B\n\n"));
  Plan inference = samplePlan();
  inference.lossBytes = 0;
  inference.stages[0].peakValues.resize(1);
  CHECK_THAT(summaryOf(inference),
             !Catch::Contains("logits") && Catch::Contains("others") && Catch::Contains("1.00 KiB\n\n"));
}

TEST_CASE("of workers with several stages the summary names the fullest and sums their memory") {
  Plan plan = samplePlan();
  plan.pipeline = PlanPipeline{"interleaved", 2, 2, {"b", "c", "d"}, {}};
  plan.stages.resize(4, plan.stages.front());
  constexpr int64_t unit = 1 << 20;
  for (auto [index, bytes] : llvm::enumerate(std::array<int64_t, 4>{1, 5, 2, 6})) { // worker 0: 3, worker 1: 11
    StagePlan &stage = plan.stages[index];
    stage.firstRank = static_cast<int64_t>(index % 2) * 8;
    stage.memory[MemoryCategory::Activations] = 9 * unit;
    stage.memoryTogether = MemoryTable();
    (*stage.memoryTogether)[MemoryCategory::Activations] = bytes * unit;
    stage.peakValues = {{"h." + std::to_string(index) + "/y", 1, MemoryCategory::Activations, false, bytes * unit / 2}};
  }
  const std::string text = summaryOf(withTotals(std::move(plan)));
  CHECK_THAT(text, Catch::Contains("total                 11.0 MiB  largest on worker 1, stages 1 and 3\n"));
  CHECK_THAT(text, Catch::Contains("values of its stages at their largest  count  counted as      bytes\n"));
  CHECK_THAT(text, Catch::Contains("h.*/y                                      2  activations  5.50 MiB\n"
                                   "others                                                     5.50 MiB\n"));
}

TEST_CASE("layouts among the references are ordered by their degrees") {
  Plan plan = samplePlan();
  plan.references.clear();
  for (const char *name : {"layout dp=16,tp=1", "single device", "layout dp=4,tp=4", "layout dp=2,tp=8,zero=1",
                           "data parallel", "layout dp=2,tp=8"})
    plan.references.push_back({name, 0.05, int64_t(1) << 22, true, ""});
  std::string text = summaryOf(plan);
  size_t last = 0;
  for (const char *name : {"\nsingle device ", "\ndata parallel ", "\nlayout dp=2,tp=8 ", "\nlayout dp=2,tp=8,zero=1 ",
                           "\nlayout dp=4,tp=4 ", "\nlayout dp=16,tp=1 "}) {
    size_t place = text.find(name, last);
    CHECK(place != std::string::npos);
    last = place == std::string::npos ? last : place;
  }
}

TEST_CASE("the summary says what each kind of parallelism saves, and what it costs and why") {
  // The sample takes 10 ms and 1,049,600 bytes.
  Plan plan = samplePlan();
  CHECK_THAT(summaryOf(plan),
             Catch::Contains("parallelism    step without it         saves  memory without it     saves\n") &&
                 Catch::Contains("data parallel          30.0 ms       20.0 ms           2.00 MiB  1020 KiB\n") &&
                 Catch::Contains("cut storage            9.50 ms  costs 500 us           4.00 MiB  3.00 MiB\n"));
  plan.gap = 0.06;
  CHECK_THAT(summaryOf(plan), Catch::Contains("3.00 MiB  within the gap that is left\n"));
  Plan costed = plan; // a layout, of which no bound is known
  costed.lowerBoundSeconds = 0;
  costed.gap = 1;
  CHECK_THAT(summaryOf(costed), Catch::Contains("4.00 MiB  3.00 MiB\n"));
  plan.memoryLimitBytes = (int64_t(1) << 22) - 1;
  CHECK_THAT(summaryOf(plan), Catch::Contains("1020 KiB\n") && Catch::Contains("3.00 MiB  does not fit without it\n"));
  Plan none = samplePlan();
  none.parallelism.clear();
  CHECK_THAT(summaryOf(none), !Catch::Contains("parallelism"));
}

TEST_CASE("the limit of buckets of weights may be a layer, that of others is by the link or the request") {
  Plan plan = samplePlan();
  StagePlan &stage = plan.stages.front();
  stage.moves.push_back({{"w"}, "", {{{}, {}}, {}, Combiner::Sum}, {"h.0/MatMul"}, {"AllGather{model}"}, 0.001});
  stage.buckets = {{{0}, {"AllReduce{model}"}, 64, int64_t(1) << 20, 0.003},
                   {{1}, {"AllGather{model}"}, 64, int64_t(1) << 21, 0.001}};
  CHECK_THAT(
      summaryOf(plan),
      Catch::Contains("of at most 1.00 MiB, by latency and bandwidth\n") &&
          Catch::Contains("of at most 2.00 MiB, by latency and bandwidth, or by the layer where that is less\n"));
  plan.request.fusionBytes = int64_t(1) << 21;
  CHECK_THAT(summaryOf(plan), Catch::Contains("of at most 2.00 MiB\n"));
}

TEST_CASE("the ops that take the most time come first, the rest in one row") {
  std::string text = summaryOf(longPlan());
  CHECK_THAT(text, Catch::Contains("  compute, all  communication, all\n"));
  CHECK(text.find("h.*/MatMul") < text.find("h.*/Add"));
  CHECK(text.find("kinda") < text.find("kindm"));
  CHECK_THAT(text, Catch::Contains("7 more kinds of ops      7") && !Catch::Contains("kindn"));
  Plan one = longPlan();
  std::vector<PlanChoice> &choices = one.stages.front().choices;
  choices.erase(choices.end() - 6, choices.end());
  CHECK_THAT(summaryOf(one), Catch::Contains("1 more kind of ops ") && Catch::Contains("(--all lists it)"));
  CHECK_THAT(summaryOf(longPlan(), /*allOps=*/true), Catch::Contains("kindt") && !Catch::Contains("more kinds of ops"));
}

TEST_CASE("a plan that is a reference says so") {
  Plan plan = samplePlan();
  plan.search = "reference: data parallel";
  CHECK_THAT(summaryOf(plan),
             Catch::Contains("note: no search found better than the reference 'data parallel', which is the plan\n"));
}

TEST_CASE("letters have one meaning in a rule") {
  auto word = [](llvm::StringRef factor, llvm::StringRef rule) { return wordOf(factor, rule).word; };
  llvm::StringRef product = "b0 m k, k n -> b0 m n {b0=4, m=8, k=16 sum, n=32} flops=2";
  CHECK(word("b0", product) == "batch");
  CHECK(word("k", product) == "summed");
  CHECK(word("n", product) == "columns");
  llvm::StringRef convolution = "n c h0 h1, o c r0 r1 -> n o y0 y1 {n=4, c=3 sum, h0=8 !, h1=8 !, o=64}";
  CHECK(word("n", convolution) == "batch");
  CHECK(word("c", convolution) == "input channels");
  CHECK(word("o", convolution) == "output channels");
  llvm::StringRef attention = "b0 kv g s d, b0 kv t d -> b0 kv g s d {b0=4, kv=8, g=4, s=16, d=64 !, t=16 !}";
  CHECK(word("g", attention) == "heads of a group");
  CHECK(word("s", attention) == "query positions");
  CHECK(word("g", "g x y -> g y {g=4, x=8 sum, y=8}") == "groups");
  CHECK(word("x", "g x y -> g y {g=4, x=8 sum, y=8}") == "summed");
  CHECK(legendOf(samplePlan()) == "k summed");
}

TEST_CASE("layers that have the same ops are one layer, repeated") {
  std::optional<RepeatedLayer> layer = repeatedLayer(samplePlan());
  REQUIRE(layer);
  CHECK(layer->pattern == "h.*");
  CHECK(layer->count == 2);
  CHECK(layer->seconds == Approx(0.005));
  Plan unlike = samplePlan();
  unlike.stages.front().choices.pop_back();
  CHECK_FALSE(repeatedLayer(unlike));
  Plan small = samplePlan();
  small.stepSeconds = 1; // most of it is elsewhere
  CHECK_FALSE(repeatedLayer(small));
}

TEST_CASE("a long legend goes on in the next line") {
  Plan plan = samplePlan();
  PlanChoice &choice = plan.stages.front().choices[0];
  choice.strategy = strategy("b0:data b1:data m:data n:data k:data kv:data g:data s:data t:data o:data c:data e:data");
  std::string text = summaryOf(plan);
  size_t begin = text.find("letters: "), end = text.find("\n\n", begin);
  REQUIRE(end != std::string::npos);
  CHECK_THAT(text.substr(begin, end - begin),
             Catch::StartsWith("letters: b0 batch; ") && Catch::Contains(";\n         "));
}
