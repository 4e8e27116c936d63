// Element types by ONNX's numbers.
#include "apc/IR/ElementTypes.h"

#include "mlir/IR/Builders.h"

namespace apc {

mlir::Type elementType(mlir::MLIRContext *context, int64_t dataType) {
  mlir::Builder builder(context);
  auto integer = [&](unsigned width) { return builder.getIntegerType(width); };
  auto unsignedInteger = [&](unsigned width) { return builder.getIntegerType(width, /*isSigned=*/false); };
  switch (dataType) {
  case 1:
    return builder.getF32Type();
  case 2:
    return unsignedInteger(8);
  case 3:
    return integer(8);
  case 4:
    return unsignedInteger(16);
  case 5:
    return integer(16);
  case 6:
    return integer(32);
  case 7:
    return integer(64);
  case 9:
    return integer(1);
  case 10:
    return builder.getF16Type();
  case 11:
    return builder.getF64Type();
  case 12:
    return unsignedInteger(32);
  case 13:
    return unsignedInteger(64);
  case 16:
    return builder.getBF16Type();
  case 17:
    return mlir::Float8E4M3FNType::get(context);
  case 18:
    return mlir::Float8E4M3FNUZType::get(context);
  case 19:
    return mlir::Float8E5M2Type::get(context);
  case 20:
    return mlir::Float8E5M2FNUZType::get(context);
  case 21:
    return unsignedInteger(4);
  case 22:
    return integer(4);
  case 23:
    return mlir::Float4E2M1FNType::get(context);
  case 24:
    return mlir::Float8E8M0FNUType::get(context);
  case 25:
    return unsignedInteger(2);
  case 26:
    return integer(2);
  default:
    return {};
  }
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
