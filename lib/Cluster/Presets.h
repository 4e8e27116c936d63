// The preset documents that the build embeds; the table is generated from Presets/*.json.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace apc {

struct EmbeddedPreset {
  llvm::StringLiteral name; ///< the file's stem
  llvm::StringLiteral text;
};

/// Ascending by name.
llvm::ArrayRef<EmbeddedPreset> embeddedPresets();

} // namespace apc
