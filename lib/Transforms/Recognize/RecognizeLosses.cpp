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

struct RecognizeLikelihoodLoss : mlir::OpRewritePattern<NegativeLogLikelihoodLossOp> {
  RecognizeLikelihoodLoss(mlir::MLIRContext *context, RecognizedComposites &counts)
      : OpRewritePattern(context), counts(counts) {}

  mlir::LogicalResult matchAndRewrite(NegativeLogLikelihoodLossOp loss,
                                      mlir::PatternRewriter &rewriter) const override {
    auto softmax = loss.getInput().getDefiningOp<LogSoftmaxOp>();
    if (!softmax || !loss.getInput().hasOneUse() || softmaxDim(softmax) != 1)
      return mlir::failure();
    replaceByCrossEntropy(loss, softmax.getInput(), rewriter);
    rewriter.eraseOp(softmax);
    ++counts.crossEntropy;
    return mlir::success();
  }

  RecognizedComposites &counts;
};

/// The memory of a multiprocessor of an H100, the largest that was found. Longer rows are read twice by any softmax.
constexpr int64_t longestRowBytes = 228 * 1024;

template <typename Op>
struct RecognizeLongSoftmax : mlir::OpRewritePattern<Op> {
  RecognizeLongSoftmax(mlir::MLIRContext *context, RecognizedComposites &counts)
      : mlir::OpRewritePattern<Op>(context), counts(counts) {}

  mlir::LogicalResult matchAndRewrite(Op softmax, mlir::PatternRewriter &rewriter) const override {
    auto type = llvm::cast<mlir::RankedTensorType>(softmax.getInput().getType());
    std::optional<unsigned> dim = softmaxDim(softmax);
    if (!dim || type.getDimSize(*dim) * type.getElementTypeBitWidth() <= 8 * longestRowBytes)
      return mlir::failure();
    auto location = llvm::dyn_cast<mlir::NameLoc>(softmax.getLoc());
    llvm::StringRef name = location ? location.getName().getValue() : softmax->getName().stripDialect();
    bool isLog = std::is_same_v<Op, LogSoftmaxOp>;
    replaceBy(softmax, createSoftmax(rewriter, name, softmax.getInput(), *dim, isLog).getDefiningOp(), rewriter);
    ++counts.longSoftmax;
    return mlir::success();
  }

  RecognizedComposites &counts;
};

} // namespace

void addLongSoftmaxRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts) {
  patterns.add<RecognizeLongSoftmax<SoftmaxOp>, RecognizeLongSoftmax<LogSoftmaxOp>>(patterns.getContext(), counts);
}

void addLossRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts) {
  patterns.add<RecognizeSoftmaxLoss, RecognizeLikelihoodLoss>(patterns.getContext(), counts);
}

} // namespace apc
