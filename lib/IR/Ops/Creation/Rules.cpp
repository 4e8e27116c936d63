// Shapes, rules and values of the operators that make elements.
#include "Creation.h"

#include "apc/IR/ElementTypes.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/RuleBuilder.h"

#include <cmath>

namespace apc {

FactorRule sourceRule(mlir::Operation *op) {
  RuleBuilder rule(op);
  llvm::SmallVector<DimFactors, 4> dims;
  for (int64_t size : dimsOf(op->getResult(0)))
    dims.push_back(rule.parallel(size));
  rule.setResult(0, dims);
  return rule.take(Work::Stream);
}

namespace {

/// The dense constant that Constant's attributes spell; null when none of them does.
mlir::DenseElementsAttr literalOf(LiteralOp op) {
  mlir::Builder builder(op.getContext());
  auto listOf = [](size_t size, mlir::Type element) {
    return mlir::RankedTensorType::get({static_cast<int64_t>(size)}, element);
  };
  if (auto ints = op.getValueInts())
    return mlir::DenseElementsAttr::get(listOf(ints->size(), builder.getI64Type()), *ints);
  if (auto floats = op.getValueFloats())
    return mlir::DenseElementsAttr::get(listOf(floats->size(), builder.getF32Type()), *floats);
  if (auto number = op.getValueIntAttr())
    return mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, builder.getI64Type()), mlir::Attribute(number));
  if (auto number = op.getValueFloatAttr())
    return mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, builder.getF32Type()), mlir::Attribute(number));
  return llvm::dyn_cast_if_present<mlir::DenseElementsAttr>(op.getValueAttr());
}

} // namespace

mlir::LogicalResult LiteralOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  unsigned given = getValue().has_value() + getValueInt().has_value() + getValueInts().has_value() +
                   getValueFloat().has_value() + getValueFloats().has_value();
  if (given != 1)
    return emitOpError("needs exactly one of value, value_int, value_ints, value_float, value_floats");
  mlir::ShapedType type = getValue() ? getValue()->getShapedType() : literalOf(*this).getType();
  return addType(*this, type.getShape(), type.getElementType(), types);
}

mlir::FailureOr<FactorRule> LiteralOp::getRule() { return RuleBuilder(*this).take(Work::Stream); }

Evaluated LiteralOp::evaluate(Operands operands) {
  mlir::DenseElementsAttr literal = literalOf(*this);
  return literal ? evaluatedAs(Tensor::read(literal)) : std::nullopt;
}

mlir::LogicalResult ConstantOfShapeOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto dims = requireInts(*this, 0);
  if (mlir::failed(dims))
    return mlir::failure();
  if (getValue() && getValue()->getNumElements() != 1)
    return emitOpError() << "value has " << getValue()->getNumElements() << " elements; one is needed";
  mlir::Type element = getValue() ? getValue()->getElementType() : mlir::Float32Type::get(getContext());
  return addType(*this, *dims, element, types);
}

mlir::FailureOr<FactorRule> ConstantOfShapeOp::getRule() { return sourceRule(*this); }

Evaluated ConstantOfShapeOp::evaluate(Operands operands) {
  mlir::RankedTensorType type = operands.front() ? evaluatedType(*this) : mlir::RankedTensorType();
  if (!type)
    return std::nullopt;
  Tensor result = zeros(type);
  if (!getValue())
    return evaluatedAs(std::move(result));
  auto value = llvm::dyn_cast<mlir::DenseElementsAttr>(*getValue());
  if (!value)
    return std::nullopt;
  Tensor fill = Tensor::read(value);
  if (fill.isFloat())
    llvm::fill(result.floats, fill.floats.front());
  else
    llvm::fill(result.ints, fill.ints.front());
  return evaluatedAs(std::move(result));
}

namespace {

/// start, limit and delta of Range as scalars of one type.
struct RangeBounds {
  std::array<Tensor, 3> bounds;

  bool isFloat() const { return bounds[0].isFloat(); }
  /// max(ceil((limit - start) / delta), 0), or -1 when that is no number below 2^62.
  int64_t count() const {
    if (isFloat()) {
      double exact = std::ceil((bounds[1].floats[0] - bounds[0].floats[0]) / bounds[2].floats[0]);
      return std::isnan(exact) || exact >= 0x1p62 ? -1 : static_cast<int64_t>(std::max(exact, 0.0));
    }
    __int128 distance = static_cast<__int128>(bounds[1].ints[0]) - bounds[0].ints[0], step = bounds[2].ints[0];
    if (step == 0)
      return -1;
    if (step < 0)
      distance = -distance, step = -step;
    __int128 exact = distance <= 0 ? 0 : (distance + step - 1) / step;
    return exact >= (static_cast<__int128>(1) << 62) ? -1 : static_cast<int64_t>(exact);
  }
};

mlir::FailureOr<RangeBounds> rangeBounds(RangeOp op) {
  RangeBounds range;
  for (unsigned i = 0; i < 3; ++i) {
    auto bound = requireConstant(op, i);
    if (mlir::failed(bound))
      return mlir::failure();
    if (bound->numElements() != 1 || bound->element != operandElement(op, 0))
      return op.emitOpError() << "operand '" << operandName(op, i) << "' is no scalar of the type of start",
             mlir::failure();
    range.bounds[i] = *bound;
  }
  return range;
}

} // namespace

mlir::LogicalResult RangeOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  if (getBound()) {
    for (mlir::Value operand : getOperands())
      if (shapeOf(operand)->numElements() != 1)
        return emitOpError() << "takes scalars, but one operand is " << printDims(dimsOf(operand));
    return addType(*this, {static_cast<int64_t>(*getBound())}, operandElement(*this, 0), types);
  }
  auto range = rangeBounds(*this);
  if (mlir::failed(range))
    return mlir::failure();
  if (range->count() < 0)
    return emitOpError("has no end: delta is 0 or not a number, or the range is too long");
  return addType(*this, {range->count()}, operandElement(*this, 0), types);
}

// The dims are whole: each element depends on its place in the whole.
mlir::FailureOr<FactorRule> RangeOp::getRule() { return RuleBuilder(*this).take(Work::Stream); }

Evaluated RangeOp::evaluate(Operands operands) {
  mlir::RankedTensorType type = evaluatedType(*this);
  if (llvm::is_contained(operands, nullptr) || !type || operands[0]->numElements() != 1 ||
      operands[2]->numElements() != 1)
    return std::nullopt;
  const Tensor &start = *operands[0], &delta = *operands[2];
  Tensor result;
  result.dims.assign(type.getShape().begin(), type.getShape().end());
  result.element = type.getElementType();
  for (int64_t i = 0; i < result.dims[0]; ++i) {
    if (result.isFloat())
      result.floats.push_back(start.floats[0] + static_cast<double>(i) * delta.floats[0]);
    else
      result.ints.push_back(start.ints[0] + i * delta.ints[0]);
  }
  return evaluatedAs(result);
}

mlir::LogicalResult EyeLikeOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  if (dims.size() != 2)
    return emitOpError() << "takes a matrix, but its input is " << printDims(dims);
  mlir::Type element = operandElement(*this, 0);
  if (getDtype()) {
    auto asked = requireElementType(*this, static_cast<int64_t>(*getDtype()), "dtype");
    if (mlir::failed(asked))
      return mlir::failure();
    element = *asked;
  }
  return addType(*this, dims, element, types);
}

mlir::FailureOr<FactorRule> EyeLikeOp::getRule() { return RuleBuilder(*this).take(Work::Stream); }

Evaluated EyeLikeOp::evaluate(Operands operands) {
  mlir::RankedTensorType type = evaluatedType(*this);
  if (!type)
    return std::nullopt;
  Tensor result;
  result.dims.assign(type.getShape().begin(), type.getShape().end());
  result.element = type.getElementType();
  forEachIndex(result.dims, [&](llvm::ArrayRef<int64_t> index) {
    bool isOne = index[1] - index[0] == static_cast<int64_t>(getK());
    if (result.isFloat())
      result.floats.push_back(isOne ? 1 : 0);
    else
      result.ints.push_back(isOne ? 1 : 0);
  });
  return evaluatedAs(result);
}

namespace {

/// The value of operand `index`, a single integer; errors at the op.
mlir::FailureOr<int64_t> requireInt(mlir::Operation *op, unsigned index) {
  auto ints = requireInts(op, index);
  if (mlir::failed(ints))
    return mlir::failure();
  if (ints->size() != 1)
    return op->emitOpError() << "operand '" << operandName(op, index) << "' must be one integer", mlir::failure();
  return ints->front();
}

mlir::LogicalResult inferWindow(mlir::Operation *op, int64_t type, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto size = requireInt(op, 0);
  auto element = requireElementType(op, type, "output_datatype");
  if (mlir::failed(size) || mlir::failed(element))
    return mlir::failure();
  return addType(op, {*size}, *element, types);
}

} // namespace

mlir::LogicalResult HannWindowOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  return inferWindow(*this, static_cast<int64_t>(getOutputDatatype()), types);
}

mlir::FailureOr<FactorRule> HannWindowOp::getRule() { return RuleBuilder(*this).take(Work::Stream); }

mlir::LogicalResult HammingWindowOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  return inferWindow(*this, static_cast<int64_t>(getOutputDatatype()), types);
}

mlir::FailureOr<FactorRule> HammingWindowOp::getRule() { return RuleBuilder(*this).take(Work::Stream); }

mlir::LogicalResult BlackmanWindowOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  return inferWindow(*this, static_cast<int64_t>(getOutputDatatype()), types);
}

mlir::FailureOr<FactorRule> BlackmanWindowOp::getRule() { return RuleBuilder(*this).take(Work::Stream); }

mlir::LogicalResult MelWeightMatrixOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto bins = requireInt(*this, 0), length = requireInt(*this, 1);
  auto element = requireElementType(*this, static_cast<int64_t>(getOutputDatatype()), "output_datatype");
  if (mlir::failed(bins) || mlir::failed(length) || mlir::failed(element))
    return mlir::failure();
  return addType(*this, {*length / 2 + 1, *bins}, *element, types);
}

mlir::FailureOr<FactorRule> MelWeightMatrixOp::getRule() { return RuleBuilder(*this).take(Work::Stream); }

} // namespace apc
