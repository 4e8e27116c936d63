// From a JSON text to the document that it holds. JSON comes into this room here.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <nlohmann/json.hpp>

namespace apc {

/// The most brackets inside each other. The schema of clusters needs 5: levels, a level, a figure with its source, a
/// curve, a point. What is quoted in messages recurses.
constexpr unsigned maxJsonDepth = 16;

/// The parsed text; an error with the line for syntax errors, numbers out of range, keys that are given twice and
/// brackets that are nested too deep.
llvm::Expected<nlohmann::json> parseJson(llvm::StringRef text, llvm::StringRef source);

} // namespace apc
