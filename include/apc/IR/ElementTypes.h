// Element types by ONNX's numbers (TensorProto.DataType), which attributes such as Cast's `to` use.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace apc {

/// 1 -> f32, 2 -> ui8, 3 -> i8, 7 -> i64, 9 -> i1, 10 -> f16, 16 -> bf16, 17 -> f8E4M3FN, 21 -> ui4, ...; null for
/// numbers that are not numeric tensors (0, string 8, complex 14 and 15) or not known. Signed integers are signless
/// here.
mlir::Type elementType(mlir::MLIRContext *context, int64_t dataType);
/// The inverse; 0 when there is none.
int64_t dataType(mlir::Type element);
/// The element type that an attribute of `op` asks for; an error at `op` that names attribute and value otherwise.
mlir::FailureOr<mlir::Type> requireElementType(mlir::Operation *op, int64_t dataType, llvm::StringRef attribute);

} // namespace apc
