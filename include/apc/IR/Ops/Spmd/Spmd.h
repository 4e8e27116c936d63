// The Spmd family: the collectives and rank-dependent ops of the program of one device, and the ends of transfers and
// parts in the program of one stage.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/ShardingAttrs.h"

#include "mlir/IR/BuiltinOps.h"

#include "apc/IR/Ops/Spmd/SpmdInterfaces.h.inc"

namespace apc {

/// The mesh of the module that `op` is in, or is; an error at `op` when there is none.
mlir::FailureOr<MeshAttr> meshOf(mlir::Operation *op);

/// The collective is for the mesh of the module, of the kind of `op`, and the types are those of the pieces.
mlir::LogicalResult verifyCollective(CollectiveInterface op);

/// Creates the op of a collective.
CollectiveInterface createCollective(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                                     CollectiveAttr collective);

/// The neutral element of a combiner as an attribute of the element type: what padding must be so that it changes
/// nothing. Sum of f32: 0.0; max of i8: -128.
mlir::TypedAttr neutralAttribute(Combiner combiner, mlir::Type element);

/// The results of `op`, an op that depends on the rank (a slice of pieces, an offset, a mask, an addend kept on one
/// device), on `rank` alone, made by ops that do not: constants, slices and pads before `op`, or its operands
/// themselves. A failure whose error stands at the op when it depends on other ranks.
mlir::FailureOr<llvm::SmallVector<mlir::Value, 1>> resolveOnRank(mlir::OpBuilder &builder, mlir::Operation *op,
                                                                 const Mesh &mesh, int64_t rank);
/// True for ops that `resolveOnRank` takes.
bool isResolvedByRank(mlir::Operation *op);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Spmd/Spmd.h.inc"

namespace apc {

/// The op ends a part of the work for one micro-batch: no op is moved over it.
inline bool isPartEnd(mlir::Operation *op) { return llvm::isa<PartEndOp, MicroBatchEndOp>(op); }

} // namespace apc
