// Rotary embedding of halves out of its arithmetic.
#include "Match.h"
#include "Recognizers.h"

#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Movement/Movement.h"

namespace apc {

namespace {

/// A part of the last dim of `whole`.
struct Part {
  mlir::Value whole;
  int64_t first = 0, count = 0;
};

std::optional<Part> partOfSlice(SliceOp slice) {
  mlir::Value data = slice.getData();
  auto starts = constantInts(slice.getStarts()), axes = constantInts(slice.getAxes());
  bool hasSteps = !isAbsent(slice.getSteps());
  auto steps = hasSteps ? constantInts(slice.getSteps()) : std::nullopt;
  auto numDims = static_cast<int64_t>(dimsOf(data).size());
  if (!starts || !axes || starts->size() != 1 || axes->size() != 1 || (hasSteps && !steps) ||
      (steps && (*steps)[0] != 1) || ((*axes)[0] != -1 && (*axes)[0] != numDims - 1))
    return std::nullopt;
  int64_t size = dimsOf(data).back(), first = (*starts)[0] < 0 ? (*starts)[0] + size : (*starts)[0];
  return Part{data, first, dimsOf(slice.getOutput()).back()};
}

std::optional<Part> partOfSplit(SplitOp split, mlir::Value result) {
  auto numDims = static_cast<int64_t>(dimsOf(split.getInput()).size());
  auto axis = static_cast<int64_t>(split.getAxis());
  if (axis != -1 && axis != numDims - 1)
    return std::nullopt;
  int64_t first = 0;
  for (mlir::Value output : split.getOutputs()) {
    if (output == result)
      break;
    first += dimsOf(output).back();
  }
  return Part{split.getInput(), first, dimsOf(result).back()};
}

std::optional<Part> partOf(mlir::Value value) {
  if (!value.hasOneUse())
    return std::nullopt;
  if (auto slice = value.getDefiningOp<SliceOp>())
    return partOfSlice(slice);
  if (auto split = value.getDefiningOp<SplitOp>())
    return partOfSplit(split, value);
  return std::nullopt;
}

/// x when `value` is [-second half of x, first half of x] along the last dim, of a single use.
mlir::Value halvesRotated(mlir::Value value) {
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat || !value.hasOneUse() || concat.getInputs().size() != 2)
    return {};
  auto axis = static_cast<int64_t>(concat.getAxis());
  auto numDims = static_cast<int64_t>(dimsOf(value).size());
  auto neg = concat.getInputs()[0].getDefiningOp<NegOp>();
  if ((axis != -1 && axis != numDims - 1) || !neg || !neg->getResult(0).hasOneUse())
    return {};
  std::optional<Part> second = partOf(neg->getOperand(0)), first = partOf(concat.getInputs()[1]);
  if (!first || !second || first->whole != second->whole)
    return {};
  int64_t size = dimsOf(first->whole).back(), half = size / 2;
  bool areHalves = first->first == 0 && first->count == half && second->first == half && second->count == size - half;
  return areHalves ? first->whole : mlir::Value();
}

struct RecognizeRotation : mlir::OpRewritePattern<AddOp> {
  RecognizeRotation(mlir::MLIRContext *context, RecognizedComposites &counts)
      : OpRewritePattern(context), counts(counts) {}

  mlir::LogicalResult matchAndRewrite(AddOp root, mlir::PatternRewriter &rewriter) const override {
    for (auto [straight, rotated] : {std::pair(root.getA(), root.getB()), std::pair(root.getB(), root.getA())}) {
      auto cosines = straight.getDefiningOp<MulOp>(), sines = rotated.getDefiningOp<MulOp>();
      if (!cosines || !sines || !straight.hasOneUse() || !rotated.hasOneUse())
        continue;
      for (auto [halves, sin] : {std::pair(sines.getA(), sines.getB()), std::pair(sines.getB(), sines.getA())})
        if (mlir::Value x = halvesRotated(halves))
          for (auto [same, cos] :
               {std::pair(cosines.getA(), cosines.getB()), std::pair(cosines.getB(), cosines.getA())})
            if (same == x && isTableOf(cos, x) && isTableOf(sin, x) && root.getC().getType() == x.getType()) {
              replaceBy(root, RotateHalfOp::create(rewriter, root.getLoc(), root.getType(), x, cos, sin), rewriter);
              ++counts.rotation;
              return mlir::success();
            }
    }
    return mlir::failure();
  }

private:
  /// One number for each element of the last dim, for all of `x` or for parts of it that broadcast.
  static bool isTableOf(mlir::Value table, mlir::Value x) {
    return !dimsOf(table).empty() && dimsOf(table).size() <= dimsOf(x).size() &&
           dimsOf(table).back() == dimsOf(x).back();
  }

  RecognizedComposites &counts;
};

} // namespace

void addRotationRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts) {
  patterns.add<RecognizeRotation>(patterns.getContext(), counts);
}

} // namespace apc
