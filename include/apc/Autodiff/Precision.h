// Precision: the element types that a training step computes in.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace apc {

/// `Model` keeps the element types of the file.
enum class Precision : uint8_t { Model, Fp32, Bf16, Fp16 };

llvm::StringRef precisionName(Precision precision);            ///< "model", "fp32", "bf16", "fp16"
std::optional<Precision> parsePrecision(llvm::StringRef name); ///< empty for unknown names
llvm::ArrayRef<llvm::StringLiteral> precisionNames();          ///< in the order of the enumeration

/// Changes the element types of `main`, whose only result is a loss, to what `precision` says. With bf16:
///
///   W f32, x f32, t f32                      W bf16, x f32, t f32
///   y = matmul(x, W) : f32             ->    y = matmul(cast x, W) : bf16
///   d = sub(y, t)    : f32                   d = sub(cast y, t) : f32
///   loss = sum(d)    : f32                   loss = sum(d) : f32
///
/// - Parameters that hold weights are of the new type, with attribute `apc.stored` where the file has another.
/// - Floats that are made from weights follow, those behind the last weight and the last contraction on the way to the
///   loss aside: these are in f32, and so is the loss.
/// - All else (inputs, masks, tables of positions, statistics) stays as it is and is cast where it meets the former, if
///   the operator asks for equal types. Finite constants stay finite.
/// - A cast that widens in the model keeps its result in f32.
void setPrecision(mlir::func::FuncOp main, Precision precision);

} // namespace apc
