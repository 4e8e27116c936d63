// Kernels of losses, on whole scores [N, C, D1, ...] or on a piece of them; the classes may be another dim.
#include "../Attributes.h"
#include "../HeldSpan.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/Ops/Loss/Loss.h"

#include <cmath>

namespace apc {

namespace {

using Index = llvm::ArrayRef<int64_t>;

/// The labels with their weights.
struct Targets {
  const Tensor &labels;
  const Tensor *weights;               ///< by class; null: 1 each
  std::optional<int64_t> ignored;      ///< the label of weight 0
  llvm::SmallVector<HeldSpan, 4> held; ///< of the scores' dims; none where they are whole
  size_t classes = 1;                  ///< the scores' dim of classes

  /// None where the weights have no such class.
  std::optional<double> weightOf(int64_t label) const {
    if (label == ignored)
      return 0;
    if (!weights)
      return 1;
    if (label < 0 || label >= weights->numElements())
      return std::nullopt;
    return getElement(*weights, label).asReal();
  }
  /// The label of a row of scores; none for rows of padding. `row` is an index into the scores without the classes.
  std::optional<int64_t> labelAt(Index row) const {
    llvm::SmallVector<int64_t, 4> at(row);
    for (size_t dim = 0; dim < at.size(); ++dim) {
      HeldSpan span = held.empty() ? HeldSpan() : held[dim < classes ? dim : dim + 1];
      at[dim] += span.begin;
      if (at[dim] >= std::min(span.end, labels.dims[dim]))
        return std::nullopt;
    }
    return labels.ints[positionOf(at, labels.dims)];
  }
  double totalWeight() const {
    double total = 0;
    for (int64_t label : labels.ints)
      total += weightOf(label).value_or(0);
    return total;
  }
};

/// The labels, weights and offsets, from operand `labels` on; none when an operand is not known.
std::optional<Targets> targetsOf(mlir::Operation *op, Operands operands, unsigned labels, unsigned firstOffset) {
  bool hasWeights = operands.size() > labels + 1 && !isAbsent(op->getOperand(labels + 1));
  if (!operands[labels] || operands[labels]->isFloat() || (hasWeights && !operands[labels + 1]))
    return std::nullopt;
  Targets targets{*operands[labels],
                  hasWeights ? operands[labels + 1] : nullptr,
                  std::nullopt,
                  {},
                  static_cast<size_t>(classDim(op))};
  if (auto ignored = op->getAttrOfType<mlir::IntegerAttr>("ignore_index"))
    targets.ignored = ignored.getInt();
  for (const Tensor *offset : operands.drop_front(std::min<size_t>(firstOffset, operands.size()))) {
    auto span = HeldSpan::read(offset);
    if (!span)
      return std::nullopt;
    targets.held.push_back(*span);
  }
  return targets;
}

/// The dims of scores without the dim of classes.
llvm::SmallVector<int64_t, 4> rowDims(const Tensor &scores, size_t classes = 1) {
  llvm::SmallVector<int64_t, 4> dims(scores.dims);
  dims.erase(dims.begin() + static_cast<ptrdiff_t>(classes));
  return dims;
}

/// The flat position of class `place` in the row at `row`.
int64_t scoreAt(const Tensor &scores, Index row, int64_t place, size_t classes = 1) {
  llvm::SmallVector<int64_t, 4> at(row);
  at.insert(at.begin() + static_cast<ptrdiff_t>(classes), place);
  return positionOf(at, scores.dims);
}

void takeLogSoftmax(Tensor &scores) {
  int64_t classes = scores.dims[1];
  forEachIndex(rowDims(scores), [&](Index row) {
    double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t c = 0; c < classes; ++c)
      greatest = std::fmax(greatest, scores.floats[scoreAt(scores, row, c)]);
    for (int64_t c = 0; c < classes; ++c)
      sum += std::exp(scores.floats[scoreAt(scores, row, c)] - greatest);
    for (int64_t c = 0; c < classes; ++c)
      scores.floats[scoreAt(scores, row, c)] -= greatest + std::log(sum);
  });
}

/// Minus the weighted log probability (the score less `logSum`, where it is given) at the label of a row, 0 where
/// another device has that class; none for a label that is no class.
std::optional<double> lossOf(const Tensor &scores, const Tensor *logSum, const Targets &targets, Index row) {
  std::optional<int64_t> label = targets.labelAt(row);
  if (!label || label == targets.ignored)
    return 0;
  HeldSpan classes = targets.held.empty() ? HeldSpan() : targets.held[targets.classes];
  int64_t place = *label - classes.begin;
  bool isHere = classes.contains(*label) && place >= 0 && place < scores.dims[targets.classes];
  std::optional<double> weight = targets.weightOf(*label);
  if (!weight || (!isHere && targets.held.empty()))
    return std::nullopt;
  if (!isHere)
    return 0;
  double less = logSum ? logSum->floats[scoreAt(*logSum, row, 0, targets.classes)] : 0;
  return *weight * (less - scores.floats[scoreAt(scores, row, place, targets.classes)]);
}

/// The losses of all rows, reduced as the op says; none where a label is no class.
std::optional<Tensor> reducedLoss(mlir::Operation *op, const Tensor &scores, const Tensor *logSum,
                                  const Targets &targets) {
  std::vector<double> losses;
  bool known = true;
  forEachIndex(rowDims(scores, targets.classes), [&](Index row) {
    std::optional<double> loss = lossOf(scores, logSum, targets, row);
    known &= loss.has_value();
    losses.push_back(loss.value_or(0));
  });
  if (!known)
    return std::nullopt;
  Tensor result = zeros(op->getResult(0).getType());
  llvm::StringRef reduction = stringAttribute(op, "reduction", "mean");
  if (reduction == "none") {
    result.floats = std::move(losses);
  } else {
    for (double loss : losses)
      result.floats[0] += loss;
    result.floats[0] /= reduction == "mean" ? targets.totalWeight() : 1;
  }
  return result;
}

} // namespace

Evaluated evaluateLoss(mlir::Operation *op, Operands operands, bool takesSoftmax) {
  auto targets = targetsOf(op, operands, 1, 3);
  if (!targets || !operands[0] || !operands[0]->isFloat())
    return std::nullopt;
  Tensor logProb = *operands[0];
  if (takesSoftmax)
    takeLogSoftmax(logProb);
  std::optional<Tensor> loss = reducedLoss(op, logProb, nullptr, *targets);
  if (!loss)
    return std::nullopt;
  llvm::SmallVector<Tensor, 1> results = {std::move(*loss)};
  if (op->getNumResults() > 1)
    results.push_back(isAbsent(op->getResult(1)) ? Tensor() : std::move(logProb));
  return results;
}

Evaluated evaluateCrossEntropy(mlir::Operation *op, Operands operands) {
  auto targets = targetsOf(op, operands, 2, 4);
  if (!targets || !operands[0] || !operands[1])
    return std::nullopt;
  std::optional<Tensor> loss = reducedLoss(op, *operands[0], operands[1], *targets);
  if (!loss)
    return std::nullopt;
  return evaluatedAs(std::move(*loss));
}

// dY * weight * (softmax - one at the label), over the total weight for a mean.
Evaluated evaluateLossGradient(mlir::Operation *op, Operands operands) {
  auto targets = targetsOf(op, operands, 2, 5);
  bool hasBias = !isAbsent(op->getOperand(4));
  if (!targets || !operands[0] || !operands[1] || (hasBias && !operands[4]))
    return std::nullopt;
  const Tensor &logProb = *operands[1];
  Tensor result = zeros(op->getResult(0).getType());
  double total = stringAttribute(op, "reduction", "mean") == "mean" ? targets->totalWeight() : 1;
  int64_t row = 0, first = targets->held.empty() ? 0 : targets->held[1].begin;
  bool perRow = stringAttribute(op, "reduction", "mean") == "none";
  forEachIndex(rowDims(logProb), [&](Index index) {
    std::optional<int64_t> label = targets->labelAt(index);
    double weight = label ? targets->weightOf(*label).value_or(0) : 0;
    double scale = weight == 0 ? 0 : getElement(*operands[0], perRow ? row : 0).asReal() * weight / total;
    ++row;
    for (int64_t c = 0; c < logProb.dims[1]; ++c) {
      int64_t at = scoreAt(logProb, index, c);
      double gradient = scale * (std::exp(logProb.floats[at]) - (label == c + first ? 1 : 0));
      result.floats[at] = gradient + (hasBias ? getElement(*operands[4], at).asReal() : 0);
    }
  });
  return evaluatedAs(std::move(result));
}

Evaluated evaluateCrossEntropyGradient(mlir::Operation *op, Operands operands, bool takesSoftmax) {
  auto targets = targetsOf(op, operands, takesSoftmax ? 3 : 2, takesSoftmax ? 5 : 4);
  if (!targets || !operands[0] || !operands[1] || !operands[2])
    return std::nullopt;
  Tensor result = *operands[1];
  llvm::StringRef reduction = stringAttribute(op, "reduction", "mean");
  double total = reduction == "mean" ? targets->totalWeight() : 1;
  const size_t classes = targets->classes;
  int64_t row = 0, first = targets->held.empty() ? 0 : targets->held[classes].begin;
  forEachIndex(rowDims(result, classes), [&](Index index) {
    std::optional<int64_t> label = targets->labelAt(index);
    double weight = label ? targets->weightOf(*label).value_or(0) : 0;
    double scale = weight == 0 ? 0 : operands[0]->floats[reduction == "none" ? row : 0] * weight / total;
    ++row;
    double logSum = takesSoftmax ? operands[2]->floats[scoreAt(*operands[2], index, 0, classes)] : 0;
    for (int64_t c = 0; c < result.dims[classes]; ++c) {
      double &gradient = result.floats[scoreAt(result, index, c, classes)];
      double share = takesSoftmax ? std::exp(gradient - logSum) : 0;
      gradient = scale == 0 ? 0 : scale * (share - (label == c + first ? 1 : 0));
    }
  });
  return evaluatedAs(std::move(result));
}

} // namespace apc
