// Paths as bounds, and the least of their lengths.
#include "PathCuts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc {

void PathCuts::learn(const PartialChoice &choice) {
  const PipelineShape &shape = point.shape();
  PipelineWork work = costs.workOf(shape, choice);
  // Tied layers must be of the same stages whatever the cut.
  if (work.tail && work.tail->tied) {
    const TiedLayers &tied = *problem.tail->tied;
    if (std::min(tied.first, tied.second) != 0 || std::max(tied.first, tied.second) + 1 != problem.numLayers())
      work.tail->tied.reset();
  }
  PipelinePath found = llvm::cantFail(point.simulator.longestPath(work));
  // Messages of the chain come first; those of skips depend on the cut, and a path without them is as well a path.
  Path path{std::move(found.stages), std::move(found.messages), found.tied, {}, {}};
  path.hops.resize(shape.numStages());
  path.hops.back() = 0;
  sumFigures(path);
  solve(path);
  if (paths.size() == most)
    paths.pop_back();
  paths.insert(paths.begin(), std::move(path));
}

void PathCuts::sumFigures(Path &path) const {
  path.sums.resize(path.stages.size());
  for (auto [counts, sums] : llvm::zip(path.stages, path.sums))
    for (uint32_t width = 0; width < costs.widths().size(); ++width) {
      std::vector<double> &sum = sums.emplace_back();
      for (uint32_t layer = 0; layer <= problem.numLayers(); ++layer)
        sum.push_back(counts.secondsOf(costs.stage(width, 0, layer)));
    }
}

std::optional<double> PathCuts::lengthOf(const Path &path, uint32_t stage, uint32_t first, uint32_t last) const {
  std::optional<double> least;
  for (uint32_t width = 0; width < costs.widths().size(); ++width) {
    std::optional<bool> recompute = memory.recomputes(stage, width, first, last);
    if (!recompute)
      continue;
    double length = path.sums[stage][width][last] - path.sums[stage][width][first];
    if (*recompute)
      length += path.stages[stage].inputGradient * costs.stage(width, first, last).forwardSeconds;
    least = std::min(least.value_or(length), length);
  }
  return least;
}

void PathCuts::solve(Path &path) const {
  auto numStages = static_cast<uint32_t>(path.stages.size()), numLayers = problem.numLayers();
  path.least.assign(numStages, std::vector<std::optional<double>>(numLayers + 1));
  for (uint32_t stage = numStages; stage-- > 0;) {
    uint32_t numLeft = numStages - stage - 1;
    for (uint32_t first = stage; first + numLeft < numLayers; ++first) {
      std::optional<double> &least = path.least[stage][first];
      for (uint32_t end = numLeft == 0 ? numLayers : first + 1; end + numLeft <= numLayers; ++end) {
        std::optional<double> length = lengthOf(path, stage, first, end);
        if (!length)
          break; // longer stages need more memory
        if (numLeft > 0) {
          if (!path.least[stage + 1][end])
            continue;
          *length += path.hops[stage] * costs.leastMessageSeconds(end - 1) + *path.least[stage + 1][end];
        }
        least = std::min(least.value_or(*length), *length);
      }
    }
  }
}

std::optional<double> PathCuts::lengthOf(const Path &path, llvm::ArrayRef<uint32_t> ends) const {
  double length = path.tied > 0 ? path.tied * problem.tail->tied->seconds : 0;
  uint32_t first = 0;
  for (uint32_t stage = 0; stage < ends.size(); first = ends[stage++]) {
    std::optional<double> one = lengthOf(path, stage, first, ends[stage]);
    if (!one)
      return std::nullopt;
    length += *one;
    if (stage + 1 < path.stages.size())
      length += path.hops[stage] * costs.leastMessageSeconds(ends[stage] - 1);
  }
  if (ends.size() == path.stages.size())
    return length;
  const std::optional<double> &rest = path.least[ends.size()][first];
  return rest ? std::optional(length + *rest) : std::nullopt;
}

double PathCuts::raise(double bound, llvm::ArrayRef<uint32_t> ends, double enough) {
  for (size_t index = 0; index < paths.size(); ++index) {
    bound = std::max(bound, lengthOf(paths[index], ends).value_or(bound));
    if (bound < enough)
      continue;
    std::rotate(paths.begin(), paths.begin() + index, paths.begin() + index + 1);
    return bound;
  }
  return bound;
}

} // namespace apc
