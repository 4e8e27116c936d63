// Losses: scores [N, C, D1, ...] beside labels [N, D1, ...].
#include "apc/IR/Layout.h"
#include "apc/IR/Ops/Loss.h"

namespace apc {

namespace {

/// "d0 !d1 d2", and "d0 d2" without the class dim.
struct ScoresText {
  std::string scores, labels;
};

mlir::FailureOr<ScoresText> scoresText(mlir::Operation *op, llvm::ArrayRef<int64_t> scores, llvm::StringRef mark) {
  if (scores.size() < 2)
    return op->emitOpError() << "scores have shape " << printDims(scores) << "; [N, C, ...] is accepted",
           mlir::failure();
  ScoresText text;
  for (size_t dim = 0; dim < scores.size(); ++dim) {
    std::string name = "d" + std::to_string(dim);
    text.scores += " " + (dim == 1 ? mark.str() : std::string()) + name;
    if (dim != 1)
      text.labels += " " + name;
  }
  return text;
}

} // namespace

mlir::FailureOr<std::string> lossRule(mlir::Operation *op, llvm::StringRef reduction, llvm::StringRef mark,
                                      bool givesLogProb) {
  if (reduction != "none" && reduction != "mean" && reduction != "sum")
    return op->emitOpError() << "attribute 'reduction' is '" << reduction << "'; none, mean and sum are accepted",
           mlir::failure();
  auto text = scoresText(op, dimsOf(op->getOperand(0)), mark);
  if (mlir::failed(text))
    return mlir::failure();
  std::string rule = text->scores + "," + text->labels + ", d1 ->" + (reduction == "none" ? text->labels : " ");
  return givesLogProb ? rule + "," + text->scores : rule;
}

mlir::FailureOr<std::string> lossGradientRule(mlir::Operation *op) {
  auto text = scoresText(op, dimsOf(op->getOperand(1)), "!");
  if (mlir::failed(text))
    return mlir::failure();
  bool perLabel =
      dimsOf(op->getOperand(0)).size() > 1 && dimsOf(op->getOperand(0)).size() == dimsOf(op->getOperand(2)).size();
  return (perLabel ? text->labels : std::string("_")) + "," + text->scores + "," + text->labels + ", d1, _ ->" +
         text->scores;
}

} // namespace apc
