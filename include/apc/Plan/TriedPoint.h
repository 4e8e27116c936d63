// Points of the whole plan that were tried around the search of a step: workers, schedules, micro-batches,
// recomputation.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace apc {

struct Plan;
struct PlanRequest;

/// A choice of everything outside the step, and what it would cost: {4, "1f1b", 1, 8, 8, 1, "none", "auto", 0.766,
/// 5.8e10, true, "", true}.
struct TriedPoint {
  int64_t workers = 1;               ///< of a pipeline; 1: none
  std::string schedule;              ///< "1f1b"; empty without a pipeline, and where no schedule was reached
  int64_t chunks = 1;                ///< stages of a worker
  int64_t microBatches = 1;          ///< in one step
  std::optional<int64_t> microBatch; ///< samples; none where the model's own batch was not read
  int64_t copies = 1;                ///< of a micro-batch
  std::string recompute;             ///< "none", "full:26,norms"
  std::string zero;                  ///< as in --zero: "auto", "0", ..., "3"
  std::optional<double> stepSeconds; ///< none where no plan of the point is known
  std::optional<int64_t> memoryBytes;
  bool feasible = false;
  std::string reason;   ///< why it does not fit
  bool isQuick = false; ///< planned until a good answer, not until the gap or the time limit

  /// Is everything that was chosen the same?
  bool isPointOf(const TriedPoint &other) const;
};

/// The point that a plan stands for. One that does not fit its own limit is not feasible.
TriedPoint triedPointOf(const Plan &plan);
/// The point that a request asks for and that gave no plan.
TriedPoint failedPointOf(const PlanRequest &request, int64_t microBatches, std::string reason);

/// `tried` and \p more, each point once, with the better of its answers: one that fits, then one that was planned to
/// the end, then one with fewer seconds.
std::vector<TriedPoint> withTried(std::vector<TriedPoint> tried, llvm::ArrayRef<TriedPoint> more);

/// At most so many points are kept in a plan.
constexpr size_t mostTried = 64;
/// The best first; at most `most`, those among them that are the best of a number of workers, a schedule, a number of
/// chunks or of micro-batches, a policy or a stage of ZeRO before all others.
std::vector<TriedPoint> bestTried(std::vector<TriedPoint> tried, size_t most = mostTried);

} // namespace apc
