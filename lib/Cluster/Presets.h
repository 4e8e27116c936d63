// The preset documents that the build embeds; the tables are generated from Presets/*.json and
// Runtimes/*.json.
#pragma once

#include "apc/Support/EmbeddedText.h"

namespace apc {

/// Ascending by name.
llvm::ArrayRef<EmbeddedText> embeddedPresets();
/// The documents of Runtimes/*.json, ascending by name.
llvm::ArrayRef<EmbeddedText> embeddedRuntimes();

} // namespace apc
