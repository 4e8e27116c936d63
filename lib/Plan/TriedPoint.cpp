// Points that were tried, each once, and the best of them.
#include "apc/Plan/TriedPoint.h"

#include "apc/Plan/Plan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>
#include <tuple>

namespace apc {

namespace {

/// Is `a` the better point? One without seconds is the last of those that do not fit.
bool isBetterPoint(const TriedPoint &a, const TriedPoint &b) {
  auto keys = [](const TriedPoint &point) {
    return std::tuple(!point.feasible, !point.stepSeconds, point.stepSeconds.value_or(0),
                      point.memoryBytes.value_or(0));
  };
  return keys(a) < keys(b);
}

/// Is `a` the better of two answers to one point? One that was planned to the end is what the point costs.
bool isBetterAnswer(const TriedPoint &a, const TriedPoint &b) {
  bool areAlike = a.feasible == b.feasible && a.stepSeconds.has_value() == b.stepSeconds.has_value();
  return areAlike && a.isQuick != b.isQuick ? b.isQuick : isBetterPoint(a, b);
}

/// The choices of a point, each as the name of its kind with its value.
std::vector<std::string> choicesOf(const TriedPoint &point) {
  return {llvm::formatv("workers {0}", point.workers),
          "schedule " + point.schedule,
          llvm::formatv("chunks {0}", point.chunks),
          llvm::formatv("micro-batches {0}", point.microBatches),
          llvm::formatv("copies {0}", point.copies),
          "recompute " + point.recompute,
          "zero " + point.zero};
}

} // namespace

bool TriedPoint::isPointOf(const TriedPoint &other) const {
  auto keys = [](const TriedPoint &point) {
    return std::tie(point.workers, point.schedule, point.chunks, point.microBatches, point.copies, point.recompute,
                    point.zero);
  };
  return keys(*this) == keys(other);
}

TriedPoint triedPointOf(const Plan &plan) {
  PlanTraining training = plan.training.value_or(PlanTraining());
  TriedPoint point;
  if (plan.pipeline) {
    point.workers = plan.pipeline->workers;
    point.schedule = plan.pipeline->schedule;
    point.chunks = plan.pipeline->chunks;
  }
  point.microBatches = training.microBatches;
  point.microBatch = training.microBatch;
  point.copies = training.copies;
  point.recompute = training.recompute;
  point.zero = zeroText(plan.request.zero);
  point.stepSeconds = plan.stepSeconds;
  point.memoryBytes = plan.memory.total();
  point.feasible = plan.memory.total() <= plan.memoryLimitBytes;
  if (!point.feasible)
    point.reason = shortageText(plan.memory.total(), plan.memoryLimitBytes);
  return point;
}

TriedPoint failedPointOf(const PlanRequest &request, int64_t microBatches, std::string reason) {
  TriedPoint point;
  point.workers = request.pipeline.count.value_or(1);
  point.schedule = point.workers == 1 || request.schedule == "auto" ? "" : request.schedule;
  point.chunks = request.chunks.count.value_or(1);
  point.microBatches = microBatches;
  point.microBatch = request.microBatch;
  point.copies = copiesOf(request);
  point.recompute = request.recompute.str();
  point.zero = zeroText(request.zero);
  point.reason = std::move(reason);
  return point;
}

std::vector<TriedPoint> withTried(std::vector<TriedPoint> tried, llvm::ArrayRef<TriedPoint> more) {
  for (const TriedPoint &point : more) {
    auto known = llvm::find_if(tried, [&](const TriedPoint &other) { return other.isPointOf(point); });
    if (known == tried.end())
      tried.push_back(point);
    else if (isBetterAnswer(point, *known))
      *known = point;
  }
  return tried;
}

std::vector<TriedPoint> bestTried(std::vector<TriedPoint> tried, size_t most) {
  llvm::stable_sort(tried, isBetterPoint);
  if (tried.size() <= most)
    return tried;
  std::vector<bool> isBest;
  std::set<std::string> seen;
  for (const TriedPoint &point : tried) {
    isBest.push_back(false);
    for (const std::string &choice : choicesOf(point))
      if (seen.insert(choice).second)
        isBest.back() = true;
  }
  std::vector<TriedPoint> kept;
  size_t others = most - std::min<size_t>(most, llvm::count(isBest, true));
  for (auto [point, isOfItsKind] : llvm::zip_equal(tried, isBest)) {
    if (kept.size() == most || (!isOfItsKind && others == 0))
      continue;
    others -= isOfItsKind ? 0 : 1;
    kept.push_back(std::move(point));
  }
  return kept;
}

} // namespace apc
