// Bounds learned from candidates: the longest path of one bounds all others.
#pragma once

#include "StageMemory.h"

namespace apc {

/// The longest paths of some candidates of one point. A path through the step of one candidate is there in the step of
/// each other one, too (`PipelinePath`); its length is a sum over stages and boundaries, so its least length over all
/// ways to cut the layers that are left follows from dynamic programming, once for each path. Candidates that differ
/// little have much the same longest path, so that a few paths discard many candidates before they are simulated.
class PathCuts {
public:
  PathCuts(const StageProblem &problem, const StageCosts &costs, const StagePoint &point, const StageMemory &memory)
      : problem(problem), costs(costs), point(point), memory(memory) {}

  /// Keeps the longest path of a whole candidate, in the place of the path that was of use the longest ago.
  void learn(const PartialChoice &choice);

  /// Raises the bound of the candidates whose first stages are those of `ends`; stops at `enough`.
  double raise(double bound, llvm::ArrayRef<uint32_t> ends, double enough);

private:
  struct Path {
    std::vector<StageCounts> stages;
    std::vector<double> hops; ///< of messages from each stage to the next
    double tied;
    std::vector<std::vector<std::vector<double>>> sums;    ///< [stage][width][layer]: the length of all layers before
    std::vector<std::vector<std::optional<double>>> least; ///< [stage][layer]: from there to the end, where it fits
  };
  /// The least length of a stage over widths; nothing where it fits with none.
  std::optional<double> lengthOf(const Path &path, uint32_t stage, uint32_t first, uint32_t last) const;
  std::optional<double> lengthOf(const Path &path, llvm::ArrayRef<uint32_t> ends) const;
  void sumFigures(Path &path) const;
  void solve(Path &path) const;

  static constexpr size_t most = 64;

  const StageProblem &problem;
  const StageCosts &costs;
  const StagePoint &point;
  const StageMemory &memory;
  std::vector<Path> paths; ///< the one of use last comes first
};

} // namespace apc
