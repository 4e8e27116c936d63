// The number formats that hardware figures and operators distinguish.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace apc {

/// F8 and F4 stand for all floats of 8 and 4 bits; `Other` for bools, indices and wide integers.
enum class NumberFormat : uint8_t { F64, F32, TF32, BF16, F16, F8, F4, I8, I4, Other };

llvm::StringRef numberFormatName(NumberFormat format); ///< "f64", "f32", "tf32", "bf16", ...
/// The format of that name; empty for unknown names.
std::optional<NumberFormat> parseNumberFormat(llvm::StringRef name);

} // namespace apc
