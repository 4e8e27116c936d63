// The bytes of constants.
#include "Safetensors.h"

#include "mlir/IR/BuiltinTypes.h"

namespace apc {

static std::string typeText(mlir::Type element) {
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return text;
}

std::string bytesOf(mlir::DenseElementsAttr value) {
  std::string bytes;
  auto add = [&](const llvm::APInt &bits) {
    unsigned count = std::max(1U, bits.getBitWidth() / 8);
    for (unsigned byte = 0; byte < count; ++byte)
      bytes += static_cast<char>(bits.getZExtValue() >> (8 * byte));
  };
  if (llvm::isa<mlir::FloatType>(value.getElementType()))
    for (const llvm::APFloat &number : value.getValues<llvm::APFloat>())
      add(number.bitcastToAPInt());
  else
    for (const llvm::APInt &number : value.getValues<llvm::APInt>())
      add(number);
  return bytes;
}

std::string printSafetensors(llvm::ArrayRef<std::pair<std::string, mlir::DenseElementsAttr>> constants) {
  std::vector<SafetensorsEntry> entries;
  std::string data;
  for (const auto &[name, value] : constants) {
    std::string bytes = bytesOf(value);
    entries.push_back({name, safetensorsType(typeText(value.getElementType())),
                       llvm::SmallVector<int64_t>(value.getType().getShape()), static_cast<int64_t>(bytes.size())});
    data += bytes;
  }
  return safetensorsHeader(entries) + data;
}

} // namespace apc
