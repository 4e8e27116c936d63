// A beginning with each number of workers, and more trials of the best.
#include "TryWorkers.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

namespace {

/// Success where one number of workers among several is impossible: the model has too few layers for it, or the
/// schedule does not take it.
llvm::Error unlessImpossible(const PlanRequest &request, llvm::Error error) {
  if (!error)
    return error;
  auto [fault, message] = takeMessage(std::move(error));
  if (fault == Fault::Input && !request.pipeline.count)
    return llvm::Error::success();
  return llvm::make_error<PlannerError>(fault, message);
}

/// Begins with one number of workers after the other, until two in a row gave nothing better. \p end: seconds that are
/// to be left.
llvm::Error beginAll(const PlanRequest &request, llvm::ArrayRef<int64_t> workers, double end, PipelineTrials &trials) {
  unsigned worse = 0;
  constexpr unsigned patience = 2;
  constexpr double shareOfOne = 0.25; // once something fits
  for (int64_t count : workers) {
    const double share = trials.all().found() ? shareOfOne * (trials.secondsLeft() - end) : 0;
    const double endOfOne = share > 0 ? trials.secondsLeft() - share : end;
    std::optional<PlanRank> before = trials.all().found() ? std::optional(rankOf(*trials.all().found())) : std::nullopt;
    if (llvm::Error error = unlessImpossible(request, trials.begin(count, endOfOne)))
      return error;
    worse = trials.all().found() && before && !isBetter(rankOf(*trials.all().found()), *before) ? worse + 1 : 0;
    if (worse >= patience || trials.secondsLeft() <= end)
      break;
  }
  return llvm::Error::success();
}

} // namespace

std::vector<int64_t> PipelineTrials::begun() const {
  std::vector<int64_t> workers, ordered;
  std::vector<PlanRank> ranks;
  for (const auto &[count, best] : bestOf) {
    workers.push_back(count);
    ranks.push_back(best.rank);
  }
  while (!ranks.empty()) { // `isBetter` is no order to sort by: equal seconds may add up to unequal ones
    const auto best = static_cast<std::ptrdiff_t>(apc::bestOf(ranks));
    ordered.push_back(workers[best]);
    workers.erase(workers.begin() + best);
    ranks.erase(ranks.begin() + best);
  }
  return ordered;
}

/// Those nearest to the workers of a layout first.
static std::vector<int64_t> fromLayout(llvm::ArrayRef<int64_t> workers, const std::optional<ParallelDegrees> &layout) {
  std::vector<int64_t> ordered = workers.vec();
  if (layout && layout->pipeline > 1)
    llvm::stable_sort(ordered, [&](int64_t a, int64_t b) {
      auto distance = [&](int64_t own) {
        return std::abs(std::log2(static_cast<double>(own) / static_cast<double>(layout->pipeline)));
      };
      return distance(a) < distance(b);
    });
  return ordered;
}

llvm::Error tryWorkers(const PlanRequest &request, llvm::ArrayRef<int64_t> workers,
                       const std::optional<ParallelDegrees> &layout, PipelineTrials &trials) {
  const double ofProofs = request.timeLimitSeconds / 3;
  if (llvm::Error error = beginAll(request, fromLayout(workers, layout), ofProofs, trials))
    return error;
  // Where the best layout of an expert is a pipeline, what is near it has been costed.
  if (layout && layout->pipeline > 1 && !trials.beatsKnown() && !trials.hasMuchTime())
    return llvm::Error::success();
  constexpr size_t most = 2; // numbers of workers that are worth it where time is short
  const std::vector<int64_t> begun = trials.begun();
  for (auto [index, own] : llvm::enumerate(begun)) {
    if (index >= most && !trials.hasMuchTime())
      break;
    const double left = trials.secondsLeft();
    const size_t sharing = std::min(most, begun.size()) - std::min(most - 1, index);
    const double share = std::max(0.0, left - ofProofs) / static_cast<double>(sharing);
    if (llvm::Error error = trials.improve(own, left - share))
      return error;
  }
  return llvm::Error::success();
}

} // namespace apc
