// The cross entropy out of the losses of ONNX, as ops whose classes devices can share.
#include "Match.h"
#include "Recognizers.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

namespace apc {

namespace {

/// Scores, whose classes are dim `axis`, and the label of each.
struct Labelled {
  mlir::Value scores, labels;
  int64_t axis = 1;
};

/// Scores [B * S, C] and labels as they were before they were flattened, [B, S, C] and [B, S]; others as they are. Each
/// dim of the scores can be cut then, and a loss that is added up does not see their order.
Labelled unflattened(mlir::Operation *loss, mlir::Value scores) {
  auto flat = scores.getDefiningOp<ReshapeOp>(), list = loss->getOperand(1).getDefiningOp<ReshapeOp>();
  auto reduction = loss->getAttrOfType<mlir::StringAttr>("reduction");
  bool isAddedUp = !reduction || reduction.getValue() != "none";
  if (!flat || !list || !isAddedUp || dimsOf(scores).size() != 2)
    return {scores, loss->getOperand(1)};
  llvm::ArrayRef<int64_t> dims = dimsOf(flat.getData()), rows = dimsOf(list.getData());
  if (rows.size() < 2 || dims.size() != rows.size() + 1 || dims.drop_back() != rows ||
      dims.back() != dimsOf(scores).back())
    return {scores, loss->getOperand(1)};
  return {flat.getData(), list.getData(), static_cast<int64_t>(rows.size())};
}

/// Replaces a loss by the cross entropy of scores; its other operands and attributes stay.
void replaceByCrossEntropy(mlir::Operation *loss, mlir::Value scores, mlir::PatternRewriter &rewriter) {
  llvm::SmallVector<mlir::NamedAttribute, 2> attributes;
  for (llvm::StringRef name : {"ignore_index", "reduction"})
    if (mlir::Attribute value = loss->getAttr(name))
      attributes.push_back(rewriter.getNamedAttr(name, value));
  auto location = llvm::dyn_cast<mlir::NameLoc>(loss->getLoc());
  llvm::StringRef name = location ? location.getName().getValue() : loss->getName().stripDialect();
  rewriter.setInsertionPoint(loss);
  auto [all, labels, axis] = unflattened(loss, scores);
  mlir::Value made = createCrossEntropy(rewriter, name, {all, labels, loss->getOperand(2)}, attributes, axis);
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
