// The work of stages that are cut from layers.
#pragma once

#include "Points.h"

namespace apc {

/// A candidate of one point, decided in part: the first stages have their layers, the first workers a width, the first
/// stages their recomputation.
struct PartialChoice {
  std::vector<uint32_t> ends;   ///< behind the last layer of each stage that is cut
  std::vector<uint32_t> widths; ///< by worker, as indices into the space
  std::vector<bool> recompute;  ///< by stage
};

/// The lesser of every figure.
StageWork leastOf(const StageWork &a, const StageWork &b);

class StageCosts {
public:
  explicit StageCosts(const StageProblem &problem);

  /// The widths of the space; {1} where none are searched.
  llvm::ArrayRef<uint32_t> widths() const { return spaceWidths; }

  /// The layers [first, last) as one stage, which may be empty.
  StageWork stage(uint32_t width, uint32_t first, uint32_t last) const;
  /// The least of every figure over all widths, of the layers as one stage.
  StageWork least(uint32_t first, uint32_t last) const;
  /// The same of the layers in any number of stages, each with a width of its own: sums of what each layer takes at
  /// least. Of seconds alone.
  StageWork leastApart(uint32_t first, uint32_t last) const;

  /// The stage of a partial choice, which must be cut: what is not decided takes its least figures, for the memory also
  /// the least of both ways to treat activations.
  enum class For : uint8_t { Time, Memory };
  StageWork stageOf(const PipelineShape &shape, const PartialChoice &partial, uint32_t index, For use) const;

  /// All stages and messages of a choice whose cuts are decided; every figure is a least one, for the time.
  PipelineWork workOf(const PipelineShape &shape, const PartialChoice &partial) const;

  /// Of bytes between two workers, of which `width` is the smaller.
  double messageSeconds(int64_t bytes, uint32_t width) const;
  /// Of the chain's message behind `layer`, over the widest workers.
  double leastMessageSeconds(uint32_t layer) const { return messageSeconds(problem.boundaryBytes[layer], widest); }

private:
  const StageProblem &problem;
  std::vector<uint32_t> spaceWidths;
  uint32_t widest;
  std::vector<std::vector<StageWork>> sums; ///< by width and layer: of all layers before
  std::vector<StageWork> leastSums;         ///< by layer: of all layers before, each on its best width
};

} // namespace apc
