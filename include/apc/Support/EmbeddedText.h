// A file that the build embeds as text (lib/EmbedTexts.cmake).
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace apc {

struct EmbeddedText {
  llvm::StringLiteral name; ///< the file's stem
  llvm::StringLiteral text;
};

} // namespace apc
