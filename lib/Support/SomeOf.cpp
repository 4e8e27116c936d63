// The first items, joined, and a count of the others.
#include "apc/Support/SomeOf.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

std::string someOf(llvm::ArrayRef<std::string> items, size_t most) {
  std::string text = llvm::join(items.take_front(most), ", ");
  return items.size() > most ? text + " and " + std::to_string(items.size() - most) + " more" : text;
}

std::string someNamesOf(llvm::ArrayRef<std::string> names, size_t most) {
  std::vector<std::string> quoted;
  for (const std::string &name : names)
    quoted.push_back("'" + name + "'");
  return someOf(quoted, most);
}

} // namespace apc
