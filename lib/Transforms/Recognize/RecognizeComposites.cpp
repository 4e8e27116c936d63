// Runs the recognisers over a module.
#include "apc/Transforms/RecognizeComposites.h"

#include "Recognizers.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace apc {

RecognizedComposites recognizeComposites(mlir::ModuleOp module) {
  RecognizedComposites counts;
  mlir::RewritePatternSet patterns(module.getContext());
  addActivationRecognizers(patterns, counts);
  addNormalizationRecognizers(patterns, counts);
  addAttentionRecognizers(patterns, counts);
  addRotationRecognizers(patterns, counts);
  mlir::GreedyRewriteConfig config;
  // Regions are not simplified: only what a recogniser replaces, and what is dead then, may change.
  config.setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
  config.enableFolding(false).enableConstantCSE(false);
  // Not converging only means that some composite was left as it was.
  (void)mlir::applyPatternsGreedily(module, std::move(patterns), config);
  return counts;
}

} // namespace apc
