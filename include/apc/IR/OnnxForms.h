// Operators that ONNX has not, as operators that it has, or that a runtime adds to it.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

#include "llvm/Support/Error.h"

#include <optional>

namespace apc {

/// The version of ONNX's operators that forms are written for.
inline constexpr int64_t onnxFormOpset = 24;

/// The results of `op` on one device, made by ops at the insertion point of `builder` that are nearer to operators of
/// ONNX: `relu_grad` becomes `where`, `greater` and a constant. None where the op is an operator of ONNX as it stands.
/// Forms are declared beside the operators (lib/IR/Ops/<Family>/OnnxForms.cpp). Errors (input): the op has no form,
/// or not with its attributes, and why.
llvm::Expected<std::optional<llvm::SmallVector<mlir::Value, 1>>> createOnnxForm(mlir::OpBuilder &builder,
                                                                                mlir::Operation *op);

/// On an `apc.opaque` op that stands for a node of a target's own operator: the attributes of the node. On one that
/// stands for a collective besides: the axes of the group.
inline constexpr llvm::StringLiteral nodeAttributes = "apc.node";
inline constexpr llvm::StringLiteral groupAxes = "apc.group";

/// The results of a collective by nodes of TensorRT's DistCollective, which acts on the first dim and knows no padding
/// (https://docs.nvidia.com/deeplearning/tensorrt, operator DistCollective, from 11.0 on), and ops around them that
/// ONNX has, or `shard_offset`. A permute, which it has not, gathers the pieces of its group.
llvm::SmallVector<mlir::Value, 1> createDistCollectives(mlir::OpBuilder &builder, mlir::Operation *op);

} // namespace apc
