// Points of training steps that are tried, by planners that answer as the tests say.
#include "../../lib/Driver/Training/TrainingTrials.h"
#include "../ValueOf.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr int64_t limitBytes = 1000;

/// A plan of \p own that takes so long and needs so much; with one reference, which needs 2,000 bytes.
Plan answer(const PlanRequest &own, double seconds, int64_t bytes) {
  Plan plan;
  plan.request = own;
  plan.stepSeconds = seconds;
  plan.lowerBoundSeconds = seconds / 2;
  plan.memory[MemoryCategory::Parameters] = bytes;
  plan.memoryLimitBytes = own.memoryLimitBytes.value_or(limitBytes);
  plan.training = PlanTraining{};
  plan.training->microBatch = own.microBatch.value_or(1);
  plan.references.push_back({"single device", 30, 2000, 2000 <= plan.memoryLimitBytes, ""});
  return plan;
}

PlanRequest stepOf(int64_t microBatch) {
  PlanRequest request;
  request.mode = StepMode::Train;
  request.recompute = RecomputeChoice::None;
  request.microBatch = microBatch;
  return request;
}

bool addsAlways(const PlanRequest &) { return true; }

/// An even share of the work takes 3 seconds.
llvm::Expected<PipelineBound> sharedBy(const PlanRequest &own) {
  PipelineBound bound;
  bound.workers = *own.pipeline.count;
  bound.shareSeconds = 3;
  return bound;
}

/// Plans for bounds as \p plan does.
auto leastBy(TrainingTrials::PlanRequested plan) {
  return [plan](const PlanRequest &own) -> llvm::Expected<LeastPlan> {
    llvm::Expected<Plan> found = plan(own);
    return found ? llvm::Expected<LeastPlan>(LeastPlan{std::move(*found), true}) : found.takeError();
  };
}

} // namespace

TEST_CASE("a plan that was made for the bound of its point, and fits, is the best where it is faster") {
  PlanRequest request = stepOf(2);
  int64_t bytesOfNext = GENERATE(900, 1100);
  auto plan = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    bool isNext = own.microBatch == 1;
    return answer(own, isNext ? 5 : 10, isNext ? bytesOfNext : 800);
  };
  const PlanningControl control = PlanningControl().within(60);
  auto least = leastBy(plan);
  TrainingTrials trials(request, {plan, plan, least, addsAlways, sharedBy}, control);
  CHECK(valueOf(trials.tryOne(request, 1)).has_value());
  CHECK(valueOf(trials.leastSecondsFrom(stepOf(1))) == 2.5);
  const Plan &best = *trials.found();
  if (bytesOfNext > limitBytes) {
    CHECK(best.stepSeconds == 10);
    return;
  }
  CHECK(best.stepSeconds == 5);
  CHECK(best.memoryLimitBytes == limitBytes);
  CHECK(!best.request.memoryLimitBytes);
  CHECK(!best.references[0].feasible);
  CHECK(best.references[0].reason == "needs 1.95 KiB on a device, the limit is 1000 B");
  for (const TriedPoint &point : trials.tried())
    CHECK(*point.stepSeconds >= best.stepSeconds);
}

TEST_CASE("a plan that was made for a bound says nothing of the limit that it was made without") {
  PlanRequest request = stepOf(2);
  request.devices = 8;
  request.cluster = "dgx-h100";
  auto plan = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    Plan found = answer(own, own.memoryLimitBytes ? 5 : 10, 900);
    found.notes = valueOf(readTarget(own)).notes;
    CHECK(found.notes.size() == (own.memoryLimitBytes ? 1 : 0)); // more than a device has
    found.notes.push_back("a note of its own");
    return found;
  };
  const PlanningControl control = PlanningControl().within(60);
  auto least = leastBy(plan);
  TrainingTrials trials(request, {plan, plan, least, addsAlways, sharedBy}, control);
  CHECK(valueOf(trials.tryOne(request, 1)).has_value());
  CHECK(valueOf(trials.leastSecondsFrom(request)) == 2.5);
  CHECK(trials.found()->stepSeconds == 5);
  CHECK(trials.found()->notes == std::vector<std::string>{"a note of its own"});
}

TEST_CASE("fewer layers are not recomputed for a point that a known layout is far faster than") {
  PlanRequest request = stepOf(2);
  request.recompute = RecomputeChoice::Auto;
  std::vector<std::string> planned;
  auto plan = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    planned.push_back(own.recompute.str());
    if (own.recompute == RecomputeChoice::None && !own.memoryLimitBytes)
      return noPlanError("too much");
    return answer(own, 10, 900);
  };
  auto isTriedWith = [&](std::optional<double> knownSeconds) {
    const PlanningControl control = PlanningControl().within(60).beginningWith({}, knownSeconds);
    auto least = leastBy(plan);
    TrainingTrials trials(request, {plan, plan, least, addsAlways, sharedBy}, control);
    llvm::Expected<bool> isBetter = trials.tryPoint(request, 1);
    const bool isTried = isBetter && *isBetter;
    llvm::consumeError(isBetter.takeError());
    return isTried;
  };
  CHECK(isTriedWith(6)); // no layers are asked for, of which the test has no model
  CHECK(llvm::is_contained(planned, "full"));
  CHECK_FALSE(isTriedWith(std::nullopt));
}

TEST_CASE("a step that is proven without recomputation does not end the policies where one of them may be faster") {
  PlanRequest request = stepOf(2);
  request.recompute = RecomputeChoice::Auto;
  std::vector<std::string> planned;
  auto plan = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    planned.push_back(own.recompute.str());
    Plan found = answer(own, own.recompute.str() == "norms" ? 9 : 10, 900);
    found.lowerBoundSeconds = found.unlimitedBoundSeconds = found.stepSeconds;
    return found;
  };
  auto least = [&](const PlanRequest &own) -> llvm::Expected<LeastPlan> {
    return LeastPlan{answer(own, 16, 900), false}; // of no policy that there is; a bound of 8
  };
  const PlanningControl control = PlanningControl().within(60);
  for (bool isSo : {true, false}) {
    planned.clear();
    auto onlyAdds = [&](const PlanRequest &) -> llvm::Expected<bool> { return isSo; };
    TrainingTrials trials(request, {plan, plan, least, onlyAdds, sharedBy}, control);
    llvm::consumeError(trials.tryPoint(request, 1).takeError()); // layers, of which the test has no model
    CHECK(trials.found()->stepSeconds == (isSo ? 10 : 9));
    CHECK((planned.size() == 1) == isSo);
  }
}

TEST_CASE("a little that searches do not count keeps no step without recomputation from being proven") {
  struct Left {
    double unshared, proven; ///< of 10 seconds
    bool isSettled;
  };
  const Left left = GENERATE(Left{0.15, 9.85, true}, Left{0.1, 9.75, false}, Left{1, 9, false});
  PlanRequest request = stepOf(2);
  request.recompute = RecomputeChoice::Auto;
  std::vector<std::string> planned;
  auto plan = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    planned.push_back(own.recompute.str());
    Plan found = answer(own, 10, 900);
    found.lowerBoundSeconds = found.unlimitedBoundSeconds = left.proven;
    found.unsharedSeconds = left.unshared;
    return found;
  };
  auto least = [&](const PlanRequest &own) -> llvm::Expected<LeastPlan> {
    return LeastPlan{answer(own, 10, 900), false}; // a bound of 5
  };
  const PlanningControl control = PlanningControl().within(60);
  TrainingTrials trials(request, {plan, plan, least, addsAlways, sharedBy}, control);
  llvm::consumeError(trials.tryPoint(request, 1).takeError()); // layers, of which the test has no model
  CHECK((planned.size() == 1) == left.isSettled);
}

TEST_CASE("more micro-batches take no less than fewer do, also where their own search proves little") {
  PlanRequest request = stepOf(8);
  std::map<int64_t, double> seconds = {{8, 20}, {4, 10}, {2, 30}};
  auto plan = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    return answer(own, seconds.at(*own.microBatch), 900);
  };
  const PlanningControl control = PlanningControl().within(60);
  auto least = leastBy(plan);
  TrainingTrials trials(request, {plan, plan, least, addsAlways, sharedBy}, control);
  CHECK(trials.knownLeast(stepOf(8)) == 0);
  CHECK(valueOf(trials.leastSecondsFrom(stepOf(8))) == 10);
  CHECK(trials.knownLeast(stepOf(4)) == 10);
  CHECK(valueOf(trials.leastSecondsFrom(stepOf(4))) == 10); // by itself 5
  CHECK(valueOf(trials.leastSecondsFrom(stepOf(2))) == 15);
  CHECK(trials.knownLeast(stepOf(8)) == 10);
}

TEST_CASE("the fastest three of the points that memory slows down are planned to the end") {
  // Of each policy: seconds of a first answer and to the end; every second one is by memory.
  const std::map<std::string, std::pair<double, double>> seconds = {{"none", {20, 0}},      {"norms", {12, 11}},
                                                                    {"attention", {13, 0}}, {"mlp", {10, 9.5}},
                                                                    {"branches", {15, 0}},  {"full", {14, 9}}};
  const std::vector<std::string> byMemory = {"norms", "mlp", "full", "branches"};
  std::vector<std::string> toTheEnd;
  auto quick = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    Plan plan = answer(own, seconds.at(own.recompute.str()).first, 900);
    plan.isByMemory = llvm::is_contained(byMemory, own.recompute.str());
    return plan;
  };
  auto whole = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    toTheEnd.push_back(own.recompute.str());
    Plan plan = answer(own, seconds.at(own.recompute.str()).second, 900);
    plan.lowerBoundSeconds = plan.stepSeconds * 0.9;
    return plan;
  };
  PlanRequest request = stepOf(2);
  const PlanningControl control = PlanningControl().within(60);
  auto least = leastBy(whole);
  TrainingTrials trials(request, {whole, quick, least, addsAlways, sharedBy}, control);
  for (const auto &[policy, times] : seconds) {
    request.recompute = valueOf(parseRecomputeSetting(policy, "test"));
    CHECK(valueOf(trials.tryOne(request, 1)).has_value());
  }
  CHECK(toTheEnd.empty());
  CHECK(trials.found()->stepSeconds == 10);
  REQUIRE(!trials.finish());
  CHECK(toTheEnd == std::vector<std::string>{"mlp", "norms", "full"});
  CHECK(trials.found()->stepSeconds == 9);
  // The bounds of first answers are half of their seconds; those of the three have risen.
  CHECK(trials.leastBound() == 6.5);
}

TEST_CASE("points that are planned to the end share all the time that is left, however few they are") {
  std::vector<double> limits;
  auto quick = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    Plan plan = answer(own, 10 + static_cast<double>(*own.microBatch), 900);
    plan.isByMemory = true;
    return plan;
  };
  auto whole = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    limits.push_back(own.timeLimitSeconds);
    return answer(own, 9, 900);
  };
  PlanRequest request = stepOf(2);
  request.timeLimitSeconds = 60;
  const PlanningControl control = PlanningControl().within(60);
  auto least = leastBy(whole);
  TrainingTrials trials(request, {whole, quick, least, addsAlways, sharedBy}, control);
  CHECK(valueOf(trials.tryOne(stepOf(2), 1)).has_value());
  CHECK(valueOf(trials.tryOne(stepOf(1), 1)).has_value());
  REQUIRE(!trials.finish());
  CHECK(limits == std::vector<double>{30, 60}); // the clock stands still
}

namespace {

/// Trials of a step of 2 and 4 samples in a micro-batch, whose policies are open, where a layout is known.
struct LayoutTrials {
  std::vector<std::string> planned; ///< policies
  double leastSeconds = 8;          ///< of any policy
  double secondsOfTrial = 0;        ///< that planning one takes
  double shareOfFull = 3;           ///< seconds of an even share of the work with everything recomputed

  /// Policies in the order in which they were planned for 2 samples, behind those of the layout.
  std::vector<std::string> run(llvm::StringRef layout) {
    PlanRequest request = stepOf(2);
    request.recompute = RecomputeChoice::Auto;
    request.globalBatch = 4;
    const PlanningControl control =
        PlanningControl().within(60).beginningWith(valueOf(parseParallelDegrees(layout, "test")), 10.5);
    auto plan = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
      constexpr double nanoseconds = 1e9; // of a second
      control.clock->spend(nanoseconds * secondsOfTrial);
      planned.push_back(own.recompute.str());
      if (own.recompute == RecomputeChoice::Full)
        return noPlanError("too much");
      return answer(own, own.recompute == RecomputeChoice::None ? 11 : 10, 900);
    };
    auto least = [&](const PlanRequest &own) -> llvm::Expected<LeastPlan> {
      return LeastPlan{answer(own, 2 * leastSeconds, 900), false};
    };
    auto shared = [&](const PlanRequest &own) {
      llvm::Expected<PipelineBound> bound = sharedBy(own);
      if (own.recompute == RecomputeChoice::Full)
        bound->shareSeconds = shareOfFull;
      return bound;
    };
    TrainingTrials trials(request, {plan, plan, least, addsAlways, shared}, control);
    REQUIRE(!trials.tryLayout({stepOf(4), stepOf(2)}));
    const size_t ofLayout = planned.size();
    llvm::consumeError(trials.tryPoint(request, 1).takeError()); // layers, of which the test has no model
    CHECK(ofLayout <= 1);
    return planned;
  }
};

} // namespace

TEST_CASE("the point of a known layout is planned before any other, and once") {
  CHECK(LayoutTrials().run("dp=2,tp=1,mb=1,recompute=full:2,norms").front() == "full:2,norms");
  const std::vector<std::string> behindNone = LayoutTrials().run("dp=2,tp=1,mb=1,recompute=none");
  CHECK(llvm::count(behindNone, "none") == 1);
  const std::vector<std::string> behindNorms = LayoutTrials().run("dp=1,tp=2,mb=2,recompute=norms");
  CHECK(behindNorms.front() == "norms");
  CHECK(llvm::count(behindNorms, "norms") == 1);
  CHECK(llvm::is_contained(behindNorms, "none"));
  for (const char *other : {"dp=2,tp=1,mb=3,recompute=norms", "dp=1,tp=1,pp=2,mb=2,recompute=norms", "dp=2,tp=1"})
    CHECK(LayoutTrials().run(other).front() == "none"); // no such point
}

TEST_CASE("behind the plan of a layout that recomputes, no policy is tried where the bound says that none is faster") {
  LayoutTrials proven{{}, 10};
  CHECK(proven.run("dp=2,tp=1,mb=1,recompute=full:2,norms") == std::vector<std::string>{"full:2,norms"});
  CHECK(LayoutTrials().run("dp=2,tp=1,mb=1,recompute=full:2,norms").size() > 1);
}

TEST_CASE("once a tenth of the time is over, only what is near the layout that is known is tried") {
  LayoutTrials usual{{}, 8, /*secondsOfTrial=*/7}, mixed = usual, other = usual, proven = usual;
  CHECK(usual.run("dp=2,tp=1,mb=1,recompute=norms") == std::vector<std::string>{"norms", "none", "attention"});
  CHECK(mixed.run("dp=2,tp=1,mb=1,recompute=full:2,norms") == std::vector<std::string>{"full:2,norms"});
  // Of 4 samples; the bound leaves room for the first policy that fits, or none.
  CHECK(other.run("dp=1,tp=2,mb=4,recompute=norms") == std::vector<std::string>{"norms", "none"});
  proven.leastSeconds = 9.9;
  CHECK(proven.run("dp=1,tp=2,mb=4,recompute=norms") == std::vector<std::string>{"norms"});
}

TEST_CASE("a policy is not tried where its own work, beside the bound of all policies, is too much") {
  LayoutTrials little, much{{}, 8, 0, /*shareOfFull=*/5};
  CHECK(llvm::is_contained(little.run("dp=2,tp=1,mb=1,recompute=norms"), "full"));
  CHECK_FALSE(llvm::is_contained(much.run("dp=2,tp=1,mb=1,recompute=norms"), "full")); // 8 s + 2 s of 10 s
  CHECK(llvm::is_contained(much.planned, "branches"));
}

TEST_CASE("bounds of layers hold for more micro-batches by what these keep, and are looked for where memory is short") {
  PlanRequest request = stepOf(2);
  request.recompute = RecomputeChoice::Auto;
  request.globalBatch = 8;
  unsigned numPlanned = 0;
  auto plan = [&](const PlanRequest &own) -> llvm::Expected<Plan> {
    ++numPlanned;
    return answer(own, 20, 900);
  };
  // Eight layers of 1 s, and 16 s for what a micro-batch of eight keeps, at a cost at which 8 s are for all bytes.
  auto layered = [&](const PlanRequest &own) -> llvm::Expected<PipelineBound> {
    if (own.microBatch == 4)
      return inputError("layers that are no stages");
    LayerMinima layer{1, 1, 0, 0, true, true, {1}};
    return PipelineBound{1, 1, 8, 8, std::vector<LayerMinima>(8, layer), {1}, {{0, 0}, {1, 16}, {2, 17}}, 8};
  };
  const PlanningControl control = PlanningControl().within(60);
  auto least = leastBy(plan);
  TrainingTrials trials(request, {plan, plan, least, addsAlways, layered}, control);
  CHECK(valueOf(trials.tryOne(stepOf(2), 1)).has_value());
  const unsigned before = numPlanned;
  PlanRequest point = stepOf(8);
  point.globalBatch = 8;
  CHECK(valueOf(trials.leastSecondsFrom(point)) == Approx(8 + 16 - 8));
  CHECK(numPlanned == before); // memory says all
  point.microBatch = 4;
  CHECK(trials.knownLeast(point) == Approx(8 + 8 - 8)); // two of them, each of which keeps half
  CHECK(valueOf(trials.leastSecondsFrom(point)) == 10); // by a plan for the bound
  CHECK(numPlanned == before + 1);
}

TEST_CASE("once the time is over, the even share of the work is the bound, without a search") {
  auto none = [](const PlanRequest &) -> llvm::Expected<Plan> { return internalError("planned"); };
  const PlanningControl control = PlanningControl().within(0);
  auto least = leastBy(none);
  const PlanRequest request = stepOf(2);
  TrainingTrials trials(request, {none, none, least, addsAlways, sharedBy}, control);
  CHECK(valueOf(trials.leastSecondsFrom(request)) == 3);
  auto refuses = [](const PlanRequest &) -> llvm::Expected<PipelineBound> { return inputError("one sample"); };
  PlanRequest open = stepOf(2);
  open.globalBatch = 2;
  open.microBatch.reset();
  TrainingTrials refused(open, {none, none, least, addsAlways, refuses}, control);
  CHECK(valueOf(refused.leastSecondsFrom(request)) == 0); // other micro-batches may be taken
}
