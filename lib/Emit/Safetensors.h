// Constants of a program as a file of safetensors.
#pragma once

#include "apc/Checkpoint/Safetensors.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace apc {

/// Row-major, little-endian, a byte for each bool.
std::string bytesOf(mlir::DenseElementsAttr value);

/// A whole file of constants, by name.
std::string printSafetensors(llvm::ArrayRef<std::pair<std::string, mlir::DenseElementsAttr>> constants);

} // namespace apc
