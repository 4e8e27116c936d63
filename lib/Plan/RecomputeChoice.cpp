// Names of policies, and the text of a policy with its layers.
#include "apc/Plan/RecomputeChoice.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

static constexpr llvm::StringLiteral names[] = {"none", "norms", "attention", "mlp", "full", "auto"};

llvm::StringRef recomputeChoiceName(RecomputeChoice choice) { return names[static_cast<size_t>(choice)]; }

std::optional<RecomputeChoice> parseRecomputeChoice(llvm::StringRef name) {
  const auto *found = llvm::find(names, name);
  return found == std::end(names) ? std::nullopt : std::optional(static_cast<RecomputeChoice>(found - names));
}

std::string RecomputeSetting::str() const {
  return recomputeChoiceName(policy).str() + (layers ? ":" + std::to_string(*layers) : "");
}

llvm::Expected<RecomputeSetting> parseRecomputeSetting(llvm::StringRef text, llvm::StringRef source) {
  auto [name, count] = text.split(':');
  RecomputeSetting setting;
  std::optional<RecomputeChoice> policy = parseRecomputeChoice(name);
  int64_t layers = 0;
  bool hasCount = text.contains(':');
  bool mayCount = policy && *policy != RecomputeChoice::None && *policy != RecomputeChoice::Auto;
  if (!policy || (hasCount && (!mayCount || count.getAsInteger(10, layers) || layers < 1)))
    return inputError(
        "{0} {1}: accepted are 'none', 'norms', 'attention', 'mlp', 'full' and 'auto'; all but 'none' and "
        "'auto' may name the number of layers that they hold for, the first ones: 'full:26'",
        source, text);
  setting.policy = *policy;
  if (hasCount)
    setting.layers = layers;
  return setting;
}

} // namespace apc
