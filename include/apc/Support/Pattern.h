// Regular expressions, compiled once and matched in time that grows with the text alone (RE2; Cox 2010, "Regular
// Expression Matching in the Wild").
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>

namespace re2 {
class RE2;
} // namespace re2

namespace apc {

/// Does a letter stand for its other case, too?
enum class Letters : uint8_t { AnyCase, AsWritten };

/// An extended regular expression of POSIX over bytes, whose first match is the leftmost and there the longest. "^" and
/// "$" are the ends of the text, whatever its lines.
class Pattern {
public:
  /// \p text: of this program's own, for one that is no expression is a fault of it.
  explicit Pattern(llvm::StringRef text, Letters letters = Letters::AnyCase);

  bool match(llvm::StringRef text) const;

  /// With the match and its groups, empty for those that take no part.
  bool match(llvm::StringRef text, llvm::SmallVectorImpl<llvm::StringRef> &groups) const;

  /// The text with \p with, which names groups as "\\1", in the place of the first match.
  std::string replaceFirst(llvm::StringRef with, llvm::StringRef text) const;

  /// The same for all matches, those too that come about so.
  std::string replaceAll(llvm::StringRef with, llvm::StringRef text) const;

private:
  std::shared_ptr<const re2::RE2> compiled;
};

} // namespace apc
