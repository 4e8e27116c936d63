// Micro-batches by how evenly the nodes of a worker share them.
#include "EvenShares.h"

#include "apc/Driver/ImportStep.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

namespace apc {

/// The ways that a worker's nodes can share a micro-batch evenly, where each takes a part of every sample inside.
static int64_t evenWays(const Pool &pool, const PlanRequest &point) {
  const int64_t devices = pool.numDevices() / *point.pipeline.count;
  const int64_t nodes = std::max<int64_t>(1, devices / pool.levelSizes().back());
  return point.microBatch ? std::min(nodes, std::gcd(*point.microBatch, devices)) : nodes;
}

std::vector<PlanRequest> evenlyShared(const Pool &pool, llvm::ArrayRef<PlanRequest> points) {
  std::vector<PlanRequest> kept;
  for (size_t index = 0; index < points.size(); ++index)
    if (index + 1 == points.size() || evenWays(pool, points[index]) >= evenWays(pool, points[index + 1]))
      kept.push_back(points[index]);
  return kept;
}

size_t firstToTry(const Pool &pool, int64_t workers, llvm::ArrayRef<PlanRequest> points) {
  constexpr double perWorker = 8;
  auto distance = [&](const PlanRequest &point) {
    return std::abs(
               std::log2(static_cast<double>(microBatchesOf(point)) / (perWorker * static_cast<double>(workers)))) -
           std::log2(static_cast<double>(evenWays(pool, point)));
  };
  const auto first =
      llvm::min_element(points, [&](const PlanRequest &a, const PlanRequest &b) { return distance(a) < distance(b); });
  return static_cast<size_t>(first - points.begin());
}

} // namespace apc
