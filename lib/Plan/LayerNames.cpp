// Names by which a plan's repeated layers are told.
#include "apc/Plan/LayerNames.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

std::string layerPattern(llvm::StringRef name) {
  std::string pattern;
  for (char letter : name) {
    if (!llvm::isDigit(letter))
      pattern += letter;
    else if (pattern.empty() || pattern.back() != '*')
      pattern += '*';
  }
  return pattern;
}

} // namespace apc
