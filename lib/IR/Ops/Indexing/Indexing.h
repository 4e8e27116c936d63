// The Indexing family of operators, for the files that say in C++ what its definitions do not.
#pragma once

#include "apc/IR/Apc.h"

namespace apc {

/// Gather from a table that is cut along its axis becomes GatherShard.
void localizeGather(LocalOp &local);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Indexing/Indexing.h.inc"

namespace apc {

/// The dim of OneHot's result that it adds; errors at the op.
mlir::FailureOr<unsigned> oneHotDim(OneHotOp op);
} // namespace apc
