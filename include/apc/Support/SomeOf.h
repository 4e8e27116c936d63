// Lists in messages that may be long.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace apc {

/// The first \p most of the items, and how many more there are: "'a', 'b' and 93 more".
std::string someOf(llvm::ArrayRef<std::string> items, size_t most);

/// The same of names, each in quotes.
std::string someNamesOf(llvm::ArrayRef<std::string> names, size_t most);

} // namespace apc
