// Patterns of remarks.
#include "Remarks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

#include <string>

namespace apc {

namespace {

constexpr llvm::StringLiteral zeroInfinity = "zero[-_ ]?infinity"; // stage 3 beside the memory of hosts
constexpr llvm::StringLiteral shardsInGroups = "hybrid[-_ ]?shard(ed)?|hsdp";
constexpr llvm::StringLiteral shardsOverAll = "fsdp2?|full[-_ ]?shard|fully[-_ ]shard(ed)?( data[-_ ]?parallel(ism)?)?";

/// Words in front of others that deny these, or compare with them, and words behind that deny them.
constexpr llvm::StringLiteral denied =
    "(no|not|non|never|without|w/o|nothing)( is| are| was)?[-_ ]*((us(e|ing)|need( for)?|requir(e|ing))[-_ ])?";
constexpr llvm::StringLiteral compared =
    "(vs[.]?|versus|compar(ed|ison) (with|to|against)|than|unlike|instead of|rather than|against|"
    "as (fast|slow|quick|good|bad|high|low|much|efficient)[a-z]* as|(speed-?up|gain|improvement)s? over) "
    "((the|a|an|our|plain|stock|vanilla|original|with|using|models?|of|zero[-_ ]?[0-9]?|fsdp2?|ddp|deepspeed|pytorch) "
    ")*";
/// "=0", "=0.0" and ": no", but not "=0.5" or ": no offload", which denies what comes.
constexpr llvm::StringLiteral deniedBehind = "^ *([=:] *(0([.]0+)?|no *($|[],;.)]))|[=:]? *(none|false|null|((is |are "
                                             "|was )?not (used|needed|required|enabled))|off|"
                                             "disabled))($|[^0-9a-z.]|[.]($|[^0-9]))";

/// Words behind others that say nothing of these: "torch.compile not stated".
constexpr llvm::StringLiteral unstatedBehind =
    "^ *[=:(,]? *((is|are|was|were) )?(not (stated|given|printed|reported|specified|mentioned|said|known|documented|"
    "disclosed|recorded|clear)|un(stated|known|specified|reported|documented|clear)|n/a|[?])";

bool findsIn(llvm::StringRef text, const std::string &pattern) {
  return llvm::Regex(pattern, llvm::Regex::IgnoreCase).match(text);
}

std::string asWords(llvm::StringRef pattern) { return ("(^|[^0-9a-z])(" + pattern + ")($|[^0-9a-z])").str(); }

/// A pattern of words that stand right in front of others.
llvm::Regex inFront(llvm::StringRef words) {
  return llvm::Regex(("(^|[^0-9a-z])(" + words + ")((the|a|an|any) )?$").str(), llvm::Regex::IgnoreCase);
}

/// The first whole words that a pattern matches, behind which no words of one pattern stand and in front of which none
/// of another.
std::optional<llvm::StringRef> wordsBeside(llvm::StringRef text, llvm::StringRef pattern, const llvm::Regex &forbidden,
                                           const llvm::Regex &behind) {
  const llvm::Regex words(asWords(pattern), llvm::Regex::IgnoreCase);
  llvm::SmallVector<llvm::StringRef, 8> groups;
  for (llvm::StringRef rest = text; words.match(rest, &groups);) {
    const llvm::StringRef found = groups[2];
    rest = rest.substr(static_cast<size_t>(found.end() - rest.begin()));
    const llvm::StringRef front = text.take_front(static_cast<size_t>(found.begin() - text.begin()));
    if (!behind.match(rest) && !forbidden.match(front))
      return found;
  }
  return std::nullopt;
}

} // namespace

std::optional<int64_t> numberIn(llvm::StringRef text, llvm::StringRef pattern, size_t group) {
  llvm::SmallVector<llvm::StringRef, 5> groups;
  int64_t number = 0;
  if (llvm::Regex(pattern, llvm::Regex::IgnoreCase).match(text, &groups) && !groups[group].getAsInteger(10, number))
    return number;
  return std::nullopt;
}

bool hasWords(llvm::StringRef text, llvm::StringRef pattern) { return findsIn(text, asWords(pattern)); }

bool isStated(llvm::StringRef text, llvm::StringRef pattern) {
  static const llvm::Regex nowhere("$^."), behind(unstatedBehind, llvm::Regex::IgnoreCase);
  return wordsBeside(text, pattern, nowhere, behind).has_value();
}

bool isOn(llvm::StringRef text, llvm::StringRef pattern) {
  static const llvm::Regex forbidden = inFront(denied);
  static const llvm::Regex behind(("(" + deniedBehind + ")|(" + unstatedBehind + ")").str(), llvm::Regex::IgnoreCase);
  return wordsBeside(text, pattern, forbidden, behind).has_value();
}

std::optional<llvm::StringRef> ownWords(llvm::StringRef text, llvm::StringRef pattern) {
  static const llvm::Regex forbidden = inFront((denied + "|" + compared).str());
  static const llvm::Regex behind(deniedBehind, llvm::Regex::IgnoreCase);
  return wordsBeside(text, pattern, forbidden, behind);
}

bool isOwn(llvm::StringRef text, llvm::StringRef pattern) { return ownWords(text, pattern).has_value(); }

bool saysOutOfMemory(llvm::StringRef text) {
  constexpr llvm::StringLiteral out = "(oom(ed|s)?|out[-_ ]?of[-_ ]?memory([-_ ]?error)?)";
  return hasWords(text, out) && !hasWords(text, ("(no|not|non|never|without)[ -]+(run |ran |go )?" + out).str());
}

bool saysBinaryUnits(llvm::StringRef text) { return findsIn(text, "(^|[^a-z])gib($|[^a-z/])"); }

bool saysDecimalUnits(llvm::StringRef text) { return findsIn(text, "(^|[^0-9 a-z-]|[^0-9 -][ -])gb($|[^0-9a-z/=])"); }

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
  if (std::optional<llvm::StringRef> stage = ownWords(text, "zero[-_ ]?(stage)?[-_ ]*[=:]?[ ]*[0-9]"))
    return stage->back() - '0';
  if (isOwn(text, zeroInfinity))
    return 3;
  const bool cutsNothing = hasWords(text, "no[-_ ]?shard");
  if (!cutsNothing && isOwn(text, "shard[-_ ]?grad[-_ ]?op"))
    return 2;
  if (!cutsNothing && isOwn(text, (shardsOverAll + "|" + shardsInGroups).str()))
    return 3;
  if (isOwn(text, "dist(ributed)?[-_ ]?opt(im|imi[sz]er)?"))
    return 1;
  return std::nullopt;
}

std::optional<int64_t> stageOfCell(llvm::StringRef text) {
  if (std::optional<int64_t> stage = stageIn(("zero " + text).str()))
    return stage;
  if (std::optional<int64_t> stage = numberIn(text, "(^|[^0-9a-z])z-?([0-9])($|[^0-9a-z])", /*group=*/2))
    return stage;
  // A cell that still names FSDP denies FSDP: "FSDP=0".
  return hasWords(text, "no|none|off|fsdp2?|d?dp|data[- ]parallel(ism)?|no[-_ ]?shard") ? std::optional<int64_t>(0)
                                                                                        : std::nullopt;
}

std::optional<int64_t> tensorOfExpertsIn(llvm::StringRef text) {
  return numberIn(
      text, "(^|[^0-9a-z])(etp|expert[-_ ]tensor[-_ ]parallel([-_ ](model|size|degree))*)[ =:]*([0-9]+)($|[^0-9])",
      /*group=*/5);
}

bool cutsWithinGroups(llvm::StringRef text) { return isOwn(text, shardsInGroups); }

bool movesToHost(llvm::StringRef text) {
  constexpr llvm::StringLiteral moved =
      "((cpu|host|nvme|ssd|disk|zero|deepspeed|full|fine-grained|activations?|optimi[sz]er|parameters?|params?|states?|"
      "gradients?|weights?|or|and)[-_ ]+)*offload(s|ed|er|ing)?([-_.][a-z]+)*( to (the )?(cpu|host|nvme))?";
  static const llvm::Regex other(
      "(^|[^0-9a-z])(sharp|nic|network|collectives?|communication|tcp|protocol|dpu|rdma)[-_ ]+"
      "offload[a-z]*",
      llvm::Regex::IgnoreCase);
  std::string own = text.str();
  while (other.match(own))
    own = other.sub("\\1", own);
  return isOwn(own, moved) || isOwn(own, (zeroInfinity + "|(deepspeed)?cpu[-_ ]?adam").str());
}

bool trainsAdapters(llvm::StringRef text) { return isOwn(text, "q?lora|dora|adapters? only"); }

} // namespace apc
