// Words as patterns with what may stand beside them.
#include "Words.h"

#include "llvm/ADT/Twine.h"

namespace apc {

Words::Words(llvm::StringRef pattern) : pattern(("(^|[^0-9a-z])(" + pattern + ")($|[^0-9a-z])").str()) {}

std::optional<llvm::StringRef> Words::firstIn(llvm::StringRef text) const {
  llvm::SmallVector<llvm::StringRef, 8> groups;
  return pattern.match(text, groups) ? std::optional(groups[2]) : std::nullopt;
}

} // namespace apc
