// Graph inputs whose numbers the user gives.
#pragma once

#include "../Onnx/Dims.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace apc::onnx {

/// The constant that \p input becomes: \p numbers row by row, in the dims that the file declares. Of dims that are not
/// bound, one follows from how many numbers there are. `source` names the file in messages.
///
///   input ["n"] of i64, numbers 3 -1  ->  tensor<2xi64>
///
/// Errors (input): as many numbers as the dims need are not there, a number that is none of the element type.
llvm::Expected<mlir::DenseElementsAttr> constantInput(const ValueInfoProto &input, mlir::Type element,
                                                      llvm::ArrayRef<double> numbers, DimBinder &binder,
                                                      llvm::StringRef source);

} // namespace apc::onnx
