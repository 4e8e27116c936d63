// Parameters that an exporter stored several times, made one.
#pragma once

#include "apc/Autodiff/TrainingStep.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace apc {

/// Users of tied parameters read one of them, or its transpose. Returned is which, as `first`, for each of the others.
///
///   a=b, b=c^T    a for b; a transposed for c
///
/// Errors (input): parameters that are not there or of other shapes, one tied to itself, and ties that together make
/// one its own transpose.
llvm::Expected<std::vector<TiedParameters>> tieParameters(mlir::func::FuncOp main, llvm::ArrayRef<TiedParameters> ties);

} // namespace apc
