// Bounds of candidates whose first stages alone are cut.
#pragma once

#include "StageMemory.h"

namespace apc {

/// Bounds for one point. Everything is at its least over widths; a stage recomputes where its own memory asks for it.
class StageBounds {
public:
  StageBounds(const StageProblem &problem, const StageCosts &costs, const StagePoint &point, const StageMemory &memory);

  /// Seconds below which no candidate is whose first stages are those of `ends`; nothing where none fits.
  std::optional<double> seconds(llvm::ArrayRef<uint32_t> ends) const;

  /// The cut whose heaviest stage is the lightest, of those whose stages fit; empty where there is none.
  std::vector<uint32_t> balancedEnds() const;

private:
  /// Of a stage in one step.
  struct Load {
    double all;    ///< F, B and extras of all micro-batches
    double inputs; ///< the part of F and I, or all where backward passes are whole
  };
  Load loadOf(const StageWork &stage) const;
  double backwardOf(const StageWork &stage) const;
  void findHeaviest();
  std::optional<double> heaviestFrom(uint32_t count, uint32_t first, uint32_t end) const;
  /// Head, load and way back of a stage that begins at a layer, behind so many others.
  double throughStage(uint32_t stage, uint32_t first, const StageWork &work) const;
  double forLayersLeft(llvm::ArrayRef<double> known, uint32_t reached, double bound) const;

  const StageProblem &problem;
  const StageCosts &costs;
  const StageMemory &memory;
  const PipelineShape &shape;
  bool splits;
  double microBatches;
  std::vector<StageWork> before;     ///< by layer: all layers before, at their least
  std::vector<double> leastHop;      ///< by layer: of one message behind it or a later layer
  std::vector<double> lightestLayer; ///< by layer: the lightest load of it or a later layer
  std::vector<double> numLightest;   ///< by layer: whole lightest layers in it and in each later layer
  double firstWeights = 0;           ///< W of the first layer, at the least, where backward passes are split
  /// [k][layer]: the bound by the heaviest stage when the layers from `layer` on are cut into the last k stages.
  /// Nothing where they do not fit.
  std::vector<std::vector<std::optional<double>>> heaviest;
};

} // namespace apc
