// Patterns of whole words in remarks.
#pragma once

#include "apc/Support/Pattern.h"

#include <optional>
#include <vector>

namespace apc {

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
