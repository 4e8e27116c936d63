// Names by which a plan's repeated layers and its mesh are told.
#include "apc/Plan/LayerNames.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

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

std::string meshText(const Plan &plan) {
  std::string text;
  for (const PlanAxis &axis : plan.mesh)
    text += (text.empty() ? "" : " ") + llvm::formatv("{0}={1} ({2})", axis.name, axis.size, axis.level).str();
  return text.empty() ? "one device" : text;
}

} // namespace apc
