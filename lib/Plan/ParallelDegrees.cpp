// Reading and writing layouts.
#include "apc/Plan/ParallelDegrees.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <set>
#include <vector>

namespace apc {

namespace {

constexpr const char *accepted =
    "accepted is "
    "dp=N,tp=N[,pp=N][,cp=N][,ep=N][,etp=N][,sp=0|1][,zero=0..3][,shard=N][,mb=N][,chunks=N][,schedule=NAME]"
    "[,copies=N][,recompute=none|norms|attention|mlp|branches|full], for instance dp=8,tp=8,zero=1 or "
    "dp=16,tp=8,pp=8,chunks=3,schedule=interleaved,mb=1 or dp=8,recompute=full:26,norms, with a policy for the first "
    "26 layers and another for the rest";
constexpr int64_t mostWays = int64_t(1) << 20;

struct Key {
  llvm::StringLiteral name;
  int64_t least, most;
  void (*set)(ParallelDegrees &, int64_t);
};
constexpr Key keys[] = {
    {"dp", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.data = value; }},
    {"tp", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.tensor = value; }},
    {"pp", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.pipeline = value; }},
    {"cp", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.context = value; }},
    {"ep", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.experts = value; }},
    {"etp", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.expertTensor = value; }},
    {"sp", 0, 1, [](ParallelDegrees &layout, int64_t value) { layout.cutsSequences = value == 1; }},
    {"zero", 0, 3, [](ParallelDegrees &layout, int64_t value) { layout.zero = static_cast<int>(value); }},
    {"shard", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.shard = value; }},
    {"mb", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.microBatch = value; }},
    {"chunks", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.chunks = value; }},
    {"copies", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.copies = value; }},
};

/// A key whose value is a word. The setter returns false for words that it does not take.
struct WordKey {
  llvm::StringLiteral name;
  llvm::StringLiteral kind; ///< "a policy"
  bool (*set)(ParallelDegrees &, llvm::StringRef);
};

/// True when the word names a policy that a layout can have.
bool setRecompute(ParallelDegrees &layout, llvm::StringRef text) {
  llvm::Expected<RecomputeSetting> setting = parseRecomputeSetting(text, "");
  if (!setting) {
    llvm::consumeError(setting.takeError());
    return false;
  }
  layout.recompute = *setting;
  return setting->policy != RecomputeChoice::Auto;
}

/// The names of schedules are looked up where the pipeline is costed.
bool setSchedule(ParallelDegrees &layout, llvm::StringRef text) {
  layout.schedule = text.str();
  return !text.empty() && text != "auto";
}

constexpr WordKey wordKeys[] = {{"recompute", "policy", setRecompute}, {"schedule", "schedule", setSchedule}};

/// "dp=2" and "recompute=full:26,norms" of "dp=2,recompute=full:26,norms": a word without '=' belongs to the policy in
/// front of it.
std::vector<llvm::StringRef> wordsOf(llvm::StringRef text) {
  std::vector<llvm::StringRef> words;
  for (llvm::StringRef word : llvm::split(text, ','))
    if (!word.contains('=') && !words.empty() && words.back().ltrim().starts_with("recompute="))
      words.back() = llvm::StringRef(words.back().begin(), static_cast<size_t>(word.end() - words.back().begin()));
    else
      words.push_back(word);
  return words;
}

/// Groups of ranks that cut what ZeRO cuts.
llvm::Error checkShard(const ParallelDegrees &layout, llvm::StringRef text, llvm::StringRef source) {
  if (!layout.shard)
    return llvm::Error::success();
  if (layout.zero == 0)
    return inputError("{0} {1}: shard={2} says over how many ranks ZeRO cuts, and zero is 0; accepted is zero=1..3, or "
                      "no shard",
                      source, text, *layout.shard);
  if (layout.experts > 1 || layout.hasWholeExperts())
    return inputError(
        "{0} {1}: shard={2} beside {3}: experts have ranks of their own; accepted is ep=1 without etp, or "
        "no shard",
        source, text, *layout.shard, layout.hasWholeExperts() ? "etp=1" : "ep=" + std::to_string(layout.experts));
  if (int64_t ranks = layout.data * layout.context; ranks % *layout.shard != 0)
    return inputError("{0} {1}: ZeRO cuts over groups of the ranks of dp and cp, {2} x {3} = {4}, which shard={5} does "
                      "not divide; divisors of {4} are accepted",
                      source, text, layout.data, layout.context, ranks, *layout.shard);
  return llvm::Error::success();
}

/// Ranks on which experts lie.
llvm::Error checkExperts(const ParallelDegrees &layout, llvm::StringRef text, llvm::StringRef source) {
  const bool areWhole = layout.hasWholeExperts();
  if (layout.expertTensor && !areWhole)
    return inputError("{0} {1}: tp cuts experts as it cuts the rest, or not at all; accepted is {2}etp=1", source, text,
                      layout.tensor > 1 ? llvm::formatv("etp={0} or ", layout.tensor).str() : "");
  if (areWhole && !layout.cutsSequences)
    return inputError("{0} {1}: with etp=1 each rank of tp brings a part of the sequence to the experts, and with sp=0 "
                      "it has none; accepted is sp=1",
                      source, text);
  if (int64_t ranks = layout.ranksOfExperts(); ranks % layout.experts != 0)
    return inputError(
        "{0} {1}: experts are spread over ranks of dp and cp{2}, {3} x {4}{5} = {6}, which ep={7} does not "
        "divide; divisors of {6} are accepted",
        source, text, areWhole ? " and tp" : "", layout.data, layout.context,
        areWhole ? " x " + std::to_string(layout.tensor) : "", ranks, layout.experts);
  return llvm::Error::success();
}

/// Keys that contradict each other.
llvm::Error checkTogether(const ParallelDegrees &layout, llvm::StringRef text, llvm::StringRef source) {
  if (layout.pipeline == 1 && layout.numChunks() > 1)
    return inputError("{0} {1}: chunks are stages of a pipeline's worker, and pp is 1; accepted is pp=2 or more, or "
                      "chunks=1",
                      source, text);
  if (layout.pipeline == 1 && !layout.schedule.empty())
    return inputError("{0} {1}: a schedule belongs to a pipeline, and pp is 1; accepted is pp=2 or more, or no "
                      "schedule",
                      source, text);
  if (llvm::Error error = checkExperts(layout, text, source))
    return error;
  return checkShard(layout, text, source);
}

/// Sets one key of the layout. \p word: "dp=8"; \p text: of the whole layout, for errors.
llvm::Error setKey(ParallelDegrees &layout, llvm::StringRef word, llvm::StringRef text, llvm::StringRef source) {
  auto [key, given] = word.split('=');
  const WordKey *ofWord = llvm::find_if(wordKeys, [&](const WordKey &own) { return own.name == key; });
  if (ofWord != std::end(wordKeys))
    return ofWord->set(layout, given)
               ? llvm::Error::success()
               : inputError("{0} {1}: '{2}' names no {3}; {4}", source, text, word, ofWord->kind, accepted);
  const Key *known = llvm::find_if(keys, [&](const Key &own) { return own.name == key; });
  if (known == std::end(keys))
    return inputError("{0} {1}: unknown key '{2}'; {3}", source, text, key, accepted);
  int64_t value = 0;
  if (given.getAsInteger(10, value) || value < known->least || value > known->most)
    return inputError("{0} {1}: '{2}' must be a whole number from {3} to {4}; {5}", source, text, word, known->least,
                      known->most, accepted);
  known->set(layout, value);
  return llvm::Error::success();
}

} // namespace

std::string ParallelDegrees::scheduleName() const {
  return !schedule.empty() ? schedule : numChunks() > 1 ? "interleaved" : "1f1b";
}

std::string ParallelDegrees::product() const {
  std::vector<std::string> names = {"dp", "tp"}, sizes = {std::to_string(data), std::to_string(tensor)};
  for (auto [name, size] : {std::pair("cp", context), std::pair("pp", pipeline)})
    if (size > 1) {
      names.emplace_back(name);
      sizes.push_back(std::to_string(size));
    }
  return llvm::join(names, " x ") + " = " + llvm::join(sizes, " x ") + " = " + std::to_string(numDevices());
}

std::string ParallelDegrees::str() const {
  std::string text = llvm::formatv("dp={0},tp={1}", data, tensor).str();
  auto add = [&](llvm::StringRef key, const std::string &value) { text += ("," + key + "=" + value).str(); };
  for (auto [key, size] : {std::pair("pp", pipeline), std::pair("cp", context), std::pair("ep", experts)})
    if (size > 1)
      add(key, std::to_string(size));
  if (expertTensor)
    add("etp", std::to_string(*expertTensor));
  if (!cutsSequences)
    add("sp", "0");
  if (zero != 0)
    add("zero", std::to_string(zero));
  if (shard)
    add("shard", std::to_string(*shard));
  if (microBatch)
    add("mb", std::to_string(*microBatch));
  if (chunks)
    add("chunks", std::to_string(*chunks));
  if (!schedule.empty())
    add("schedule", schedule);
  if (copies > 1)
    add("copies", std::to_string(copies));
  if (recompute)
    add("recompute", recompute->str());
  return text;
}

llvm::Expected<ParallelDegrees> parseParallelDegrees(llvm::StringRef text, llvm::StringRef source) {
  ParallelDegrees layout;
  std::set<llvm::StringRef> seen;
  for (llvm::StringRef word : wordsOf(text)) {
    llvm::StringRef key = word.trim().split('=').first;
    if (llvm::Error error = setKey(layout, word.trim(), text, source))
      return std::move(error);
    if (!seen.insert(key).second)
      return inputError("{0} {1}: '{2}' is given twice; {3}", source, text, key, accepted);
  }
  if (layout.expertTensor == layout.tensor) // which is meant where nothing is said
    layout.expertTensor.reset();
  if (llvm::Error error = checkTogether(layout, text, source))
    return std::move(error);
  return layout;
}

std::optional<ParallelDegrees> layoutNamed(llvm::StringRef name) {
  llvm::StringRef text = name;
  if (!text.consume_front("layout "))
    return std::nullopt;
  llvm::Expected<ParallelDegrees> layout = parseParallelDegrees(text, name);
  if (layout)
    return *layout;
  llvm::consumeError(layout.takeError());
  return std::nullopt;
}

} // namespace apc
