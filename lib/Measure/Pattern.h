// Regular expressions, compiled once and matched in time that grows with the text alone (RE2; Cox 2010, "Regular
// Expression Matching in the Wild").
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace re2 {
class RE2;
} // namespace re2

namespace apc {

enum class Letters : uint8_t { AnyCase, AsWritten };

/// An extended regular expression of POSIX over bytes, whose first match is the leftmost and there the longest.
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

/// A pattern of whole words, in any case: "zb-?v" is not in "zb-vocab".
class Words {
public:
  explicit Words(llvm::StringRef pattern);

  /// The first of them in the text; none where there are none.
  std::optional<llvm::StringRef> firstIn(llvm::StringRef text) const;

private:
  Pattern pattern;
};

/// The words of the entries of a table, in their order.
template <typename Entry, size_t count>
std::vector<Words> wordsOf(const Entry (&table)[count], llvm::StringLiteral Entry::*words) {
  std::vector<Words> all;
  for (const Entry &entry : table)
    all.emplace_back(entry.*words);
  return all;
}

} // namespace apc
