// Labels by tables of numbers that stand in attributes.
#include "LabelTable.h"

#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/RuleBuilder.h"

#include <cmath>
#include <map>

namespace apc {

namespace {

/// The attribute among `floats`, `int64s` and `tensor` of `prefix` that is there; an error at the op unless there is
/// one.
mlir::FailureOr<Tensor> readTable(LabelEncoderOp op, llvm::StringRef prefix) {
  auto named = [&](llvm::StringRef kind) { return op->getAttr((prefix + "_" + kind).str()); };
  if (named("strings"))
    return op.emitOpError() << "attribute '" << prefix << "_strings' holds strings; numbers in '" << prefix
                            << "_int64s', '" << prefix << "_floats' or '" << prefix << "_tensor' are accepted",
           mlir::failure();
  if (auto reals = llvm::dyn_cast_if_present<mlir::DenseF32ArrayAttr>(named("floats")))
    return Tensor{{reals.size()},
                  mlir::Float32Type::get(op.getContext()),
                  {},
                  {reals.asArrayRef().begin(), reals.asArrayRef().end()}};
  if (auto ints = llvm::dyn_cast_if_present<mlir::DenseI64ArrayAttr>(named("int64s")))
    return Tensor{{ints.size()}, mlir::IntegerType::get(op.getContext(), 64), ints.asArrayRef().vec(), {}};
  if (auto tensor = llvm::dyn_cast_if_present<mlir::DenseElementsAttr>(named("tensor")))
    return Tensor::read(tensor);
  return op.emitOpError() << "has none of the attributes '" << prefix << "_int64s', '" << prefix << "_floats' and '"
                          << prefix << "_tensor'; one is needed",
         mlir::failure();
}

} // namespace

mlir::FailureOr<LabelTable> readLabelTable(LabelEncoderOp op) {
  auto keys = readTable(op, "keys"), values = mlir::failed(keys) ? keys : readTable(op, "values");
  if (mlir::failed(values))
    return mlir::failure();
  if (keys->numElements() != values->numElements())
    return op.emitOpError() << "has " << keys->numElements() << " keys and " << values->numElements()
                            << " values; as many are needed",
           mlir::failure();
  if (keys->isFloat() != llvm::isa<mlir::FloatType>(operandElement(op, 0)))
    return op.emitOpError() << "operand 'X' holds " << operandElement(op, 0) << " and the keys are " << keys->element
                            << "; keys of its kind are needed",
           mlir::failure();
  Number otherwise = values->isFloat() ? Number::of(op.getDefaultFloat().convertToDouble())
                                       : Number::of(static_cast<int64_t>(op.getDefaultInt64()));
  if (auto tensor = llvm::dyn_cast_if_present<mlir::DenseElementsAttr>(op.getDefaultTensorAttr())) {
    if (tensor.getNumElements() != 1)
      return op.emitOpError() << "attribute 'default_tensor' has " << tensor.getNumElements()
                              << " elements; one is needed",
             mlir::failure();
    otherwise = getElement(Tensor::read(tensor), 0);
  }
  return LabelTable{std::move(*keys), std::move(*values), otherwise};
}

namespace {

/// Numbers in order, NaN behind all others and equal to itself.
struct InOrder {
  bool operator()(Number a, Number b) const {
    if (!a.isFloat || !b.isFloat)
      return a.integer < b.integer;
    return std::isnan(b.real) ? !std::isnan(a.real) : a.real < b.real;
  }
};

} // namespace

mlir::LogicalResult LabelEncoderOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto table = readLabelTable(*this);
  if (mlir::failed(table))
    return mlir::failure();
  return addType(*this, dimsOf(getX()), table->values.element, types);
}

Evaluated LabelEncoderOp::evaluate(Operands operands) {
  auto table = readLabelTable(*this);
  if (!operands[0] || mlir::failed(table))
    return std::nullopt;
  std::map<Number, int64_t, InOrder> places;
  for (int64_t i = 0; i < table->keys.numElements(); ++i)
    places.try_emplace(getElement(table->keys, i), i);
  Tensor result = zeros(getY().getType());
  for (int64_t i = 0; i < result.numElements(); ++i) {
    auto place = places.find(getElement(*operands[0], i));
    setElement(result, i, place == places.end() ? table->otherwise : getElement(table->values, place->second));
  }
  return evaluatedAs(std::move(result));
}

} // namespace apc
