// Boxes without those that overlap a better one. How many stay depends on values, which are constants unless the op has
// a bound.
#include "../Attributes.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/RuleBuilder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace apc {

namespace {

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

/// Two corners in any order; or, with `center`, middle, width and height: [x, y, w, h].
Box readBox(const Tensor &boxes, int64_t at, bool center) {
  llvm::ArrayRef<double> given = llvm::ArrayRef(boxes.floats).slice(static_cast<size_t>(at) * 4, 4);
  if (center)
    return {given[1] - given[3] / 2, given[0] - given[2] / 2, given[1] + given[3] / 2, given[0] + given[2] / 2};
  auto [top, bottom] = std::minmax(given[0], given[2]);
  auto [left, right] = std::minmax(given[1], given[3]);
  return {top, left, bottom, right};
}

/// The area of the intersection over the area of the union; 0 for boxes without area.
double overlap(const Box &a, const Box &b) {
  double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0)
    return 0;
  return height * width / (a.area() + b.area() - height * width);
}

/// The optional operands; `least` is below every score when there is no threshold.
struct Limits {
  int64_t count = 0; ///< boxes for each class
  double overlap = 0;
  std::optional<double> score;
  bool center = false;
};

/// The places in `boxes` that one class takes, by falling score; the first of equal boxes.
llvm::SmallVector<int64_t> pickBoxes(llvm::ArrayRef<Box> boxes, llvm::ArrayRef<double> scores, const Limits &limits) {
  std::vector<int64_t> order(boxes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  llvm::SmallVector<int64_t> taken;
  for (int64_t place : order) {
    if (static_cast<int64_t>(taken.size()) >= limits.count)
      break;
    if (limits.score && scores[place] <= *limits.score)
      continue;
    if (llvm::none_of(taken, [&](int64_t better) { return overlap(boxes[better], boxes[place]) > limits.overlap; }))
      taken.push_back(place);
  }
  return taken;
}

Tensor pickAll(mlir::Operation *op, const Tensor &boxes, const Tensor &scores, const Limits &limits) {
  int64_t classes = scores.dims[1], places = scores.dims[2];
  Tensor picked{{0, 3}, indexElement(op), {}, {}};
  std::vector<Box> candidates(static_cast<size_t>(places));
  for (int64_t batch = 0; batch < scores.dims[0]; ++batch) {
    for (int64_t place = 0; place < places; ++place)
      candidates[place] = readBox(boxes, batch * places + place, limits.center);
    for (int64_t index = 0; index < classes; ++index) {
      auto row = llvm::ArrayRef(scores.floats).slice((batch * classes + index) * places, places);
      for (int64_t place : pickBoxes(candidates, row, limits))
        picked.ints.insert(picked.ints.end(), {batch, index, place});
    }
  }
  picked.dims[0] = static_cast<int64_t>(picked.ints.size() / 3);
  return picked;
}

/// None when an operand is not known, or not of the shape and kind that is needed.
std::optional<Tensor> suppress(NonMaxSuppressionOp op, Operands operands) {
  for (auto [operand, value] : llvm::zip_equal(operands, op->getOperands()))
    if (!isAbsent(value) && (!operand || operand->numElements() < 1))
      return std::nullopt;
  if (!operands[0]->isFloat() || !operands[1]->isFloat())
    return std::nullopt;
  Limits limits;
  if (operands[2])
    limits.count = getElement(*operands[2], 0).integer;
  if (operands[3])
    limits.overlap = getElement(*operands[3], 0).asReal();
  if (operands[4])
    limits.score = getElement(*operands[4], 0).asReal();
  limits.center = op.getCenterPointBox() != 0;
  return pickAll(op, *operands[0], *operands[1], limits);
}

} // namespace

mlir::LogicalResult NonMaxSuppressionOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> scores = dimsOf(getScores());
  if (mlir::failed(checkDims(*this, 1, {-1, -1, -1})) || mlir::failed(checkDims(*this, 0, {scores[0], scores[2], 4})))
    return mlir::failure();
  if (getBound())
    return addType(*this, {static_cast<int64_t>(*getBound()), 3}, indexElement(*this), types);
  llvm::SmallVector<Tensor, 5> constants(getNumOperands());
  llvm::SmallVector<const Tensor *, 5> operands;
  for (auto [index, value] : llvm::enumerate(getOperands())) {
    auto constant = isAbsent(value) ? mlir::FailureOr<Tensor>(Tensor()) : requireSelecting(*this, index);
    if (mlir::failed(constant))
      return mlir::failure();
    constants[index] = std::move(*constant);
    operands.push_back(isAbsent(value) ? nullptr : &constants[index]);
  }
  auto picked = suppress(*this, operands);
  if (!picked)
    return emitOpError("needs boxes and scores of floats, and limits of one number");
  return addType(*this, picked->dims, indexElement(*this), types);
}

mlir::FailureOr<FactorRule> NonMaxSuppressionOp::getRule() { return RuleBuilder(*this).take(Work::Stream); }

Evaluated NonMaxSuppressionOp::evaluate(Operands operands) {
  std::optional<Tensor> taken = suppress(*this, operands);
  if (!taken || !getBound())
    return evaluatedAs(std::move(taken));
  return evaluatedAs(withCount(*taken, 0, static_cast<int64_t>(*getBound())));
}

} // namespace apc
