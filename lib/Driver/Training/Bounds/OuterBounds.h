// Bounds of the numbers around a pipeline: workers and micro-batches.
#pragma once

#include "../PointPlanner.h"

#include <map>

namespace apc {

/// Seconds that no step of a request takes less than with a number of workers and micro-batches, whatever its chunks,
/// schedule, strategies and recomputation: that of the policy that keeps most, without what others save, bounds all.
/// Bounds of fewer micro-batches hold for more of them (`PipelineBound::seconds`). Each number of
/// workers begins with a bound that needs no search; searches raise it where they are asked for.
class OuterBounds {
public:
  /// \p requests: by number of micro-batches, fewest first, with the policy that keeps most. All outlive this.
  OuterBounds(const PlanRequest &request, llvm::ArrayRef<PlanRequest> requests, const PointPlanner &points)
      : request(request), requests(requests), points(points) {}

  /// The bound of so many workers and the micro-batches of `requests[index]`. None where no schedule takes them, where
  /// the request refuses them, and for workers for which the model has too few layers. Errors: those of bounding.
  llvm::Expected<std::optional<double>> of(int64_t workers, size_t index);
  /// Searches the layers for a better bound of these numbers, and of more micro-batches, for \p seconds.
  llvm::Error raise(int64_t workers, size_t index, double seconds);
  /// The least of some workers and all micro-batches, but no more than \p known, the seconds of a plan: where the least
  /// bound was not searched for, it or that of fewer micro-batches is, until no time is left. None where the user asks
  /// to stop, or where there is no time for bounds without a search.
  llvm::Expected<std::optional<double>> least(llvm::ArrayRef<int64_t> workers, double known, double seconds);

private:
  /// Of a number of workers: by index of `requests`, the best that is known.
  struct OfWorkers {
    std::vector<std::optional<double>> seconds;
    std::vector<bool> isSearched;
  };
  llvm::Expected<OfWorkers *> known(int64_t workers);
  /// None where the request refuses the micro-batches of an index, and leaves others open.
  llvm::Expected<std::optional<PipelineBound>> boundOf(int64_t workers, size_t index, double seconds);
  /// Takes a bound made with the micro-batches of `requests[from]` for these and for more.
  void take(const PipelineBound &bound, size_t from, OfWorkers &own) const;
  /// The fewest micro-batches, down from those of an index, whose bounds are nearly as low and were not searched for:
  /// what is found for them holds for more.
  size_t fewestNear(int64_t workers, size_t index) const;
  PlanRequest requestOf(int64_t workers, size_t index, double seconds) const;

  const PlanRequest &request;
  llvm::ArrayRef<PlanRequest> requests;
  const PointPlanner &points;
  std::map<int64_t, OfWorkers> bounds;
  std::optional<size_t> numLayers; ///< of a pipeline's model, once a bound has told
};

} // namespace apc
