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
    "accepted is dp=N,tp=N[,zero=0..3][,mb=N][,recompute=none|norms|attention|mlp|full], "
    "for instance dp=8,tp=8,zero=1 or dp=8,recompute=full:26,norms, with a policy for the first 26 layers and another "
    "for the rest";
constexpr int64_t mostWays = int64_t(1) << 20;

struct Key {
  llvm::StringLiteral name;
  int64_t least, most;
  void (*set)(ParallelDegrees &, int64_t);
};
constexpr Key keys[] = {
    {"dp", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.data = value; }},
    {"tp", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.tensor = value; }},
    {"zero", 0, 3, [](ParallelDegrees &layout, int64_t value) { layout.zero = static_cast<int>(value); }},
    {"mb", 1, mostWays, [](ParallelDegrees &layout, int64_t value) { layout.microBatch = value; }},
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

} // namespace

std::string ParallelDegrees::str() const {
  std::string text = llvm::formatv("dp={0},tp={1}", data, tensor).str();
  if (zero != 0)
    text += llvm::formatv(",zero={0}", zero).str();
  if (microBatch)
    text += llvm::formatv(",mb={0}", *microBatch).str();
  if (recompute)
    text += llvm::formatv(",recompute={0}", recompute->str()).str();
  return text;
}

llvm::Expected<ParallelDegrees> parseParallelDegrees(llvm::StringRef text, llvm::StringRef source) {
  ParallelDegrees layout;
  std::set<llvm::StringRef> seen;
  for (llvm::StringRef word : wordsOf(text)) {
    auto [key, given] = word.trim().split('=');
    const Key *known = llvm::find_if(keys, [&](const Key &own) { return own.name == key; });
    bool isPolicy = key == "recompute";
    if (known == std::end(keys) && !isPolicy)
      return inputError("{0} {1}: unknown key '{2}'; {3}", source, text, key, accepted);
    if (!seen.insert(key).second)
      return inputError("{0} {1}: '{2}' is given twice; {3}", source, text, key, accepted);
    if (isPolicy) {
      if (!setRecompute(layout, given))
        return inputError("{0} {1}: '{2}' names no policy; {3}", source, text, word.trim(), accepted);
      continue;
    }
    int64_t value = 0;
    if (given.getAsInteger(10, value) || value < known->least || value > known->most)
      return inputError("{0} {1}: '{2}' must be a whole number from {3} to {4}; {5}", source, text, word.trim(),
                        known->least, known->most, accepted);
    known->set(layout, value);
  }
  return layout;
}

} // namespace apc
