// The number formats that hardware figures and operators distinguish.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace apc {

/// F8 and F4 stand for all floats of 8 and 4 bits; `Other` for bools, indices and wide integers.
enum class NumberFormat : uint8_t { F64, F32, TF32, BF16, F16, F8, F4, I8, I4, Other };

llvm::ArrayRef<llvm::StringLiteral> enumNames(NumberFormat); ///< "f64", "f32", "tf32", "bf16", ..., "other"
llvm::StringRef numberFormatName(NumberFormat format);
bool isNarrow(NumberFormat format); ///< 8 bits or fewer: "f8", "f4", "i8", "i4"

} // namespace apc
