// Collectives and rank-dependent ops as ops of upstream's dialects.
#pragma once

#include "apc/IR/Ops/Spmd/Spmd.h"

#include "mlir/IR/Builders.h"

#include <map>

namespace apc {

/// The symbol of the grid: the mesh, axis i of one is axis i of the other.
inline constexpr llvm::StringLiteral gridName = "grid";

/// Creates `shard`, `tensor` and `arith` ops at the builder's place.
///
/// Uneven dims: shard's collectives cut evenly, so a dim is padded with zeros before it is cut and trimmed after it is
/// joined. 10 over (2 3) is 5 and 2 a piece: [10] -> [2, 5] -> [2, 6] -> [12], and back.
class ShardCollectives {
public:
  ShardCollectives(mlir::OpBuilder &builder, const Mesh &mesh) : builder(builder), mesh(mesh) {}

  /// The results of `op` (a collective, or an op that depends on the rank) for these operands; none when the error
  /// stands at `op`. A collective of several values becomes as many ops.
  llvm::SmallVector<mlir::Value, 1> convert(mlir::Operation *op, mlir::ValueRange operands);
  /// A constant that all dialects agree on: unsigned integers are bitcast.
  mlir::Value constant(mlir::Location loc, mlir::DenseElementsAttr value);

private:
  mlir::Value convertValue(mlir::Location loc, const CoalescedCollective &collective,
                           const CoalescedCollective::Value &value, mlir::Value input, mlir::RankedTensorType result);
  /// An AllReduce or ReduceScatter of logarithms of sums, as one of the greatest and one of the sum.
  mlir::Value combineLogSums(mlir::Location loc, const CoalescedCollective &collective,
                             const CoalescedCollective::Value &value, mlir::Value input, mlir::RankedTensorType result);
  /// A dim before axes of sizes `ways` cut it further: padded, with its parts in the order of the devices.
  mlir::Value beforeCut(const CoalescedCollective::Value &value, mlir::Value input, unsigned dim,
                        llvm::ArrayRef<int64_t> ways);
  /// A dim whose pieces have been joined: trimmed, with its parts whole.
  mlir::Value afterJoin(const CoalescedCollective::Value &value, mlir::Value input, unsigned dim,
                        llvm::ArrayRef<int64_t> ways);
  mlir::Value permute(mlir::Location loc, const AxisList &group, const CoalescedCollective::Value &value,
                      mlir::Value input);
  mlir::Value mask(MaskPaddingOp op, mlir::Value input);
  mlir::Value keep(KeepOnFirstOp op, mlir::Value input);
  mlir::Value offset(ShardOffsetOp op);

  /// Cuts of a dim of `size` by axes of sizes `ways`, one after the other.
  mlir::Value padDim(mlir::Value input, unsigned dim, llvm::ArrayRef<int64_t> ways);
  mlir::Value trimDim(mlir::Value input, unsigned dim, llvm::ArrayRef<int64_t> ways, int64_t size);
  /// `count` elements of a dim.
  mlir::Value sliceDim(mlir::Value input, unsigned dim, int64_t begin, int64_t count);
  /// A dim of parts, each whole, in the order of the devices: what the first of `ways` gets of each part comes first.
  mlir::Value interleaveParts(mlir::Value input, unsigned dim, llvm::ArrayRef<int64_t> ways,
                              llvm::ArrayRef<int64_t> parts);
  /// The way back: parts of these sizes, from the pieces of all devices one behind the other.
  mlir::Value separateParts(mlir::Value input, unsigned dim, llvm::ArrayRef<int64_t> ways,
                            llvm::ArrayRef<int64_t> parts);
  mlir::Value resizeDim(mlir::Value input, unsigned dim, int64_t size);
  /// [.., a * b, ..] -> [.., a, b, ..] and back.
  mlir::Value splitDim(mlir::Value input, unsigned dim, int64_t outer);
  mlir::Value joinDim(mlir::Value input, unsigned dim);

  /// This process's coordinates along `axes`, of type index.
  llvm::SmallVector<mlir::Value> coordinates(mlir::Location loc, llvm::ArrayRef<AxisId> axes);
  /// First element and number of elements of a dim of `size` cut over `axes`, as `dimSlice` has them.
  std::pair<mlir::Value, mlir::Value> slice(mlir::Location loc, int64_t size, llvm::ArrayRef<AxisId> axes);
  mlir::Value index(mlir::Location loc, int64_t value);
  mlir::Value filled(mlir::Location loc, mlir::RankedTensorType type, mlir::Attribute element);
  mlir::Value zeros(mlir::Location loc, mlir::RankedTensorType type);
  mlir::DenseI16ArrayAttr gridAxes(llvm::ArrayRef<AxisId> axes);
  llvm::SmallVector<int64_t> sizes(llvm::ArrayRef<AxisId> axes) const;

  mlir::OpBuilder &builder;
  const Mesh &mesh;
};

} // namespace apc
