// The Spmd family: the steps and rank-dependent ops of the program of one device.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/Sharding/Redistribution.h"

#include "mlir/IR/BuiltinOps.h"

namespace apc {

/// The mesh of the module that `op` is in; an error at `op` when it has none.
mlir::FailureOr<Mesh> meshOf(mlir::Operation *op);
/// The same from the module.
mlir::FailureOr<Mesh> meshOf(mlir::ModuleOp module);

/// A step op read back.
struct ProgramStep {
  StepKind kind = StepKind::Slice;
  AxisList axes;
  Sharding from, to;
  TensorShape shape; ///< of the whole tensor
};
/// Reads the attributes of a step op; errors at the op.
mlir::FailureOr<ProgramStep> readStep(mlir::Operation *op, const Mesh &mesh);
/// Axes by name; an error at `op` that lists the mesh's axes.
mlir::FailureOr<AxisList> readAxes(mlir::Operation *op, mlir::ArrayAttr names, const Mesh &mesh);

/// The step is one that takes `from` to `to`, and the types are those of the pieces.
mlir::LogicalResult verifyStep(mlir::Operation *op, StepKind kind);

/// Creates the op of a step. `from` is the sharding before it.
mlir::Value createStep(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input, const Step &step,
                       const Sharding &from, const TensorShape &shape, const Mesh &mesh);

/// The neutral element of a combiner as an attribute of the element type: what padding must be so that it changes
/// nothing. Sum of f32: 0.0; max of i8: -128.
mlir::TypedAttr neutralAttribute(Combiner combiner, mlir::Type element);

/// What `op`, one that depends on the rank (a slice of the piece, an offset, a mask, an addend kept on one device), is
/// on `rank` alone, in ops that do not: constants, slices and pads before `op`, or its operand itself. A failure whose
/// error stands at the op when it is none of those or names axes that are not in the mesh.
mlir::FailureOr<mlir::Value> resolveOnRank(mlir::OpBuilder &builder, mlir::Operation *op, const Mesh &mesh,
                                           int64_t rank);
/// True for ops that `resolveOnRank` takes.
bool isResolvedByRank(mlir::Operation *op);

} // namespace apc

#include "apc/IR/Ops/Spmd/SpmdInterfaces.h.inc"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Spmd/Spmd.h.inc"
