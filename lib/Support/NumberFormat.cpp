// Names of number formats.
#include "apc/Support/NumberFormat.h"

#include "llvm/Support/ErrorHandling.h"

namespace apc {

namespace {

struct FormatName {
  NumberFormat format;
  llvm::StringLiteral name;
};

constexpr FormatName formatNames[] = {
    {NumberFormat::F64, "f64"},     {NumberFormat::F32, "f32"}, {NumberFormat::TF32, "tf32"},
    {NumberFormat::BF16, "bf16"},   {NumberFormat::F16, "f16"}, {NumberFormat::F8, "f8"},
    {NumberFormat::F4, "f4"},       {NumberFormat::I8, "i8"},   {NumberFormat::I4, "i4"},
    {NumberFormat::Other, "other"},
};

} // namespace

llvm::StringRef numberFormatName(NumberFormat format) {
  for (const FormatName &entry : formatNames)
    if (entry.format == format)
      return entry.name;
  llvm_unreachable("a number format without a name");
}

std::optional<NumberFormat> parseNumberFormat(llvm::StringRef name) {
  for (const FormatName &entry : formatNames)
    if (entry.name == name)
      return entry.format;
  return std::nullopt;
}

} // namespace apc
