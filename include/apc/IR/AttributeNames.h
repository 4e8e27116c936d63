// The names of the discardable attributes that modules and programs carry.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace apc {

/// On an op: the ONNX names of its results, "" for absent ones.
inline constexpr llvm::StringLiteral valuesAttribute = "apc.values";
/// On an argument or a result of `main`: the ONNX name of the input or output.
inline constexpr llvm::StringLiteral nameAttribute = "apc.name";
/// On an argument of `main` that holds integers: the least that makes sense, 1 for the number of a step.
inline constexpr llvm::StringLiteral leastAttribute = "apc.least";
/// On an argument of `main` that holds the number of a draw of random numbers: another one for each micro-batch.
inline constexpr llvm::StringLiteral drawAttribute = "apc.draw";
/// On an argument or a result of `main` that has the batch: the dim that carries it, an i64.
inline constexpr llvm::StringLiteral batchDimAttribute = "apc.batch_dim";
/// On a parameter that holds a table of numbers and no weights: `apc.role = "constant"`. On an op that makes the
/// gradient of a parameter: "gradient".
inline constexpr llvm::StringLiteral roleAttribute = "apc.role";
/// On a parameter whose element type is not that of its data: the type of the data, to which the parameter is rounded.
inline constexpr llvm::StringLiteral storedAttribute = "apc.stored";
/// On an op of a model: the factors that are cut inside parts, `{n = array<i64: 4096, 1024, 1024>}`.
inline constexpr llvm::StringLiteral partsAttribute = "apc.parts";
/// On an op of a training step: the name of the op with which it is decided together, its gradients among them, and for
/// each factor of its rule the name of that op's factor that it is ("" for none), `["m", "n", ""]`.
inline constexpr llvm::StringLiteral tieAttribute = "apc.tie";
inline constexpr llvm::StringLiteral factorsAttribute = "apc.factors";
/// On an op that takes statistics, the sums of rows: the first op that reads them goes over the same rows, and one
/// kernel does both in one pass where no device shares a row with another. Both are decided together.
inline constexpr llvm::StringLiteral passAttribute = "apc.pass";
/// On a module: it is settled which of its normalisations and softmaxes are taken apart.
inline constexpr llvm::StringLiteral rowsAttribute = "apc.rows";
/// On a result of `main`: the parameter or state whose place it takes after the step.
inline constexpr llvm::StringLiteral replacesAttribute = "apc.replaces";
/// The `source` of a parameter that is a state of the optimizer: one that begins at zero, and one ("W.master") that
/// begins as a copy of the parameter "W" in its own precision.
inline constexpr llvm::StringLiteral zerosSource = "zeros";
inline constexpr llvm::StringLiteral masterSource = "master";
inline constexpr llvm::StringLiteral masterSuffix = ".master";
inline bool isOptimizerState(llvm::StringRef source) { return source == zerosSource || source == masterSource; }

/// On a program: its mesh, `#apc.mesh<[data=8 | model=4]>`.
inline constexpr llvm::StringLiteral meshAttribute = "apc.mesh";
/// On an op of a program: the name of the planned op that it stands for, and that op's strategy.
inline constexpr llvm::StringLiteral opAttribute = "apc.op";
inline constexpr llvm::StringLiteral strategyAttribute = "apc.strategy";
/// On arguments, results and parameters of a program: sharding, and the shape of the whole tensor.
inline constexpr llvm::StringLiteral shardingAttribute = "apc.sharding";
inline constexpr llvm::StringLiteral shapeAttribute = "apc.shape";

} // namespace apc
