// The cross entropy out of the losses of ONNX, as ops whose classes devices can share.
#include "Match.h"
#include "Recognizers.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

namespace apc {

namespace {

/// Replaces a loss by the cross entropy of scores; its other operands and attributes stay.
void replaceByCrossEntropy(mlir::Operation *loss, mlir::Value scores, mlir::PatternRewriter &rewriter) {
  llvm::SmallVector<mlir::NamedAttribute, 2> attributes;
  for (llvm::StringRef name : {"ignore_index", "reduction"})
    if (mlir::Attribute value = loss->getAttr(name))
      attributes.push_back(rewriter.getNamedAttr(name, value));
  auto location = llvm::dyn_cast<mlir::NameLoc>(loss->getLoc());
  llvm::StringRef name = location ? location.getName().getValue() : loss->getName().stripDialect();
  rewriter.setInsertionPoint(loss);
  mlir::Value made = createCrossEntropy(rewriter, name, {scores, loss->getOperand(1), loss->getOperand(2)}, attributes);
  if (auto names = loss->getAttrOfType<mlir::ArrayAttr>(valuesAttribute); names && !names.empty())
    made.getDefiningOp()->setAttr(valuesAttribute, rewriter.getArrayAttr(names.getValue().take_front(1)));
  rewriter.replaceAllUsesWith(loss->getResult(0), made);
  rewriter.eraseOp(loss);
}

struct RecognizeSoftmaxLoss : mlir::OpRewritePattern<SoftmaxCrossEntropyLossOp> {
  RecognizeSoftmaxLoss(mlir::MLIRContext *context, RecognizedComposites &counts)
      : OpRewritePattern(context), counts(counts) {}

  mlir::LogicalResult matchAndRewrite(SoftmaxCrossEntropyLossOp loss, mlir::PatternRewriter &rewriter) const override {
    if (!loss.getLogProb().use_empty())
      return mlir::failure();
    replaceByCrossEntropy(loss, loss.getScores(), rewriter);
    ++counts.crossEntropy;
    return mlir::success();
  }

  RecognizedComposites &counts;
};

/// True for a softmax over dim 1 alone: before opset 13 all dims from `axis` on count as one.
bool isOverClasses(LogSoftmaxOp softmax) {
  auto numDims = static_cast<int64_t>(dimsOf(softmax.getInput()).size());
  int64_t axis = softmax.getAxis().value_or(softmax.getOpsetVersion() < 13 ? 1 : -1);
  return (axis < 0 ? axis + numDims : axis) == 1 && (softmax.getOpsetVersion() >= 13 || numDims == 2);
}

struct RecognizeLikelihoodLoss : mlir::OpRewritePattern<NegativeLogLikelihoodLossOp> {
  RecognizeLikelihoodLoss(mlir::MLIRContext *context, RecognizedComposites &counts)
      : OpRewritePattern(context), counts(counts) {}

  mlir::LogicalResult matchAndRewrite(NegativeLogLikelihoodLossOp loss,
                                      mlir::PatternRewriter &rewriter) const override {
    auto softmax = loss.getInput().getDefiningOp<LogSoftmaxOp>();
    if (!softmax || !loss.getInput().hasOneUse() || !isOverClasses(softmax))
      return mlir::failure();
    replaceByCrossEntropy(loss, softmax.getInput(), rewriter);
    rewriter.eraseOp(softmax);
    ++counts.crossEntropy;
    return mlir::success();
  }

  RecognizedComposites &counts;
};

} // namespace

void addLossRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts) {
  patterns.add<RecognizeSoftmaxLoss, RecognizeLikelihoodLoss>(patterns.getContext(), counts);
}

} // namespace apc
