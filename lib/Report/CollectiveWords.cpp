// Words for the notation of collectives.
#include "CollectiveWords.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// "a b" -> "a and b".
std::string listed(llvm::StringRef words, llvm::StringRef between) {
  llvm::SmallVector<llvm::StringRef> items;
  words.split(items, ' ', -1, /*KeepEmpty=*/false);
  return llvm::join(items, between);
}

/// "1" -> "dim 1"; "1{4 4}" -> "dim 1 in parts of 4, 4"; "[node, -]" stays.
std::string dimText(llvm::StringRef dim) {
  if (dim.starts_with("["))
    return dim.str();
  auto [number, parts] = dim.split('{');
  std::string text = "dim " + number.str();
  return parts.empty() ? text : text + " in parts of " + listed(parts.rtrim('}'), ", ");
}

/// "1" -> " of dim 1", "->1" -> " along dim 1", "0->1" -> " from dim 0 to dim 1".
std::string placeText(llvm::StringRef place) {
  auto [from, to] = place.split("->");
  from = from.trim();
  to = to.trim();
  if (place.empty())
    return "";
  if (to.empty())
    return " of " + dimText(from);
  if (from.empty())
    return (to.starts_with("[") ? " to " : " along ") + dimText(to);
  return " from " + dimText(from) + " to " + dimText(to);
}

} // namespace

std::string collectiveText(llvm::StringRef notation) {
  auto [kind, rest] = notation.split('{');
  auto [axes, place] = rest.split('}');
  if (axes.empty())
    return notation.str();
  return kind.str() + placeText(place.trim()) + " over " + listed(axes, " and ");
}

std::string collectivesText(llvm::ArrayRef<std::string> notations) {
  return llvm::join(llvm::map_range(notations, [](const std::string &text) { return collectiveText(text); }), ", ");
}

} // namespace apc
