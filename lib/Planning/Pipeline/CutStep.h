// A step cut into the stages of a pipeline, each a graph of its own.
#pragma once

#include "apc/Graph/SharedSums.h"
#include "apc/Graph/StageGraph.h"

#include <string>
#include <vector>

namespace apc {

/// {graph, split, four graphs, {"/h.24/ln_1/LayerNormalization", ...}}.
struct CutStep {
  OpGraph graph; ///< of the whole step, with the parts of shared sums (`withParts`)
  StageSplit split;
  std::vector<StageGraph> stages;
  std::vector<std::string> cuts; ///< the first op of the forward pass behind each cut

  /// Does each stage that reads the results of op \p op of \p stage run it, once for all its layers?
  bool runsInEach(unsigned stage, size_t op) const {
    const std::optional<OpId> own = stages[stage].ops[op];
    return own && split.runsInEach(graph, *own);
  }
};

/// Cuts before the ops with these numbers of `forwardOps`, for schedules that split the backward pass or not. Errors:
/// those of `splitStages`.
llvm::Expected<CutStep> cutStep(const OpGraph &graph, llvm::ArrayRef<size_t> cuts, bool splitsBackward);

/// Do two graphs differ in nothing but names?
bool areAlike(const OpGraph &a, const OpGraph &b);

} // namespace apc
