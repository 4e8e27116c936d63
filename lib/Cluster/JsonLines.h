// Where a key stands in a JSON text: the parsed document no longer knows its lines.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace apc {

/// Keys and array indices from the document's root: {"levels", "0", "size"}.
using JsonPath = std::vector<std::string>;

/// `levels[0].size`; `document` for the root.
std::string pathText(llvm::ArrayRef<std::string> path);

/// The line on which the value of `path` is named; the line of the deepest part that exists when it does not. `text`
/// is valid JSON.
size_t lineOfPath(llvm::StringRef text, llvm::ArrayRef<std::string> path);

/// The offset of the first key that its object already has: readers keep only one of the two.
std::optional<size_t> offsetOfRepeatedKey(llvm::StringRef text);

/// The offset of the first bracket inside more than `limit` others. `text` is valid JSON.
std::optional<size_t> offsetOfDepth(llvm::StringRef text, unsigned limit);

} // namespace apc
