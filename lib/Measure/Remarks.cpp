// Patterns of remarks.
#include "Remarks.h"

#include "llvm/ADT/STLExtras.h"

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

/// A pattern of words that stand right in front of others.
Pattern inFront(llvm::StringRef words) { return Pattern(("(^|[^0-9a-z])(" + words + ")((the|a|an|any) )?$").str()); }

/// The first of the words behind which no words of one pattern stand and in front of which none of another.
std::optional<llvm::StringRef> wordsBeside(llvm::StringRef text, const Words &words, const Pattern *forbidden,
                                           const Pattern &behind) {
  llvm::StringRef rest = text;
  while (std::optional<llvm::StringRef> found = words.firstIn(rest)) {
    rest = rest.substr(static_cast<size_t>(found->end() - rest.begin()));
    const llvm::StringRef front = text.take_front(static_cast<size_t>(found->begin() - text.begin()));
    if (!behind.match(rest) && !(forbidden && forbidden->match(front)))
      return found;
  }
  return std::nullopt;
}

} // namespace

std::optional<int64_t> numberIn(llvm::StringRef text, const Pattern &pattern, size_t group) {
  llvm::SmallVector<llvm::StringRef, 5> groups;
  int64_t number = 0;
  if (pattern.match(text, groups) && !groups[group].getAsInteger(10, number))
    return number;
  return std::nullopt;
}

bool hasWords(llvm::StringRef text, const Words &words) { return words.firstIn(text).has_value(); }

bool isStated(llvm::StringRef text, const Words &words) {
  static const Pattern behind(unstatedBehind);
  return wordsBeside(text, words, /*forbidden=*/nullptr, behind).has_value();
}

bool isOn(llvm::StringRef text, const Words &words) {
  static const Pattern forbidden = inFront(denied);
  static const Pattern behind(("(" + deniedBehind + ")|(" + unstatedBehind + ")").str());
  return wordsBeside(text, words, &forbidden, behind).has_value();
}

std::optional<llvm::StringRef> ownWords(llvm::StringRef text, const Words &words) {
  static const Pattern forbidden = inFront((denied + "|" + compared).str());
  static const Pattern behind(deniedBehind);
  return wordsBeside(text, words, &forbidden, behind);
}

bool isOwn(llvm::StringRef text, const Words &words) { return ownWords(text, words).has_value(); }

bool saysOutOfMemory(llvm::StringRef text) {
  constexpr llvm::StringLiteral out = "(oom(ed|s)?|out[-_ ]?of[-_ ]?memory([-_ ]?error)?)";
  static const Words some(out), none(("(no|not|non|never|without)[ -]+(run |ran |go )?" + out).str());
  return hasWords(text, some) && !hasWords(text, none);
}

bool saysBinaryUnits(llvm::StringRef text) {
  static const Pattern unit("(^|[^a-z])gib($|[^a-z/])");
  return unit.match(text);
}

bool saysDecimalUnits(llvm::StringRef text) {
  static const Pattern unit("(^|[^0-9 a-z-]|[^0-9 -][ -])gb($|[^0-9a-z/=])");
  return unit.match(text);
}

std::optional<int64_t> classesIn(llvm::StringRef text) {
  static const Pattern pattern("vocab ([0-9]{1,3}(,[0-9]{3})+|[0-9]+)($|[^0-9a-z,. ]|[,. ]($|[^0-9]))");
  llvm::SmallVector<llvm::StringRef, 5> groups;
  int64_t number = 0;
  if (!pattern.match(text, groups))
    return std::nullopt;
  std::string digits = groups[1].str();
  llvm::erase(digits, ',');
  return llvm::StringRef(digits).getAsInteger(10, number) ? std::nullopt : std::optional(number);
}

std::optional<int64_t> stageIn(llvm::StringRef text) {
  static const Words numbered("zero[-_ ]?(stage)?[-_ ]*[=:]?[ ]*[0-9]"), besideHosts(zeroInfinity);
  static const Words unsharded("no[-_ ]?shard"), gradients("shard[-_ ]?grad[-_ ]?op");
  static const Words everything((shardsOverAll + "|" + shardsInGroups).str());
  static const Words optimizer("dist(ributed)?[-_ ]?opt(im|imi[sz]er)?");
  if (std::optional<llvm::StringRef> stage = ownWords(text, numbered))
    return stage->back() - '0';
  if (isOwn(text, besideHosts))
    return 3;
  const bool cutsNothing = hasWords(text, unsharded);
  if (!cutsNothing && isOwn(text, gradients))
    return 2;
  if (!cutsNothing && isOwn(text, everything))
    return 3;
  if (isOwn(text, optimizer))
    return 1;
  return std::nullopt;
}

std::optional<int64_t> stageOfCell(llvm::StringRef text) {
  if (std::optional<int64_t> stage = stageIn(("zero " + text).str()))
    return stage;
  static const Pattern numbered("(^|[^0-9a-z])z-?([0-9])($|[^0-9a-z])");
  // A cell that still names FSDP denies FSDP: "FSDP=0".
  static const Words nothing("no|none|off|fsdp2?|d?dp|data[- ]parallel(ism)?|no[-_ ]?shard");
  if (std::optional<int64_t> stage = numberIn(text, numbered, /*group=*/2))
    return stage;
  return hasWords(text, nothing) ? std::optional<int64_t>(0) : std::nullopt;
}

std::optional<int64_t> tensorOfExpertsIn(llvm::StringRef text) {
  static const Pattern pattern(
      "(^|[^0-9a-z])(etp|expert[-_ ]tensor[-_ ]parallel([-_ ](model|size|degree))*)[ =:]*([0-9]+)($|[^0-9])");
  return numberIn(text, pattern, /*group=*/5);
}

bool cutsWithinGroups(llvm::StringRef text) {
  static const Words words(shardsInGroups);
  return isOwn(text, words);
}

bool movesToHost(llvm::StringRef text) {
  static const Words moved(
      "((cpu|host|nvme|ssd|disk|zero|deepspeed|full|fine-grained|activations?|optimi[sz]er|parameters?|params?|states?|"
      "gradients?|weights?|or|and)[-_ ]+)*offload(s|ed|er|ing)?([-_.][a-z]+)*( to (the )?(cpu|host|nvme))?");
  static const Words ofHosts((zeroInfinity + "|(deepspeed)?cpu[-_ ]?adam").str());
  static const Pattern other(
      "(^|[^0-9a-z])(sharp|nic|network|collectives?|communication|tcp|protocol|dpu|rdma)[-_ ]+offload[a-z]*");
  const std::string own = other.replaceAll("\\1", text);
  return isOwn(own, moved) || isOwn(own, ofHosts);
}

bool trainsAdapters(llvm::StringRef text) {
  static const Words adapters("q?lora|dora|adapters? only");
  return isOwn(text, adapters);
}

} // namespace apc
