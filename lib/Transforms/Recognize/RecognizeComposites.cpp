// Runs the recognisers over a module.
#include "apc/Transforms/RecognizeComposites.h"

#include "Recognizers.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace apc {

RecognizedComposites recognizeComposites(mlir::ModuleOp module, bool trains, SharesRows shares) {
  RecognizedComposites counts;
  mlir::RewritePatternSet patterns(module.getContext()), last(module.getContext());
  addActivationRecognizers(patterns, counts);
  addNormalizationRecognizers(patterns, counts);
  addAttentionRecognizers(patterns, counts);
  addRotationRecognizers(patterns, counts);
  addLossRecognizers(patterns, counts);
  addLongSoftmaxRecognizers(last, counts);
  mlir::GreedyRewriteConfig config;
  // Regions are not simplified: only ops that a recogniser replaces, and ops that are dead afterwards, may change.
  config.setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
  config.enableFolding(false).enableConstantCSE(false);
  // Without convergence some composite is left as it was, which is no error.
  (void)mlir::applyPatternsGreedily(module, std::move(patterns), config);
  (void)mlir::applyPatternsGreedily(module, std::move(last), config);
  shareReductions(module, trains, shares, counts);
  return counts;
}

} // namespace apc
