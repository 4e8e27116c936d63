// The order in which numbers of workers and their micro-batches are tried, by planners that answer as the tests say.
#include "../../lib/Driver/Training/Workers/EvenShares.h"
#include "../../lib/Driver/Training/Workers/NearPolicies.h"
#include "../../lib/Driver/Training/Workers/TakenPoints.h"
#include "../../lib/Driver/Training/Workers/TryWorkers.h"
#include "../ValueOf.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/NothingFits.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

using Texts = std::vector<std::string>;
using SecondsOf = std::map<std::string, double>; ///< by point
using BytesOf = std::map<std::string, int64_t>;  ///< by point; 0 for all others
using RefusalsOf = std::map<std::string, std::string>;

PlanRequest stepOfBatch(int64_t globalBatch) {
  PlanRequest request;
  request.mode = StepMode::Train;
  request.recompute = RecomputeChoice::None;
  request.globalBatch = globalBatch;
  request.pipeline = {};
  return request;
}

Pool poolOf(std::vector<int64_t> sizes) {
  Pool pool;
  for (int64_t size : sizes)
    pool.levels.emplace_back().size = size;
  return pool;
}

/// "2x16": 16 micro-batches on 2 workers; "2x16 full" where something is recomputed.
std::string pointOf(const PlanRequest &own) {
  const bool isKept = own.recompute == RecomputeChoice::None;
  return std::to_string(*own.pipeline.count) + "x" + std::to_string(microBatchesOf(own)) +
         (isKept ? "" : " " + own.recompute.str());
}

/// The points that are planned in their order, and the seconds of the best.
struct TrialRun {
  Texts points;
  std::optional<double> seconds;
  std::string refusal = ""; ///< of all points
};

/// With points that take as long as \p known says; others do not fit. So many workers as \p refused are too many, and
/// points are refused as \p refusals says. Planning a point takes \p secondsOfPoint of the \p seconds that there are.
TrialRun tryAll(llvm::ArrayRef<int64_t> workers, const SecondsOf &known, int64_t refused = 0,
                const std::optional<ParallelDegrees> &layout = std::nullopt, bool hasPlan = false, double seconds = 60,
                const BytesOf &bytes = {}, const RefusalsOf &refusals = {},
                RecomputeChoice recompute = RecomputeChoice::None, double secondsOfPoint = 1.1) {
  PlanRequest request = stepOfBatch(64);
  request.recompute = recompute;
  request.timeLimitSeconds = seconds;
  const Pool pool = poolOf({32}); // one node, which shares every micro-batch alike
  TrialRun run;
  auto never = [](const PlanRequest &) -> llvm::Expected<Plan> { return internalError("not asked for"); };
  auto bound = [](const PlanRequest &) -> llvm::Expected<PipelineBound> { return internalError("not asked for"); };
  const PlanningControl control =
      PlanningControl().within(request.timeLimitSeconds).beginningWith(layout, /*seconds=*/std::nullopt);
  auto first = [&](const PlanRequest &own, std::optional<double>) -> llvm::Expected<Plan> {
    run.points.push_back(pointOf(own));
    control.clock->spend(secondsOfPoint * 1e9);
    if (own.pipeline.count == refused)
      return llvm::make_error<TooManyStages>(Fault::Input, "too few layers");
    if (auto refusal = refusals.find(run.points.back()); refusal != refusals.end())
      return inputError("{0}", refusal->second);
    auto found = known.find(run.points.back());
    if (found == known.end())
      return noPlanError("does not fit");
    Plan plan;
    plan.request = own;
    plan.stepSeconds = found->second;
    if (auto own = bytes.find(run.points.back()); own != bytes.end())
      plan.memory[MemoryCategory::Activations] = own->second;
    return plan;
  };
  auto least = [](const PlanRequest &) -> llvm::Expected<LeastPlan> { llvm_unreachable("nothing is planned alone"); };
  auto onlyAdds = [](const PlanRequest &) -> llvm::Expected<bool> { return true; };
  PipelineTrials trials(request, {never, never, never, first, least, onlyAdds, bound, control}, pool, hasPlan);
  if (llvm::Error error = tryWorkers(request, workers, layout, trials))
    FAIL(takeMessage(std::move(error)).second);
  if (trials.all().found())
    run.seconds = trials.all().found()->stepSeconds;
  if (llvm::Error error = trials.all().refusedAll())
    run.refusal = takeMessage(std::move(error)).second;
  return run;
}

std::vector<int64_t> sizesOf(llvm::ArrayRef<PlanRequest> points) {
  std::vector<int64_t> sizes;
  for (const PlanRequest &point : points)
    sizes.push_back(*point.microBatch);
  return sizes;
}

} // namespace

TEST_CASE("Every number of workers begins with some 8 micro-batches each before the best two go on, with fewer first") {
  const SecondsOf seconds = {{"2x16", 10}, {"4x32", 9},  {"8x64", 12}, // the beginnings
                             {"4x16", 8},  {"4x8", 8.5}, {"4x64", 9},  // the best of them: fewer, then more
                             {"2x8", 7},   {"2x4", 11},  {"2x32", 20},
                             {"8x32", 1}}; // the third is not gone on with, whatever it would give
  TrialRun run = tryAll({2, 4, 8}, seconds);
  CHECK(run.points == Texts{"2x16", "4x32", "8x64", "4x16", "4x8", "4x4", "4x64", "2x8", "2x4", "2x2", "2x32", "2x64"});
  CHECK(run.seconds == 7.0);
}

TEST_CASE("Where trials take next to no time, workers behind the best two go on, too") {
  const SecondsOf seconds = {{"2x16", 10}, {"4x32", 9}, {"8x64", 12}, {"8x32", 1}};
  TrialRun run = tryAll({2, 4, 8}, seconds, /*refused=*/0, std::nullopt, /*hasPlan=*/false, /*seconds=*/60, {}, {},
                        RecomputeChoice::None, /*secondsOfPoint=*/0);
  CHECK(run.seconds == 1.0);
}

TEST_CASE("Beginnings end when two in a row gave nothing better") {
  TrialRun run = tryAll({2, 4, 8, 16, 32}, {{"2x16", 5}, {"4x32", 4}, {"8x64", 6}, {"16x64", 7}, {"32x64", 1}});
  CHECK(run.points == Texts{"2x16", "4x32", "8x64", "16x64", "4x16", "4x8", "4x64", "2x8", "2x4", "2x32", "2x64"});
  CHECK(run.seconds == 4.0);
}

TEST_CASE("Workers begin with more micro-batches until some fit, and those of which none fits, or that are refused, "
          "are not gone on with") {
  TrialRun run = tryAll({2, 4, 8}, {{"2x32", 5}, {"2x64", 4}}, /*refused=*/8);
  // A step of one sample in a micro-batch has fewer ops, and perhaps fewer places to cut.
  CHECK(run.points == Texts{"2x16", "2x32", "4x32", "4x64", "8x64", "8x32", "2x8", "2x4", "2x64"});
  CHECK(run.seconds == 4.0);
}

TEST_CASE("Workers of a known layout begin first, in its micro-batches, and then those nearest to them") {
  const SecondsOf seconds = {{"8x32", 5}, {"4x32", 6}, {"16x64", 7}, {"2x16", 1}};
  ParallelDegrees layout{1, 4};
  layout.pipeline = 8;
  layout.microBatch = 2; // of 64 samples: 32 of them
  TrialRun run = tryAll({2, 4, 8, 16}, seconds, /*refused=*/0, layout);
  CHECK(llvm::ArrayRef(run.points).take_front(3).vec() == Texts{"8x32", "4x32", "16x64"});
  CHECK(run.seconds == 5.0);
}

TEST_CASE("Fewer micro-batches than a known layout has are tried, too") {
  ParallelDegrees layout{4, 4};
  layout.pipeline = 4;
  layout.microBatch = 4; // of 64 samples: 4 of them in each of 4 replicas
  TrialRun run = tryAll({4}, {{"4x4", 8}, {"4x2", 6}, {"4x1", 5}, {"4x8", 9}}, /*refused=*/0, layout);
  CHECK(run.points == Texts{"4x4", "4x2", "4x1", "4x8", "4x16"});
  CHECK(run.seconds == 5.0);
}

TEST_CASE("Micro-batches between those of a known layout and the usual beginning are tried, too") {
  ParallelDegrees layout{1, 8};
  layout.pipeline = 4;
  layout.microBatch = 1; // of 64 samples: 64 of them, where trials begin with 32 otherwise
  TrialRun run = tryAll({4}, {{"4x64", 8}, {"4x32", 6}, {"4x16", 7}}, /*refused=*/0, layout);
  CHECK(run.points == Texts{"4x64", "4x32", "4x16", "4x8"});
  CHECK(run.seconds == 6.0);
}

TEST_CASE("Policies that keep more than a known layout are tried behind its micro-batches, the nearest first") {
  ParallelDegrees layout{4, 4};
  layout.pipeline = 4;
  layout.microBatch = 1; // of 64 samples in 4 replicas: 16 of them
  layout.recompute = RecomputeChoice::Full;
  TrialRun run = tryAll({4}, {{"4x16 full", 10}, {"4x16 mlp", 9}}, /*refused=*/0, layout, /*hasPlan=*/false,
                        /*seconds=*/60, {}, {}, RecomputeChoice::Auto);
  CHECK(run.points.front() == "4x16 full");
  CHECK(llvm::ArrayRef(run.points).take_back(3).vec() == Texts{"4x16 mlp", "4x16 attention", "4x16 norms"});
  CHECK(run.seconds == 9.0);
}

TEST_CASE("A known layout that mixes two policies is tried with both of them, and in other micro-batches") {
  ParallelDegrees layout{4, 4};
  layout.pipeline = 4;
  layout.microBatch = 1; // of 64 samples in 4 replicas: 16 of them
  layout.recompute = RecomputeSetting(RecomputeChoice::Full, 12, RecomputeChoice::Norms);
  TrialRun run = tryAll({4}, {{"4x16 full:12,norms", 10}, {"4x8 full", 9}, {"4x16 norms", 8}}, /*refused=*/0, layout,
                        /*hasPlan=*/false, /*seconds=*/60, {}, {}, RecomputeChoice::Auto);
  CHECK(run.points.front() == "4x16 full:12,norms");
  CHECK(llvm::is_contained(run.points, "4x8 full:12,norms"));
  CHECK(run.seconds == 9.0);
}

TEST_CASE("Policies around a mix of two are its own and those beyond them") {
  using Policies = std::vector<RecomputeSetting>;
  const Policies all{RecomputeChoice::None, RecomputeChoice::Norms, RecomputeChoice::Mlp, RecomputeChoice::Full};
  const RecomputeSetting mix(RecomputeChoice::Mlp, 12, RecomputeChoice::Norms);
  CHECK(keepingLess(all, mix) == Policies{RecomputeChoice::Mlp, RecomputeChoice::Full});
  CHECK(keepingMore(all, mix) == Policies{RecomputeChoice::Norms, RecomputeChoice::None});
  CHECK(keepingLess(all, RecomputeChoice::Norms) == Policies{RecomputeChoice::Mlp, RecomputeChoice::Full});
  CHECK(keepingMore(all, RecomputeChoice::Norms) == Policies{RecomputeChoice::None});
  CHECK(keepingLess(all, RecomputeChoice::Full).empty());
  CHECK(keepingLess(Policies{mix}, mix).empty()); // the only one that is asked for
  CHECK(keepingMore(Policies{mix}, mix).empty());
}

TEST_CASE("A number of micro-batches that is worse hides none that is better behind it") {
  TrialRun run = tryAll({2}, {{"2x16", 8}, {"2x8", 9}, {"2x4", 5}, {"2x2", 6}});
  CHECK(run.points == Texts{"2x16", "2x8", "2x4", "2x2", "2x1", "2x32", "2x64"});
  CHECK(run.seconds == 5.0);
}

TEST_CASE(
    "Fewer micro-batches that do not fit are tried with the policies behind, and more with that of the beginning") {
  const SecondsOf seconds = {{"2x16", 8}, {"2x8 attention", 7}, {"2x4 full", 6}, {"2x32", 9}, {"2x64", 10}};
  TrialRun run =
      tryAll({2}, seconds, 0, std::nullopt, /*hasPlan=*/false, /*seconds=*/60, {}, {}, RecomputeChoice::Auto);
  CHECK(run.seconds == 6.0);
  CHECK(llvm::ArrayRef(run.points).take_front(8).vec() ==
        Texts{"2x16", "2x8", "2x8 norms", "2x8 attention", "2x4 attention", "2x4 mlp", "2x4 branches", "2x4 full"});
  CHECK(llvm::ArrayRef(run.points).take_back(2).vec() == Texts{"2x32", "2x64"});
}

TEST_CASE("Workers whose seconds differ by roundings alone are gone on with by their bytes") {
  // Neighbours are as fast as each other, the first and the last are not.
  const SecondsOf seconds = {{"8x64", 10}, {"4x32", 10 * (1 + 0.8e-12)}, {"2x16", 10 * (1 + 1.6e-12)}};
  const BytesOf bytes = {{"8x64", 30}, {"4x32", 20}, {"2x16", 10}};
  TrialRun run = tryAll({2, 4, 8}, seconds, 0, std::nullopt, /*hasPlan=*/false, /*seconds=*/60, bytes);
  CHECK(llvm::ArrayRef(run.points).take_front(8).vec() ==
        Texts{"2x16", "4x32", "8x64", "4x16", "4x8", "4x64", "8x32", "8x16"});
}

TEST_CASE("Where micro-batches are refused, others are tried, and fewer where all from the beginning on are") {
  auto tryTwo = [](const SecondsOf &seconds, const RefusalsOf &refusals) {
    return tryAll({2}, seconds, 0, std::nullopt, /*hasPlan=*/false, /*seconds=*/60, {}, refusals);
  };
  TrialRun run = tryTwo({{"2x32", 8}, {"2x8", 7}, {"2x4", 6}}, {{"2x16", "of 4"}, {"2x2", "of 32"}});
  CHECK(run.points == Texts{"2x16", "2x32", "2x8", "2x4", "2x2", "2x1", "2x64"});
  CHECK(run.seconds == 6.0);
  CHECK(run.refusal.empty());
  run = tryTwo({{"2x8", 7}, {"2x2", 6}}, {{"2x16", "of 4"}, {"2x32", "of 2"}, {"2x64", "of 1"}, {"2x4", "of 16"}});
  CHECK(run.points == Texts{"2x16", "2x32", "2x64", "2x8", "2x4", "2x2", "2x1"});
  CHECK(run.seconds == 6.0);
}

TEST_CASE("A refusal of all micro-batches, or of two in the same words, is told") {
  const RefusalsOf each = {{"2x16", "of 4"}, {"2x32", "of 2"}, {"2x64", "of 1"}, {"2x8", "of 8"},
                           {"2x4", "of 16"}, {"2x2", "of 32"}, {"2x1", "of 64"}};
  TrialRun run = tryAll({2}, {}, 0, std::nullopt, /*hasPlan=*/false, /*seconds=*/60, {}, each);
  CHECK(run.points == Texts{"2x16", "2x32", "2x64", "2x8", "2x4", "2x2", "2x1"});
  CHECK(run.refusal == "of 64");
  const RefusalsOf alike = {{"2x16", "no such op"}, {"2x32", "no such op"}};
  run = tryAll({2}, {}, 0, std::nullopt, /*hasPlan=*/false, /*seconds=*/60, {}, alike);
  CHECK(run.points == Texts{"2x16", "2x32"});
  CHECK(run.refusal == "no such op");
}

TEST_CASE("Where the time is over, pipelines are tried only as long as there is no plan at all") {
  const SecondsOf seconds = {{"2x32", 5}};
  CHECK(tryAll({2, 4}, seconds, 0, std::nullopt, /*hasPlan=*/false, /*seconds=*/0).points == Texts{"2x16", "2x32"});
  CHECK(tryAll({2, 4}, seconds, 0, std::nullopt, /*hasPlan=*/true, /*seconds=*/0).points.empty());
}

// Workers of four nodes of 8 devices: micro-batches of 4, 8, 12, 16 ... are shared by four, of 2 and 6 by two.
TEST_CASE("Micro-batches that nodes share evenly are tried before others, and in the place of their neighbours") {
  const Pool pool = poolOf({8, 8});
  PlanRequest request = stepOfBatch(48);
  request.pipeline = {2};
  std::vector<PlanRequest> points = valueOf(microBatchRequests(request));
  REQUIRE(sizesOf(points) == std::vector<int64_t>{48, 24, 16, 12, 8, 6, 4, 3, 2, 1});
  CHECK(sizesOf(evenlyShared(pool, points)) == std::vector<int64_t>{48, 24, 16, 12, 8, 4, 2, 1});
  std::reverse(points.begin(), points.end());
  CHECK(sizesOf(evenlyShared(pool, points)) == std::vector<int64_t>{2, 4, 8, 12, 16, 24, 48});
  std::reverse(points.begin(), points.end());
  CHECK(*points[firstToTry(pool, 2, points)].microBatch == 4);         // 12 micro-batches; of 16 none has all nodes
  CHECK(*points[firstToTry(poolOf({64}), 2, points)].microBatch == 3); // all are alike: 16 micro-batches
}

TEST_CASE("Micro-batches that the named schedule refuses are no points") {
  PlanRequest request = stepOfBatch(24);
  request.schedule = "dualpipev"; // twice as many micro-batches as workers
  std::vector<PlanRequest> points = valueOf(takenPoints(request, 3));
  CHECK(sizesOf(points) == std::vector<int64_t>{4, 3, 2, 1});
  CHECK(points.front().pipeline.count == 3);
  request.schedule = "interleaved"; // as many micro-batches as workers
  request.chunks = {2};
  CHECK(sizesOf(valueOf(takenPoints(request, 4))) == std::vector<int64_t>{6, 4, 3, 2, 1}); // 4, 6, 8, ..
  request.chunks = {};
  request.schedule = "1f1b"; // two chunks are `interleaved`, one takes all
  CHECK(valueOf(takenPoints(request, 4)).size() == 8);
  request.schedule = "auto";
  CHECK(valueOf(takenPoints(request, 16)).size() == 8);
}

TEST_CASE("A global batch of which the schedule takes no micro-batches is refused with the nearest that would do") {
  PlanRequest request = stepOfBatch(4);
  request.schedule = "dualpipev";
  auto refusal = [&](int64_t workers) {
    auto [fault, message] = takeMessage(takenPoints(request, workers).takeError());
    CHECK(fault == Fault::Input);
    return message;
  };
  CHECK(refusal(3) == "schedule 'dualpipev' needs m >= 2 p; on 3 workers, a global batch of 4 has no such number of "
                      "micro-batches, a global batch of 6 would do");
  request.copies = {2};
  CHECK_THAT(refusal(3), Catch::EndsWith("a global batch of 12 would do"));
}
