// Bounds of candidates whose first stages alone are cut.
#pragma once

#include "StageCosts.h"

namespace apc {

/// Bounds for one point. Everything is at its least over widths, and nothing is recomputed.
class StageBounds {
public:
  StageBounds(const StageProblem &problem, const StageCosts &costs, const StagePoint &point);

  /// Seconds below which no candidate is whose first stages are those of `ends`.
  double seconds(llvm::ArrayRef<uint32_t> ends) const;

  /// The cut whose heaviest stage is the lightest.
  std::vector<uint32_t> balancedEnds() const;

private:
  /// Of a stage in one step.
  struct Load {
    double all;    ///< F, B and extras of all micro-batches
    double inputs; ///< the part of F and I, or all where backward passes are whole
  };
  Load loadOf(const StageWork &stage) const;
  double backwardOf(const StageWork &stage) const;

  const StageProblem &problem;
  const StageCosts &costs;
  const PipelineShape &shape;
  bool splits;
  double microBatches;
  /// [k][layer]: the load of the heaviest stage, at the least, when the layers from `layer` on are cut into k stages.
  std::vector<std::vector<double>> heaviest;
  std::vector<double> leastHop; ///< by layer: of one message behind it or a later layer
};

} // namespace apc
