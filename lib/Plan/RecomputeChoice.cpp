// Names of policies, and the text of a policy with its layers.
#include "apc/Plan/RecomputeChoice.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

static constexpr llvm::StringLiteral names[] = {"none", "norms", "attention", "mlp", "branches", "full", "auto"};

llvm::StringRef recomputeChoiceName(RecomputeChoice choice) { return names[static_cast<size_t>(choice)]; }

std::optional<RecomputeChoice> parseRecomputeChoice(llvm::StringRef name) {
  const auto *found = llvm::find(names, name);
  return found == std::end(names) ? std::nullopt : std::optional(static_cast<RecomputeChoice>(found - names));
}

std::string RecomputeSetting::str() const {
  std::string text = recomputeChoiceName(policy).str();
  if (layers)
    text += ":" + std::to_string(*layers);
  if (rest != RecomputeChoice::None)
    text += "," + recomputeChoiceName(rest).str();
  return text;
}

/// Policies that may hold for some of the layers.
static std::optional<RecomputeChoice> parseForLayers(llvm::StringRef name) {
  std::optional<RecomputeChoice> policy = parseRecomputeChoice(name);
  return policy == RecomputeChoice::None || policy == RecomputeChoice::Auto ? std::nullopt : policy;
}

static std::optional<RecomputeSetting> readSetting(llvm::StringRef text) {
  if (!text.contains(':')) {
    std::optional<RecomputeChoice> policy = parseRecomputeChoice(text);
    return policy ? std::optional(RecomputeSetting(*policy)) : std::nullopt;
  }
  auto [first, rest] = text.split(',');
  auto [name, count] = first.split(':');
  std::optional<RecomputeChoice> policy = parseForLayers(name), other = parseForLayers(rest);
  int64_t layers = 0;
  if (!policy || count.getAsInteger(10, layers) || layers < 1)
    return std::nullopt;
  if (!text.contains(','))
    return RecomputeSetting(*policy, layers);
  return other && other != policy ? std::optional(RecomputeSetting(*policy, layers, *other)) : std::nullopt;
}

llvm::Expected<RecomputeSetting> parseRecomputeSetting(llvm::StringRef text, llvm::StringRef source) {
  if (std::optional<RecomputeSetting> setting = readSetting(text))
    return *setting;
  return inputError(
      "{0} {1}: accepted are 'none', 'norms', 'attention', 'mlp', 'branches', 'full' and 'auto'; all but "
      "'none' and 'auto' may name the number of layers that they hold for, the first ones: 'full:26'; and then "
      "another of them for the other layers: 'full:26,norms'",
      source, text);
}

} // namespace apc
