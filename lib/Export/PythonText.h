// Literals of Python.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace apc {

/// h.0 -> "h.0"; escapes are those of JSON, which Python has, too.
std::string pythonText(llvm::StringRef text);
/// ["wte", "h.0"].
std::string pythonList(llvm::ArrayRef<std::string> texts);

} // namespace apc
