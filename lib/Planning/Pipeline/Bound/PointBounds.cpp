// The best cut, or the best distribution of layers; then the least of all points of a request.
#include "PointBounds.h"

#include "../PipelinePoints.h"
#include "LeastShare.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc {

namespace {

/// Sums over layers, by the layer behind them.
struct Sums {
  std::vector<double> step, passes;      ///< of all layers before
  std::vector<double> forwardHead, head; ///< before the first F of a stage that begins there, and also behind its B
  std::vector<std::vector<double>> withBytes; ///< by cost: of all layers before

  Sums(llvm::ArrayRef<LayerMinima> layers, size_t numByteCosts)
      : step{0}, passes{0}, forwardHead{0}, head{0}, withBytes(numByteCosts, {0}) {
    for (auto [index, layer] : llvm::enumerate(layers)) {
      for (size_t byteCost = 0; byteCost < numByteCosts; ++byteCost)
        withBytes[byteCost].push_back(withBytes[byteCost].back() + layer.withBytes[byteCost]);
      step.push_back(step.back() + layer.step);
      passes.push_back(passes.back() + layer.microBatch);
      const bool isChained = index + 1 < layers.size() && layers[index + 1].followsBefore;
      forwardHead.push_back(isChained ? forwardHead.back() + layer.forward : 0);
      head.push_back(isChained ? head.back() + layer.microBatch : 0);
    }
  }
};

/// The least of the busiest stages over all cuts into one stage for each worker.
double leastOfCuts(const BoundedPoint &point, const Sums &sums, size_t numLayers, llvm::ArrayRef<ByteBudget> budgets) {
  const auto times = static_cast<double>(point.microBatches);
  auto through = [&](size_t begin, size_t end) {
    double work = sums.step[end] - sums.step[begin];
    for (auto [withBytes, budget] : llvm::zip_equal(sums.withBytes, budgets))
      work = std::max(work, withBytes[end] - withBytes[begin] - budget.limit);
    double own = sums.forwardHead[begin] + work;
    if (!point.splitsBackward)
      own = std::max(own, sums.head[begin] + times * (sums.passes[end] - sums.passes[begin]));
    return own;
  };
  std::vector<std::optional<double>> best(numLayers + 1); // by end
  best[0] = 0;
  for (int64_t stage = 0; stage < point.workers; ++stage) {
    std::vector<std::optional<double>> next(numLayers + 1);
    for (size_t end = 1; end <= numLayers; ++end)
      for (size_t begin = 0; begin < end; ++begin)
        if (best[begin]) {
          double own = std::max(*best[begin], through(begin, end));
          next[end] = std::min(next[end].value_or(own), own);
        }
    best = std::move(next);
  }
  return *best[numLayers];
}

/// The least of the busiest workers over all distributions of layers.
double leastOfDistributions(const BoundedPoint &point, const Sums &sums, llvm::ArrayRef<LayerMinima> layers,
                            llvm::ArrayRef<ByteBudget> budgets) {
  auto busiest = [&](llvm::ArrayRef<double> heads, llvm::function_ref<double(const LayerMinima &)> partOf) {
    std::vector<double> parts;
    for (const LayerMinima &layer : layers)
      parts.push_back(partOf(layer));
    return leastLargestShare(parts, heads.take_front(static_cast<size_t>(point.workers)).vec());
  };
  double least = busiest(sums.forwardHead, [](const LayerMinima &layer) { return layer.step; });
  for (auto [byteCost, budget] : llvm::enumerate(budgets))
    least = std::max(least, busiest(sums.forwardHead, [&](const LayerMinima &layer) {
                              return layer.withBytes[byteCost];
                            }) - budget.limit);
  if (point.splitsBackward)
    return least;
  const auto times = static_cast<double>(point.microBatches);
  return std::max(least, busiest(sums.head, [&](const LayerMinima &layer) { return times * layer.microBatch; }));
}

/// One micro-batch forward through layers that follow each other, and back: nobody waits for gradients of weights where
/// the backward pass is split.
double secondsThrough(llvm::ArrayRef<LayerMinima> layers, bool splitsBackward) {
  double most = 0, run = 0;
  for (const LayerMinima &layer : layers) {
    run = layer.followsBefore ? run : 0;
    run += splitsBackward ? layer.forward + layer.back : layer.microBatch;
    most = std::max(most, run);
  }
  return most;
}

/// An even share of the work of all workers, and of what their bytes cost.
double evenSeconds(const BoundedPoint &point, const Sums &sums, llvm::ArrayRef<ByteBudget> budgets) {
  const auto workers = static_cast<double>(point.workers);
  double most = sums.step.back() / workers;
  for (auto [withBytes, budget] : llvm::zip_equal(sums.withBytes, budgets))
    most = std::max(most, (withBytes.back() + budget.kept) / workers - budget.limit);
  return most;
}

/// The workers have forward passes alone to do before a micro-batch has gone through all layers, and few micro-batches
/// are not enough for all of them; 0 where layers do not all wait for each other.
double secondsBehindRamp(const BoundedPoint &point, const Sums &sums, llvm::ArrayRef<LayerMinima> layers,
                         llvm::ArrayRef<ByteBudget> budgets) {
  const auto isChained = [](const LayerMinima &layer) { return layer.followsBefore && layer.isAwaited; };
  if (point.microBatches >= point.workers || !llvm::all_of(layers.drop_front(), isChained))
    return 0;
  const auto workers = static_cast<double>(point.workers);
  double forward = 0;
  for (const LayerMinima &layer : layers)
    forward += layer.forward;
  return evenSeconds(point, sums, budgets) + (1 - static_cast<double>(point.microBatches) / workers) * forward;
}

} // namespace

std::optional<double> leastSecondsOf(const BoundedPoint &point, llvm::ArrayRef<LayerMinima> layers,
                                     llvm::ArrayRef<ByteBudget> budgets) {
  if (static_cast<int64_t>(layers.size()) < point.workers * point.chunks)
    return std::nullopt;
  const Sums sums(layers, budgets.size());
  double least = point.chunks == 1 ? leastOfCuts(point, sums, layers.size(), budgets)
                                   : leastOfDistributions(point, sums, layers, budgets);
  return std::max({least, evenSeconds(point, sums, budgets), secondsThrough(layers, point.splitsBackward),
                   secondsBehindRamp(point, sums, layers, budgets)});
}

/// Does the request allow a schedule of these counts that splits the backward pass, or does not?
static bool hasSchedule(const PlanRequest &request, const PipelineCounts &counts, bool splitsBackward) {
  return llvm::any_of(schedulesFor(request, counts),
                      [&](const PipelineSchedule *row) { return row->splitsBackward == splitsBackward; });
}

bool boundAsksForPasses(const PlanRequest &request, int64_t workers, int64_t microBatches, size_t numLayers) {
  return workers > 1 &&
         llvm::none_of(chunksToTry(request, static_cast<int64_t>(numLayers) / workers), [&](int64_t own) {
           return hasSchedule(request, countsOf(workers, microBatches, own), /*splitsBackward=*/true);
         });
}

PipelineBound PipelineBound::withAnyMemory() const {
  PipelineBound own = *this;
  own.byteCosts.clear();
  own.kept.clear();
  for (LayerMinima &layer : own.layers)
    layer.withBytes.clear();
  return own;
}

std::optional<double> PipelineBound::seconds(const PlanRequest &request, int64_t microBatches) const {
  assert(microBatches >= this->microBatches && "fewer micro-batches may take less");
  if (layers.empty())
    return shareSeconds;
  const double part = static_cast<double>(this->microBatches) / static_cast<double>(microBatches);
  std::vector<LayerMinima> own = layers;
  for (LayerMinima &layer : own) {
    layer.microBatch *= part;
    layer.forward *= part;
    layer.back *= part;
  }
  std::vector<ByteBudget> budgets;
  for (double byteCost : byteCosts)
    budgets.push_back(
        {byteCost * static_cast<double>(memoryLimitBytes), lineBelow(kept, part * byteCost).paid(part * byteCost)});
  std::optional<double> least;
  if (workers == 1) // no pipeline, and no schedule
    least = leastSecondsOf({1, 1, microBatches, /*splitsBackward=*/true}, own, budgets);
  for (int64_t chunks : chunksToTry(request, static_cast<int64_t>(layers.size()) / workers)) {
    for (bool splitsBackward : {false, true}) {
      if (!hasSchedule(request, countsOf(workers, microBatches, chunks), splitsBackward))
        continue;
      if (std::optional<double> point = leastSecondsOf({workers, chunks, microBatches, splitsBackward}, own, budgets))
        least = std::min(least.value_or(*point), *point);
    }
  }
  return least ? std::optional(std::max({*least, shareSeconds, part * pathSeconds})) : std::nullopt;
}

} // namespace apc
