// Layouts costed beside each other: the same answers as one after the other.
#include "../../lib/Driver/Training/Layouts/LayoutsAhead.h"

#include "../ValueOf.h"

#include "apc/Cluster/Cluster.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <mutex>

using namespace apc;

namespace {

/// Faster with more chunks, up to eight, and with more ranks of tp, of which eight need too much memory, whatever is
/// recomputed; so does one worker. Where the layout is of no use, the next one that is asked for does not depend on the
/// figures.
LayoutFigures figuresOf(const ParallelDegrees &layout) {
  LayoutFigures own;
  own.stepSeconds = 20 - static_cast<double>(std::min<int64_t>(layout.numChunks(), 8) + layout.tensor);
  own.memory[MemoryCategory::Activations] = layout.pipeline == 1 || layout.tensor == 8 ? 200 : 50;
  own.memoryLimitBytes = 100;
  return own;
}

PlanningControl controlWith(unsigned numThreads) {
  PlanningControl control;
  control.numThreads = numThreads;
  return control.within(60);
}

/// All layouts of a step, answered with so many threads.
struct AheadTrial {
  std::vector<std::string> asked, fitting;
  std::mutex mutex;
  std::vector<LayoutQuestion> costed;
  double countedSeconds = 0;

  explicit AheadTrial(unsigned numThreads) {
    const Pool pool = valueOf(withDevices(valueOf(loadCluster("dgx-h100")), 64)).pool;
    const StepSizes step{512, /*experts=*/0, /*layers=*/16};
    const PlanningControl control = controlWith(numThreads);
    auto always = [](const ParallelDegrees &) { return true; };
    auto answer = [&](const LayoutQuestion &question, const std::shared_ptr<WorkClock> &clock) {
      {
        std::lock_guard lock(mutex);
        costed.push_back(question);
      }
      clock->spend(1e6 * static_cast<double>(question.layout.pipeline)); // nanoseconds
      return LayoutAnswer{figuresOf(question.layout)};
    };
    auto countStep = [](const ParallelDegrees &layout, WorkClock &clock) {
      clock.spend(1e6 * static_cast<double>(layout.tensor));
    };
    LayoutsAhead ahead(pool, step, always, {answer, countStep}, control);
    auto tryLayout = [&](const ParallelDegrees &layout,
                         std::optional<double> knownSeconds) -> llvm::Expected<std::optional<LayoutFigures>> {
      asked.push_back(layout.str());
      return ahead.answerOf({layout, knownSeconds, 30}).figures;
    };
    for (const EvaluatedLayout &own : valueOf(tryExpertLayouts(pool, step, tryLayout, always)))
      fitting.push_back(own.layout.str());
    countedSeconds = control.clock->seconds();
  }

  /// How many questions were answered more than once.
  size_t numTwice() const {
    size_t count = 0;
    for (size_t index = 0; index < costed.size(); ++index)
      count += llvm::is_contained(llvm::ArrayRef(costed).take_front(index), costed[index]);
    return count;
  }
};

} // namespace

TEST_CASE("Layouts that are costed ahead are those that are asked for, with the same work counted") {
  AheadTrial one(1), two(2);
  CHECK(one.asked == two.asked);
  CHECK(one.fitting == two.fitting);
  CHECK(one.countedSeconds == two.countedSeconds);
  CHECK(one.countedSeconds > 0);
  CHECK(one.costed.size() == one.asked.size());
  // Some answers ahead are of no use; most are.
  const size_t inVain = two.costed.size() - two.asked.size();
  CHECK(inVain > 0);
  CHECK(inVain < two.asked.size() / 4);
  for (unsigned numThreads : {2, 3, 8}) {
    AheadTrial many(numThreads);
    CHECK(many.asked == one.asked);
    CHECK(many.countedSeconds == one.countedSeconds);
    CHECK(many.numTwice() == 0);
  }
}

TEST_CASE("Nothing is costed beside the first layout, which tells whether the model has a step") {
  const Pool pool = valueOf(withDevices(valueOf(loadCluster("dgx-h100")), 64)).pool;
  const StepSizes step{512, /*experts=*/0, /*layers=*/16};
  const PlanningControl control = controlWith(2);
  auto always = [](const ParallelDegrees &) { return true; };
  std::atomic<int64_t> costed = 0;
  auto answer = [&](const LayoutQuestion &, const std::shared_ptr<WorkClock> &) {
    ++costed;
    return LayoutAnswer{std::nullopt, Fault::Input, "cannot be"};
  };
  LayoutsAhead ahead(pool, step, always, {answer, [](const ParallelDegrees &, WorkClock &) {}}, control);
  CHECK(ahead.answerOf({ParallelDegrees{8, 8, 1}, std::nullopt, 30}).message == "cannot be");
  CHECK(costed == 1);
}
