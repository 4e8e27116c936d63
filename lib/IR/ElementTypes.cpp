// Element types by ONNX's numbers.
#include "apc/IR/ElementTypes.h"

#include "mlir/IR/Builders.h"

namespace apc {

namespace {

struct IntegerNumber {
  int64_t number;
  unsigned width;
  bool isSigned;
};
constexpr IntegerNumber integers[] = {{2, 8, false}, {3, 8, true},   {4, 16, false},  {5, 16, true},   {6, 32, true},
                                      {7, 64, true}, {9, 1, true},   {12, 32, false}, {13, 64, false}, {21, 4, false},
                                      {22, 4, true}, {25, 2, false}, {26, 2, true}};

template <typename Float>
mlir::Type makeFloat(mlir::MLIRContext *context) {
  return Float::get(context);
}

struct FloatNumber {
  int64_t number;
  mlir::Type (*make)(mlir::MLIRContext *);
};
constexpr FloatNumber floats[] = {{1, makeFloat<mlir::Float32Type>},       {10, makeFloat<mlir::Float16Type>},
                                  {11, makeFloat<mlir::Float64Type>},      {16, makeFloat<mlir::BFloat16Type>},
                                  {17, makeFloat<mlir::Float8E4M3FNType>}, {18, makeFloat<mlir::Float8E4M3FNUZType>},
                                  {19, makeFloat<mlir::Float8E5M2Type>},   {20, makeFloat<mlir::Float8E5M2FNUZType>},
                                  {23, makeFloat<mlir::Float4E2M1FNType>}, {24, makeFloat<mlir::Float8E8M0FNUType>}};

} // namespace

mlir::Type elementType(mlir::MLIRContext *context, int64_t dataType) {
  using Signedness = mlir::IntegerType::SignednessSemantics;
  for (const IntegerNumber &integer : integers)
    if (integer.number == dataType)
      return mlir::IntegerType::get(context, integer.width,
                                    integer.isSigned ? Signedness::Signless : Signedness::Unsigned);
  for (const FloatNumber &number : floats)
    if (number.number == dataType)
      return number.make(context);
  return {};
}

int64_t dataType(mlir::Type element) {
  for (int64_t number = 1; number <= 26; ++number)
    if (element && elementType(element.getContext(), number) == element)
      return number;
  return 0;
}

mlir::FailureOr<mlir::Type> requireElementType(mlir::Operation *op, int64_t dataType, llvm::StringRef attribute) {
  if (mlir::Type type = elementType(op->getContext(), dataType))
    return type;
  return op->emitOpError() << "attribute '" << attribute << "' is " << dataType
                           << ", which is not a numeric element type; accepted are ONNX's 1-7, 9-13 and 16-26",
         mlir::failure();
}

} // namespace apc
