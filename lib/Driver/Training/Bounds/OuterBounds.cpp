// The least bound is raised first.
#include "OuterBounds.h"

#include "../TrainingPoints.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Support/Error.h"

namespace apc {

PlanRequest OuterBounds::requestOf(int64_t workers, size_t index, double seconds) const {
  PlanRequest own = requests[index];
  own.pipeline = own.pipeline.with(workers);
  own.timeLimitSeconds = seconds;
  return own;
}

void OuterBounds::take(const PipelineBound &bound, size_t from, OfWorkers &own) const {
  for (size_t index = from; index < requests.size(); ++index) {
    std::optional<double> found = bound.seconds(request, microBatchesOf(requests[index]));
    std::optional<double> &best = own.seconds[index];
    best = found && best ? std::max(*best, *found) : found;
  }
}

llvm::Expected<std::optional<PipelineBound>> OuterBounds::boundOf(int64_t workers, size_t index, double seconds) {
  llvm::Expected<PipelineBound> bound = points.bound(requestOf(workers, index, seconds));
  if (bound)
    return std::move(*bound);
  auto [fault, message] = takeMessage(bound.takeError());
  if (fault == Fault::Input && hasOpenMicroBatches(request))
    return std::nullopt;
  return llvm::make_error<PlannerError>(fault, message);
}

llvm::Expected<OuterBounds::OfWorkers *> OuterBounds::known(int64_t workers) {
  auto [entry, isNew] = bounds.try_emplace(workers);
  OfWorkers &own = entry->second;
  if (!isNew)
    return &own;
  own.seconds.resize(requests.size());
  own.isSearched.resize(requests.size());
  if (numLayers && static_cast<size_t>(workers) > *numLayers)
    return &own;
  for (size_t index = 0; index < requests.size(); ++index) {
    auto bound = boundOf(workers, index, 0);
    if (!bound)
      return bound.takeError();
    if (!*bound) // refused, and so none of the steps
      continue;
    if (workers > 1)
      numLayers = (*bound)->layers.size();
    take(**bound, index, own);
    break;
  }
  return &own;
}

llvm::Expected<std::optional<double>> OuterBounds::of(int64_t workers, size_t index) {
  llvm::Expected<OfWorkers *> own = known(workers);
  if (!own)
    return own.takeError();
  return (*own)->seconds[index];
}

llvm::Error OuterBounds::raise(int64_t workers, size_t index, double seconds) {
  llvm::Expected<OfWorkers *> own = known(workers);
  if (!own)
    return own.takeError();
  (*own)->isSearched[index] = true;
  auto bound = boundOf(workers, index, seconds);
  if (!bound)
    return bound.takeError();
  *bound ? take(**bound, index, **own) : (*own)->seconds[index].reset();
  return llvm::Error::success();
}

size_t OuterBounds::fewestNear(int64_t workers, size_t index) const {
  const OfWorkers &own = bounds.at(workers);
  constexpr double near = 1.1;
  const double most = *own.seconds[index] * near;
  size_t fewest = index;
  while (fewest > 0 && !own.isSearched[fewest - 1] && own.seconds[fewest - 1] && *own.seconds[fewest - 1] <= most)
    --fewest;
  return fewest;
}

llvm::Expected<std::optional<double>> OuterBounds::least(llvm::ArrayRef<int64_t> workers, double known,
                                                         double seconds) {
  const Stopwatch watch(*points.control.clock);
  auto secondsLeft = [&] { return seconds - watch.seconds(); };
  for (;;) {
    if (points.isStopped())
      return std::nullopt;
    double least = known;
    std::optional<std::pair<int64_t, size_t>> at;
    for (int64_t count : workers) {
      if (!bounds.count(count) && secondsLeft() <= 0)
        return std::nullopt;
      for (size_t index = 0; index < requests.size(); ++index) {
        auto own = of(count, index);
        if (!own)
          return own.takeError();
        if (*own && **own < least) {
          least = **own;
          at = {count, index};
        }
      }
    }
    const double left = secondsLeft();
    if (!at || bounds[at->first].isSearched[at->second] || left <= 0)
      return std::optional(least);
    if (llvm::Error error = raise(at->first, fewestNear(at->first, at->second), left))
      return std::move(error);
  }
}

} // namespace apc
