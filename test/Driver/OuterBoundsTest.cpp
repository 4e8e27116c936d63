// Bounds of workers and micro-batches, with layers as the test says.
#include "../../lib/Driver/Training/Bounds/BoundPipelines.h"
#include "../ValueOf.h"

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Even layers, whose collectives are found by searches alone; smaller micro-batches have more of them.
struct EvenLayers {
  double opSeconds = 8;   ///< of a layer in a step, of all micro-batches, on one worker
  double sentSeconds = 1; ///< for each micro-batch
  size_t numLayers = 8;
  std::vector<std::pair<int64_t, int64_t>> searched = {}; ///< workers, micro-batches
  std::vector<int64_t> asked = {};                        ///< workers
  std::vector<int64_t> refused = {};                      ///< micro-batches

  llvm::Expected<PipelineBound> operator()(const PlanRequest &own) {
    const int64_t microBatches = *own.globalBatch / *own.microBatch;
    if (llvm::is_contained(refused, microBatches))
      return inputError("refused");
    const auto times = static_cast<double>(microBatches);
    PipelineBound bound;
    bound.workers = asked.emplace_back(*own.pipeline.count);
    bound.microBatches = microBatches;
    double step = opSeconds * static_cast<double>(bound.workers);
    if (own.timeLimitSeconds > 0) {
      searched.emplace_back(bound.workers, microBatches);
      step += sentSeconds * times;
    }
    bound.layers.assign(numLayers, {step, step / times, step / times / 4, 0, true});
    return bound;
  }
};

struct Case {
  EvenLayers layers;
  PlanRequest request;
  std::vector<PlanRequest> requests; ///< 1, 2, 4 and 8 micro-batches of eight samples

  explicit Case(int64_t globalBatch = 8) {
    request.mode = StepMode::Train;
    request.schedule = "1f1b";
    request.chunks = {1};
    request.globalBatch = globalBatch;
    for (int64_t size : {8, 4, 2, 1}) {
      requests.push_back(request);
      requests.back().microBatch = size;
    }
  }

  template <typename Use>
  void withBounds(Use use) {
    auto none = [](const PlanRequest &) -> llvm::Expected<Plan> { llvm_unreachable("nothing is planned"); };
    auto first = [](const PlanRequest &, std::optional<double>) -> llvm::Expected<Plan> {
      llvm_unreachable("nothing is planned");
    };
    auto bound = [&](const PlanRequest &own) -> llvm::Expected<PipelineBound> { return layers(own); };
    const PlanningControl control = PlanningControl().within(60);
    auto least = [](const PlanRequest &) -> llvm::Expected<LeastPlan> { llvm_unreachable("nothing is planned"); };
    auto onlyAdds = [](const PlanRequest &) -> llvm::Expected<bool> { return true; };
    PointPlanner points{none, none, none, first, least, onlyAdds, bound, control};
    OuterBounds bounds(request, requests, points);
    use(bounds);
  }
};

} // namespace

TEST_CASE("Bounds of workers and micro-batches have the bubble, and searches raise them for more micro-batches, too") {
  Case own;
  own.withBounds([&](OuterBounds &bounds) {
    // Two stages of four layers, 2 * 4 * 8 s of work each.
    CHECK(valueOf(bounds.of(2, 0)).value() == Approx(64 * 2));
    CHECK(valueOf(bounds.of(2, 3)).value() == Approx(64 * 9 / 8.));
    CHECK(own.layers.searched.empty());
    llvm::cantFail(bounds.raise(2, 1, 1)); // 72 s for two micro-batches
    CHECK(valueOf(bounds.of(2, 0)).value() == Approx(64 * 2));
    CHECK(valueOf(bounds.of(2, 1)).value() == Approx(5 * 9 + 3 * 18)); // five layers and three
    CHECK(valueOf(bounds.of(2, 3)).value() == Approx(72 * 9 / 8.));
    CHECK_FALSE(valueOf(bounds.of(16, 0)).has_value()); // more stages than layers
    CHECK_FALSE(llvm::is_contained(own.layers.asked, 16));
  });
}

TEST_CASE("Micro-batches that are refused have no bound, and none of them keeps others from theirs") {
  Case own;
  own.layers.refused = {1, 4};
  own.withBounds([&](OuterBounds &bounds) {
    CHECK_FALSE(valueOf(bounds.of(2, 0)).has_value());
    CHECK(valueOf(bounds.of(2, 1)).value() == Approx(5 * 8 + 3 * 16)); // five layers and three
    CHECK(valueOf(bounds.of(2, 3)).value() == Approx(64 * 9 / 8.));
    llvm::cantFail(bounds.raise(2, 2, 1)); // which is how it is found out
    CHECK_FALSE(valueOf(bounds.of(2, 2)).has_value());
  });
  own.request.microBatch = 8; // as the request wants it
  own.withBounds([&](OuterBounds &bounds) { CHECK(takeMessage(bounds.of(2, 0).takeError()).second == "refused"); });
}

TEST_CASE("The least bound of all is searched for where it is least") {
  Case own;
  own.withBounds([&](OuterBounds &bounds) {
    // Two workers with four layers each, by micro-batches: (64 + 4 m) (m + 1) / m is 136, 108, 100 and 108 s; two
    // micro-batches of five layers and three: 99 s. Four workers take more.
    CHECK(valueOf(bounds.least({2, 4}, 1000, 60)).value() == Approx(99));
    CHECK(llvm::is_contained(own.layers.searched, std::pair<int64_t, int64_t>(2, 2)));
    CHECK_FALSE(llvm::is_contained(own.layers.searched, std::pair<int64_t, int64_t>(2, 1)));
    CHECK_FALSE(llvm::is_contained(own.layers.searched, std::pair<int64_t, int64_t>(4, 1)));
    CHECK(valueOf(bounds.least({2, 4}, 90, 60)).value() == Approx(90)); // a plan that is as fast
  });
  own.layers.searched.clear();
  own.withBounds([&](OuterBounds &bounds) {
    CHECK_FALSE(valueOf(bounds.least({2, 4}, 1000, 0)));
    for (int64_t workers : {2, 4})
      CHECK(valueOf(bounds.of(workers, 0)));
    CHECK(valueOf(bounds.least({2, 4}, 1000, 0)).value() ==
          Approx(72)); // without a search: two workers, 8 micro-batches
    CHECK(own.layers.searched.empty());
  });
}

TEST_CASE("Searches begin with fewer micro-batches where their bounds are nearly as low, and hold for more") {
  Case own(64);
  own.withBounds([&](OuterBounds &bounds) {
    // Two workers: 64 (m + 1) / m without a search is 72, 68, 66 and 65 s for 8, 16, 32 and 64 micro-batches.
    CHECK(valueOf(bounds.least({2}, 1000, 60)).has_value());
  });
  REQUIRE_FALSE(own.layers.searched.empty());
  CHECK(own.layers.searched.front() == std::pair<int64_t, int64_t>(2, 16));
}

TEST_CASE("Bounds that are known are told when no time is left, and none where there never was any") {
  Case own;
  own.withBounds([&](OuterBounds &bounds) {
    const int64_t workers[] = {2, 4};
    constexpr double known = 1000;
    CHECK_FALSE(valueOf(boundPipelines(own.request, workers, bounds, known, /*seconds=*/0)).has_value());
    const std::optional<double> found = valueOf(boundPipelines(own.request, workers, bounds, known, /*seconds=*/10));
    CHECK(found.value() < known);
    const size_t searches = own.layers.searched.size();
    CHECK(searches > 0);
    CHECK(valueOf(boundPipelines(own.request, workers, bounds, known, /*seconds=*/0)) == found);
    CHECK(own.layers.searched.size() == searches);
  });
}
