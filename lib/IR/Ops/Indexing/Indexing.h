// The Indexing family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "apc/IR/Apc.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Indexing/Indexing.h.inc"

namespace apc {

/// The dim of OneHot's result that it adds; errors at the op.
mlir::FailureOr<unsigned> oneHotDim(OneHotOp op);

} // namespace apc
