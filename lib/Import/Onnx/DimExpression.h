// Symbolic dims as exporters write them: "batch", "past_seq_len + seq_len", "(s0 - 1)//2", "floor(h/2)", "Max(1, s77)".
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace apc::onnx {

/// The value of an identifier, or empty when it is not bound.
using SymbolValue = llvm::function_ref<std::optional<double>(llvm::StringRef)>;

/// The names in an expression, in order, each once; empty optional when the text is no expression (it is then a plain
/// name, such as "batch size"). Operators: + - * / // % and parentheses; functions: floor, ceil, ceiling, round, max,
/// min, Mod in any case.
std::optional<llvm::SmallVector<std::string, 2>> symbolsOf(llvm::StringRef text);

/// The value of an expression, or empty when it does not parse, a name is not bound, a division is by zero, or the
/// result is not a whole number between 0 and 2^53. `evaluateDim("(s0 - 1)//2", s0=224)` is 111.
std::optional<int64_t> evaluateDim(llvm::StringRef text, SymbolValue value);

} // namespace apc::onnx
