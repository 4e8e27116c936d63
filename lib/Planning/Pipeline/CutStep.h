// A step cut into the stages of a pipeline, each a graph of its own.
#pragma once

#include "apc/Graph/StageGraph.h"

#include <string>
#include <vector>

namespace apc {

/// {split, four graphs, {"/h.24/ln_1/LayerNormalization", ...}}.
struct CutStep {
  StageSplit split;
  std::vector<StageGraph> stages;
  std::vector<std::string> cuts; ///< the first op of the forward pass behind each cut
};

/// Errors: those of `splitStages`.
llvm::Expected<CutStep> cutStep(const OpGraph &graph, llvm::ArrayRef<size_t> cuts);

/// The same from the names of the first ops behind the cuts. Errors (input): an op that is none of the forward pass,
/// or stands before one that is named earlier.
llvm::Expected<CutStep> cutStepAt(const OpGraph &graph, llvm::ArrayRef<std::string> cuts);

/// The graph of a stage that holds the values of so many micro-batches at once.
OpGraph withInFlight(const StageGraph &stage, const StageSplit &split, int64_t microBatches);

/// The part of a stage's work that each op of its graph belongs to; of a source, that of the first op that reads it.
std::vector<StagePart> partsOfStage(const StageGraph &stage, const StageSplit &split);

/// Do two graphs differ in nothing but names?
bool areAlike(const OpGraph &a, const OpGraph &b);

} // namespace apc
