// The stream of what people read.
#pragma once

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// Writes to `llvm::outs()`, with escapes for what a terminal would obey (`visibleText`): names come from files of
/// others. Line ends stay. Documents go to `llvm::outs()`: JSON has escapes of its own.
llvm::raw_ostream &terminal();

} // namespace apc
