// Patterns of remarks.
#include "Remarks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

#include <string>

namespace apc {

namespace {

constexpr llvm::StringLiteral shardsInGroups = "hybrid[-_ ]?shard(ed)?|hsdp";
constexpr llvm::StringLiteral shardsOverAll = "fsdp2?|full[-_ ]?shard|fully[-_ ]shard(ed)?( data[-_ ]?parallel(ism)?)?";

bool findsIn(llvm::StringRef text, const std::string &pattern) {
  return llvm::Regex(pattern, llvm::Regex::IgnoreCase).match(text);
}

} // namespace

std::optional<int64_t> numberIn(llvm::StringRef text, llvm::StringRef pattern, size_t group) {
  llvm::SmallVector<llvm::StringRef, 5> groups;
  int64_t number = 0;
  if (llvm::Regex(pattern, llvm::Regex::IgnoreCase).match(text, &groups) && !groups[group].getAsInteger(10, number))
    return number;
  return std::nullopt;
}

bool hasWords(llvm::StringRef text, llvm::StringRef pattern) {
  return findsIn(text, ("(^|[^0-9a-z])(" + pattern + ")($|[^0-9a-z])").str());
}

bool isOn(llvm::StringRef text, llvm::StringRef pattern) {
  const std::string words = "(" + pattern.str() + ")";
  return hasWords(text, words) && !hasWords(text, "(no|not|non|without) *-?(us(e|ing)[-_ ])?" + words) &&
         !hasWords(text, words + " *([=:] *(0|no|none|false|null)|[=:]? *((is |was )?not used|off|disabled))");
}

bool saysOutOfMemory(llvm::StringRef text) {
  constexpr llvm::StringLiteral out = "(oom(ed|s)?|out[ -]of[ -]memory)";
  return hasWords(text, out) && !hasWords(text, ("(no|not|non|never|without)[ -]+(run |ran |go )?" + out).str());
}

bool saysBinaryUnits(llvm::StringRef text) { return findsIn(text, "(^|[^a-z])gib($|[^a-z/])"); }

std::optional<int64_t> classesIn(llvm::StringRef text) {
  const llvm::Regex pattern("vocab ([0-9]{1,3}(,[0-9]{3})+|[0-9]+)($|[^0-9a-z,. ]|[,. ]($|[^0-9]))",
                            llvm::Regex::IgnoreCase);
  llvm::SmallVector<llvm::StringRef, 5> groups;
  int64_t number = 0;
  if (!pattern.match(text, &groups))
    return std::nullopt;
  std::string digits = groups[1].str();
  llvm::erase(digits, ',');
  return llvm::StringRef(digits).getAsInteger(10, number) ? std::nullopt : std::optional(number);
}

std::optional<int64_t> stageIn(llvm::StringRef text) {
  if (std::optional<int64_t> stage =
          numberIn(text, "(^|[^0-9a-z])zero[-_ ]?(stage)?[-_ ]*[=:]?[ ]*([0-9])($|[^0-9a-z])", /*group=*/3))
    return *stage;
  const bool cutsNothing = hasWords(text, "no[-_ ]?shard");
  if (!cutsNothing && isOn(text, (shardsOverAll + "|" + shardsInGroups).str()))
    return hasWords(text, "shard[-_ ]?grad[-_ ]?op") ? 2 : 3;
  if (isOn(text, "distributed[-_ ]optimi[sz]er"))
    return 1;
  return std::nullopt;
}

std::optional<int64_t> tensorOfExpertsIn(llvm::StringRef text) {
  return numberIn(
      text, "(^|[^0-9a-z])(etp|expert[-_ ]tensor[-_ ]parallel([-_ ](model|size|degree))*)[ =:]*([0-9]+)($|[^0-9])",
      /*group=*/5);
}

bool cutsWithinGroups(llvm::StringRef text) { return isOn(text, shardsInGroups); }

} // namespace apc
