// Losses: scores [N, C, D1, ...] beside labels [N, D1, ...].
#include "../Attributes.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/RuleBuilder.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// "d0 !d1 d2", "d0 d2" without the class dim d1, and "d0 1 d2" for sums over it.
struct ScoresText {
  std::string scores, labels, sums;
};

mlir::FailureOr<ScoresText> scoresText(mlir::Operation *op, llvm::ArrayRef<int64_t> scores, llvm::StringRef mark) {
  if (scores.size() < 2)
    return op->emitOpError() << "scores have shape " << printDims(scores) << "; [N, C, ...] is accepted",
           mlir::failure();
  const int64_t classes = classDim(op), numDims = static_cast<int64_t>(scores.size());
  if (classes < 0 || classes >= numDims)
    return op->emitOpError() << "attribute 'axis' is " << classes << "; 0 to " << numDims - 1 << " are accepted",
           mlir::failure();
  ScoresText text;
  for (size_t dim = 0; dim < scores.size(); ++dim) {
    std::string name = "d" + std::to_string(dim);
    const bool isClasses = static_cast<int64_t>(dim) == classes;
    text.scores += " " + (isClasses ? mark.str() : std::string()) + name;
    if (!isClasses)
      text.labels += " " + name;
    text.sums += isClasses ? " 1" : " " + name;
  }
  return text;
}

/// Labels have the dims of the scores without that of the classes, weights have one entry for each class.
mlir::LogicalResult checkLabels(mlir::Operation *op, unsigned scores, unsigned labels, unsigned weights) {
  llvm::SmallVector<int64_t, 4> dims(dimsOf(op->getOperand(scores)));
  int64_t classes = dims[static_cast<size_t>(classDim(op))];
  dims.erase(dims.begin() + classDim(op));
  if (mlir::failed(checkDims(op, labels, dims)))
    return mlir::failure();
  return checkDims(op, weights, {classes});
}

/// Sums over the classes have the dims of the scores with one class.
mlir::LogicalResult checkSums(mlir::Operation *op, unsigned scores, unsigned sums) {
  llvm::SmallVector<int64_t, 4> dims(dimsOf(op->getOperand(scores)));
  dims[static_cast<size_t>(classDim(op))] = 1;
  return checkDims(op, sums, dims);
}

mlir::LogicalResult checkLossReduction(mlir::Operation *op, llvm::StringRef reduction) {
  if (reduction == "none" || reduction == "mean" || reduction == "sum")
    return mlir::success();
  return op->emitOpError() << "attribute 'reduction' is '" << reduction << "'; none, mean and sum are accepted";
}

} // namespace

mlir::FailureOr<std::string> lossRule(mlir::Operation *op, llvm::StringRef reduction, llvm::StringRef mark,
                                      bool givesLogProb) {
  if (mlir::failed(checkLossReduction(op, reduction)))
    return mlir::failure();
  auto text = scoresText(op, dimsOf(op->getOperand(0)), mark);
  if (mlir::failed(text))
    return mlir::failure();
  // The labels of a piece may be whole.
  std::string labels = isOnPiece(op) ? " _" : text->labels;
  if (!isOnPiece(op) && mlir::failed(checkLabels(op, 0, 1, 2)))
    return mlir::failure();
  if (reduction == "none")
    return text->scores + "," + labels + ", _ ->" + text->labels + (givesLogProb ? "," + text->scores : "");
  // A factor of one result cannot leave the other partial, so a sum beside log probabilities is made whole.
  std::string scores;
  bool hasLogProb = givesLogProb && !isAbsent(op->getResult(1));
  for (llvm::StringRef name : llvm::split(llvm::StringRef(text->scores).ltrim(), ' '))
    scores += (hasLogProb && name.front() != '!' ? " !" : " ") + name.str();
  return scores + ", _, _ -> " + (givesLogProb ? "," + text->scores : "");
}

mlir::FailureOr<std::string> lossGradientRule(mlir::Operation *op) {
  auto text = scoresText(op, dimsOf(op->getOperand(1)), "");
  if (mlir::failed(text))
    return mlir::failure();
  if (isOnPiece(op))
    return "_," + text->scores + ", _, _, _ ->" + text->scores;
  if (mlir::failed(checkLabels(op, 1, 2, 3)))
    return mlir::failure();
  bool perLabel =
      dimsOf(op->getOperand(0)).size() > 1 && dimsOf(op->getOperand(0)).size() == dimsOf(op->getOperand(2)).size();
  perLabel |= stringAttribute(op, "reduction", "mean") == "none";
  bool isMean = stringAttribute(op, "reduction", "mean") == "mean";
  return (perLabel ? text->labels : std::string("_")) + "," + text->scores + "," +
         (isMean ? std::string("_") : text->labels) + ", _," + text->scores + " ->" + text->scores;
}

mlir::FailureOr<std::string> crossEntropyRule(mlir::Operation *op) {
  llvm::StringRef reduction = stringAttribute(op, "reduction", "mean");
  auto text = scoresText(op, dimsOf(op->getOperand(0)), "");
  if (mlir::failed(text) || mlir::failed(checkLossReduction(op, reduction)) || mlir::failed(checkSums(op, 0, 1)))
    return mlir::failure();
  if (!isOnPiece(op) && mlir::failed(checkLabels(op, 0, 2, 3)))
    return mlir::failure();
  bool perRow = reduction == "none";
  // The labels of a piece may be whole.
  std::string labels = perRow && !isOnPiece(op) ? text->labels : " _";
  return text->scores + "," + text->sums + "," + labels + ", _ ->" + (perRow ? text->labels : "");
}

mlir::FailureOr<std::string> crossEntropyGradientRule(mlir::Operation *op, bool takesSoftmax) {
  auto text = scoresText(op, dimsOf(op->getOperand(1)), "");
  if (mlir::failed(text) || (takesSoftmax && mlir::failed(checkSums(op, 1, 2))))
    return mlir::failure();
  bool perRow = stringAttribute(op, "reduction", "mean") == "none";
  unsigned first = takesSoftmax ? 3 : 2;
  if (!isOnPiece(op) && mlir::failed(checkLabels(op, 1, first, first + 1)))
    return mlir::failure();
  // The labels of a piece may be whole.
  std::string labels = perRow && !isOnPiece(op) ? text->labels : " _";
  return (perRow ? text->labels : " _") + "," + text->scores + (takesSoftmax ? "," + text->sums : "") + "," + labels +
         ", _ ->" + text->scores;
}

namespace {

/// The offsets of the piece of operand `scores`, behind the other operands.
void appendOffsets(LocalOp &local, unsigned scores, bool labelsAreWhole) {
  auto type = mlir::RankedTensorType::get({}, local.builder.getI64Type());
  mlir::Value zero;
  for (unsigned dim = 0; dim < local.operandDims(scores).size(); ++dim) {
    bool counts = dim == classDim(local.original) || labelsAreWhole;
    if (counts && local.isOperandCut(scores, dim)) {
      local.operands.push_back(local.offsetOf(scores, dim));
      continue;
    }
    if (!zero)
      zero = ConstantOp::create(local.builder, local.original->getLoc(),
                                mlir::DenseElementsAttr::get(type, local.builder.getI64IntegerAttr(0).getValue()));
    local.operands.push_back(zero);
  }
}

/// True when axes cut any dim of operand `scores`.
bool isCut(const LocalOp &local, unsigned scores) {
  for (unsigned dim = 0; dim < local.operandDims(scores).size(); ++dim)
    if (local.isOperandCut(scores, dim))
      return true;
  return false;
}

} // namespace

void localizeLoss(LocalOp &local, unsigned scores) {
  const auto classes = static_cast<unsigned>(classDim(local.original));
  bool labelsAreWhole = stringAttribute(local.original, "reduction", "mean") != "none";
  if (labelsAreWhole ? !isCut(local, scores) : !local.isOperandCut(scores, classes))
    return;
  appendOffsets(local, scores, labelsAreWhole);
}

void localizeLossGradient(LocalOp &local) {
  bool isMean = stringAttribute(local.original, "reduction", "mean") == "mean";
  if (isMean ? isCut(local, 1) : local.isOperandCut(1, 1))
    appendOffsets(local, 1, /*labelsAreWhole=*/isMean);
}

} // namespace apc
