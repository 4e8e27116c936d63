// The families of recognisers that `recognizeComposites` runs together.
#pragma once

#include "apc/Transforms/RecognizeComposites.h"

#include "mlir/IR/PatternMatch.h"

namespace apc {

void addActivationRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts);
void addNormalizationRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts);
void addAttentionRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts);
void addRotationRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts);
void addLossRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts);
/// To be run after the others, which look for softmaxes.
void addLongSoftmaxRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts);

/// Takes apart softmaxes and normalisations whose rows devices may share: `RecognizedComposites::shared`.
void shareReductions(mlir::ModuleOp module, bool trains, SharesRows shares, RecognizedComposites &counts);

} // namespace apc
