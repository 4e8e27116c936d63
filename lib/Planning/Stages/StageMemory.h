// The memory of single stages of one point, and the recomputation that it asks for.
#pragma once

#include "StageCosts.h"

namespace apc {

/// Of a worker with one stage this is all its memory, of others a part of it.
class StageMemory {
public:
  StageMemory(const StageProblem &problem, const StageCosts &costs, const StagePoint &point);

  /// Whether a stage of the layers [first, last) must recompute; nothing where it does not fit in either case. Where it
  /// fits without, recomputation only takes time.
  std::optional<bool> recomputes(uint32_t stage, uint32_t width, uint32_t first, uint32_t last) const;

  /// The least of every figure over the widths with which the stage fits, with the time of recomputation in its I;
  /// nothing where it fits with none. A stage that does not fit does not do so with more layers, either.
  std::optional<StageWork> leastFitting(uint32_t stage, uint32_t first, uint32_t last) const;

  /// The least limit with which some cut fits, as far as single stages tell.
  int64_t leastLimit() const;

private:
  int64_t bytesOf(uint32_t stage, const StageWork &work) const;
  int64_t leastBytes(uint32_t stage, uint32_t first, uint32_t last) const;

  const StageProblem &problem;
  const StageCosts &costs;
  std::vector<std::vector<LiveCounts>> counts; ///< by stage
};

} // namespace apc
