// Small constants on the host: read from attributes, computed with, written back.
#include "apc/IR/Apc.h"

#include "llvm/ADT/APFloat.h"

namespace apc {

int64_t ConstantTensor::numElements() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

ConstantTensor ConstantTensor::read(mlir::DenseElementsAttr attribute) {
  ConstantTensor tensor;
  auto type = attribute.getType();
  tensor.dims.assign(type.getShape().begin(), type.getShape().end());
  tensor.element = type.getElementType();
  if (tensor.isFloat()) {
    for (llvm::APFloat value : attribute.getValues<llvm::APFloat>()) {
      bool losesInfo = false;
      value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      tensor.floats.push_back(value.convertToDouble());
    }
    return tensor;
  }
  bool isSigned = !tensor.element.isUnsignedInteger() && !tensor.element.isInteger(1);
  for (const llvm::APInt &value : attribute.getValues<llvm::APInt>())
    tensor.ints.push_back(isSigned ? value.getSExtValue() : static_cast<int64_t>(value.getZExtValue()));
  return tensor;
}

mlir::DenseElementsAttr ConstantTensor::toAttribute() const {
  auto type = mlir::RankedTensorType::get(dims, element);
  if (isFloat()) {
    const llvm::fltSemantics &semantics = llvm::cast<mlir::FloatType>(element).getFloatSemantics();
    std::vector<llvm::APFloat> values;
    values.reserve(floats.size());
    for (double number : floats) {
      llvm::APFloat value(number);
      bool losesInfo = false;
      value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      values.push_back(value);
    }
    return mlir::DenseElementsAttr::get(type, values);
  }
  std::vector<llvm::APInt> values;
  values.reserve(ints.size());
  for (int64_t number : ints)
    values.emplace_back(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(number), /*isSigned=*/true,
                        /*implicitTrunc=*/true);
  return mlir::DenseElementsAttr::get(type, values);
}

mlir::DenseElementsAttr constantOf(mlir::Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValueAttr()) : mlir::DenseElementsAttr();
}

std::optional<llvm::SmallVector<int64_t, 6>> constantInts(mlir::Value value) {
  mlir::DenseElementsAttr attribute = constantOf(value);
  if (!attribute || !attribute.getElementType().isIntOrIndex())
    return std::nullopt;
  ConstantTensor tensor = ConstantTensor::read(attribute);
  return llvm::SmallVector<int64_t, 6>(tensor.ints.begin(), tensor.ints.end());
}

mlir::FailureOr<llvm::SmallVector<int64_t, 6>> requireInts(mlir::Operation *op, unsigned operand) {
  if (auto ints = constantInts(op->getOperand(operand)))
    return *ints;
  return op->emitOpError() << "operand '" << operandName(op, operand)
                           << "' decides a shape, so it must follow from constants and input shapes",
         mlir::failure();
}

} // namespace apc
