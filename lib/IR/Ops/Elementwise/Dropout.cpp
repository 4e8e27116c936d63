// Dropout: its rule, its numbers, which are the same on any sharding, and its gradient.
#include "apc/IR/Ops/Elementwise/Elementwise.h"

#include "../Draws.h"
#include "Scalars.h"

#include "apc/IR/ElementTypes.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

constexpr double defaultRatio = 0.5;
constexpr size_t drawIndex = 3, numBeforeOffsets = 4; ///< operands in front of the offsets

/// The factor of kept elements: 1 / (1 - p), and 0 where all are dropped.
double scaleOf(double ratio) { return ratio < 1 ? 1 / (1 - ratio) : 0; }

/// The same for a ratio that is a constant; none for others.
std::optional<double> knownScale(DropoutOp op) {
  if (isAbsent(op.getRatio()))
    return scaleOf(defaultRatio);
  mlir::DenseElementsAttr ratio = constantOf(op.getRatio());
  if (!ratio || ratio.getNumElements() != 1)
    return std::nullopt;
  return scaleOf(getElement(Tensor::read(ratio), 0).asReal());
}

/// The scale of elements that are kept, while ratio and mode are made as the program runs.
mlir::Value runningScale(GradientBuilder &g, DropoutOp op) {
  mlir::Value like = g.incoming(), one = g.scalar(1, like);
  mlir::Value ratio = isAbsent(op.getRatio()) ? g.scalar(defaultRatio, like) : g.castTo(op.getRatio(), like);
  mlir::Value scale = g.div(one, g.sub(one, ratio)); // where the ratio is 1, of nothing
  return constantOf(op.getTrainingMode()) ? scale : g.make<WhereOp>({op.getTrainingMode(), scale, one});
}

mlir::Type elementOfMask(DropoutOp op) {
  // Before opset 10 the mask has the elements of the data.
  return op.getOpsetVersion() < 10 ? operandElement(op, 0) : boolElement(op);
}

} // namespace

uint64_t seedOf(DropoutOp op) {
  auto given = op.getSeed();
  return given ? *given : seedOfName(op);
}

/// Before opset 7 an attribute says whether Dropout is at rest, later an operand.
bool mayDrop(DropoutOp op) {
  if (op.getOpsetVersion() < 7)
    return op.getIsTest().value_or(0) == 0;
  auto mode = isAbsent(op.getTrainingMode()) ? std::nullopt : constantInts(op.getTrainingMode());
  return !isAbsent(op.getTrainingMode()) && (!mode || mode->empty() || mode->front() != 0);
}

mlir::LogicalResult DropoutOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  if (mlir::failed(requireScalars(*this)))
    return mlir::failure();
  return inferTypesFromRule(*this, "..., _, _, _ -> ..., ...", {operandElement(*this, 0), elementOfMask(*this)}, types);
}

mlir::FailureOr<FactorRule> DropoutOp::getRule() {
  bool drops = mayDrop(*this);
  RuleTraits traits{drops ? Work::Stream : Work::View, drops ? 2.0 : 0.0, {{0}}, {}};
  return bindRule(*this, "..., _, _, _ -> ..., ...", traits);
}

/// Numbers are drawn by the position of an element in the whole tensor.
void DropoutOp::localize(LocalOp &local) {
  if (!mayDrop(*this))
    return;
  local.attributes.set("seed", local.builder.getI64IntegerAttr(static_cast<int64_t>(seedOf(*this))));
  llvm::ArrayRef<int64_t> dims = dimsOf(getData());
  bool isCut = false;
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    isCut |= local.isOperandCut(0, dim);
  if (!isCut)
    return;
  local.attributes.set("whole", local.builder.getDenseI64ArrayAttr(dims));
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    local.operands.push_back(local.offsetOf(0, dim));
}

/// Elements are zeroed at random only in training: opsets before 7 name it by is_test, opsets from 12 by training_mode.
Evaluated DropoutOp::evaluate(Operands operands) {
  bool mayTrain = !isAbsent(getTrainingMode());
  if (!operands[0] || (mayTrain && (!operands[2] || operands[2]->ints.empty())))
    return std::nullopt;
  bool trains = getOpsetVersion() < 7 ? getIsTest().value_or(0) == 0 : mayTrain && operands[2]->ints.front() != 0;
  if (trains && !isAbsent(getRatio()) && !operands[1])
    return std::nullopt;
  double ratio = !trains ? 0 : isAbsent(getRatio()) ? defaultRatio : getElement(*operands[1], 0).asReal();
  std::optional<PlaceInWhole> place =
      placeInWhole(operands[0]->dims, operands.drop_front(numBeforeOffsets), getWhole());
  std::optional<uint64_t> seed = seedOfRun(seedOf(*this), getDraw(), operands[drawIndex]);
  if (!place || !seed)
    return std::nullopt;
  Tensor output = *operands[0], mask;
  if (!isAbsent(getMask()))
    mask = zeros(getMask().getType());
  int64_t at = 0;
  forEachIndex(output.dims, [&](llvm::ArrayRef<int64_t> index) {
    bool isKept = ratio == 0 || drawAt(*seed, place->positionOf(index)) >= ratio;
    if (ratio != 0)
      setElement(output, at, Number::of(isKept ? getElement(output, at).asReal() * scaleOf(ratio) : 0.0));
    if (mask.element)
      setElement(mask, at, mask.isFloat() ? Number::of(isKept ? 1.0 : 0.0) : Number::of(int64_t(isKept)));
    ++at;
  });
  return llvm::SmallVector<Tensor, 1>{std::move(output), std::move(mask)};
}

/// The backward pass reads which elements were kept; a model that does not ask for them keeps them all the same.
bool DropoutOp::differentiate(GradientBuilder &g) {
  if (!mayDrop(*this)) {
    g.give(0, g.incoming());
    return true;
  }
  if (isAbsent(getMask()))
    getMask().setType(mlir::RankedTensorType::get(dimsOf(getData()), elementOfMask(*this)));
  const std::optional<double> scale = knownScale(*this);
  if (scale && (getOpsetVersion() < 7 || constantOf(getTrainingMode()))) {
    mlir::Value kept = g.mul(g.incoming(), g.castTo(getMask(), g.incoming()));
    g.give(0, g.mul(kept, g.scalar(*scale, kept)));
  } else {
    g.give(0, g.sumTo(g.where(getMask(), g.mul(g.incoming(), runningScale(g, *this))), g.operand(0)));
  }
  return true;
}

} // namespace apc
