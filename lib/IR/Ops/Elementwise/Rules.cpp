// Elementwise operators: rules that depend on attributes, types of Cast, Clip on constants.
#include "apc/IR/Ops/Elementwise/Elementwise.h"

#include "Scalars.h"

#include "apc/IR/ElementTypes.h"
#include "apc/IR/RuleBuilder.h"

#include "mlir/IR/TypeUtilities.h"

namespace apc {

namespace {

/// Named dims "a0 a1 a2", from `first` on.
std::string namedDims(size_t first, size_t count) {
  std::string text;
  for (size_t i = first; i < first + count; ++i)
    text += " a" + std::to_string(i);
  return text;
}

} // namespace

std::string binaryRule(mlir::Operation *op) {
  auto axisAttr = op->getAttrOfType<mlir::IntegerAttr>("axis");
  llvm::ArrayRef<int64_t> a = dimsOf(op->getOperand(0)), b = dimsOf(op->getOperand(1));
  if (!axisAttr || b.empty() || b.size() > a.size())
    return "..., ... -> ...";
  int64_t axis = axisAttr.getInt(), last = static_cast<int64_t>(a.size() - b.size());
  // Without a fitting axis (the default of opset 1) dims are aligned at the end as in NumPy.
  if (axis < 0 || axis > last)
    return "..., ... -> ...";
  std::string dimsB;
  for (size_t i = 0; i < b.size(); ++i)
    dimsB += b[i] == 1 && a[axis + i] != 1 ? " 1" : namedDims(axis + i, 1);
  return namedDims(0, a.size()) + "," + dimsB + " ->" + namedDims(0, a.size());
}

std::string preluRule(mlir::Operation *op, int64_t opset) {
  llvm::ArrayRef<int64_t> x = dimsOf(op->getOperand(0)), slope = dimsOf(op->getOperand(1));
  if (opset >= 7 || slope.size() != 1 || slope[0] == 1 || x.size() < 2)
    return "..., ... -> ...";
  return namedDims(0, x.size()) + ", a1 ->" + namedDims(0, x.size());
}

LinearGroups allOperands(mlir::Operation *op) {
  LinearGroups groups(1);
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    groups[0].push_back(i);
  return groups;
}

mlir::Type accumulatedElement(mlir::Operation *op) {
  mlir::Type element = operandElement(op, 0);
  return element.isF64() ? element : mlir::Float32Type::get(op->getContext());
}

LinearGroups linearOverFloats(mlir::Operation *op) {
  auto isWide = [](mlir::Type type) {
    auto element = llvm::dyn_cast<mlir::FloatType>(mlir::getElementTypeOrSelf(type));
    return element && element.getWidth() >= 16;
  };
  if (isWide(op->getOperand(0).getType()) && isWide(op->getResult(0).getType()))
    return {{0}};
  return {};
}

mlir::LogicalResult requireScalars(mlir::Operation *op, unsigned count) {
  for (auto [index, value] : llvm::enumerate(op->getOperands().take_front(count)))
    if (index > 0 && !isAbsent(value) && checkedProduct(dimsOf(value)) != 1)
      return op->emitOpError() << "operand '" << operandName(op, static_cast<unsigned>(index)) << "' has shape "
                               << printDims(dimsOf(value)) << "; a scalar is needed";
  return mlir::success();
}

mlir::FailureOr<std::string> clipRule(mlir::Operation *op) {
  if (mlir::failed(requireScalars(op)))
    return mlir::failure();
  return std::string("..., _, _ -> ...");
}

mlir::LogicalResult CastOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto element = requireElementType(*this, getTo(), "to");
  if (mlir::failed(element))
    return mlir::failure();
  return inferTypesFromRule(*this, "... -> ...", *element, types);
}

Evaluated ClipOp::evaluate(Operands operands) {
  // An absent bound bounds nothing; a present one must be constant.
  std::optional<Number> bounds[2];
  mlir::Value values[2] = {getMin(), getMax()};
  for (unsigned i = 0; i < 2; ++i) {
    if (isAbsent(values[i]))
      continue;
    const Tensor *bound = operands[i + 1];
    if (!bound || bound->numElements() != 1)
      return std::nullopt;
    bounds[i] = getElement(*bound, 0);
  }
  auto below = [](Number a, Number b) { return a.isFloat ? a.real < b.asReal() : a.integer < b.integer; };
  return evaluatePoints(*this, operands.take_front(), [&](llvm::ArrayRef<Number> numbers) {
    Number value = numbers[0];
    if (bounds[0] && below(value, *bounds[0]))
      value = *bounds[0];
    if (bounds[1] && below(*bounds[1], value))
      value = *bounds[1];
    return std::optional(value);
  });
}

} // namespace apc
