// The names of the discardable attributes that modules and programs carry.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace apc {

/// On an op: the ONNX names of its results, "" for absent ones.
inline constexpr llvm::StringLiteral valuesAttribute = "apc.values";
/// On an argument or a result of `main`: the ONNX name of the input or output.
inline constexpr llvm::StringLiteral nameAttribute = "apc.name";
/// On a parameter that holds a table of numbers and no weights: `apc.role = "constant"`.
inline constexpr llvm::StringLiteral roleAttribute = "apc.role";
/// On an op of a model: the factors that are cut inside parts, `{n = array<i64: 4096, 1024, 1024>}`.
inline constexpr llvm::StringLiteral partsAttribute = "apc.parts";

/// On a program: its mesh, `#apc.mesh<[data=8 | model=4]>`.
inline constexpr llvm::StringLiteral meshAttribute = "apc.mesh";
/// On an op of a program: the name of the planned op that it stands for, and that op's strategy.
inline constexpr llvm::StringLiteral opAttribute = "apc.op";
inline constexpr llvm::StringLiteral strategyAttribute = "apc.strategy";
/// On arguments, results and parameters of a program: sharding, and the shape of the whole tensor.
inline constexpr llvm::StringLiteral shardingAttribute = "apc.sharding";
inline constexpr llvm::StringLiteral shapeAttribute = "apc.shape";

} // namespace apc
