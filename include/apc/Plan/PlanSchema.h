// The JSON Schema of plan.json, as the program carries it.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace apc {

/// lib/Plan/plan.schema.json (draft 2020-12): every key with its unit and meaning.
llvm::StringRef planSchema();

} // namespace apc
