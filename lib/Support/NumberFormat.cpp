// Names of number formats.
#include "apc/Support/NumberFormat.h"

namespace apc {

llvm::ArrayRef<llvm::StringLiteral> enumNames(NumberFormat) {
  static constexpr llvm::StringLiteral names[] = {"f64", "f32", "tf32", "bf16", "f16", "f8", "f4", "i8", "i4", "other"};
  return names;
}

llvm::StringRef numberFormatName(NumberFormat format) { return enumNames(format)[static_cast<size_t>(format)]; }

bool isNarrow(NumberFormat format) {
  using enum NumberFormat;
  return format == F8 || format == F4 || format == I8 || format == I4;
}

} // namespace apc
