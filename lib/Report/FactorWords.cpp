// The one table of the letters that rules name their factors with.
#include "FactorWords.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

namespace apc {

namespace {

/// A letter without its number. `word` is for the letter with the number 0 or none, `others` for higher numbers.
struct Letter {
  llvm::StringLiteral letter, word, others;
  bool saysLittle = false; ///< a dim of something: not named where an axis carries more than that
};

/// In the order of legends. Letters of einsum equations are the model's and have no place here.
constexpr Letter letters[] = {
    {"b", "batch", "next dims"},
    {"m", "rows", "rows"},
    {"n", "columns", "columns"},
    {"k", "summed", "summed"},
    {"kv", "heads", "heads"},
    {"g", "heads of a group", "heads of a group"},
    {"h", "heads", "rows of an image"},
    {"s", "query positions", "query positions"},
    {"t", "tokens", "tokens"},
    {"e", "experts", "experts"},
    {"f", "hidden columns", "hidden columns"},
    {"v", "rows of a table", "rows of a table"},
    {"o", "output channels", "output channels"},
    {"c", "channels", "channels"},
    {"y", "image rows", "image columns"},
    {"r", "rows of a window", "columns of a window"},
    {"d", "dims", "dims", true},
    {"i", "dims of a reshape", "dims of a reshape", true},
    {"passing", "sums left pending", "sums left pending", true},
};

const Letter *findLetter(llvm::StringRef factor) {
  llvm::StringRef name = factor.rtrim("0123456789");
  const Letter *found = llvm::find_if(letters, [&](const Letter &entry) { return entry.letter == name; });
  return found == std::end(letters) ? nullptr : found;
}

bool isNumbered(llvm::StringRef factor) { return !factor.empty() && llvm::isDigit(factor.back()); }

bool isFirst(llvm::StringRef factor) {
  return !isNumbered(factor) || factor.ltrim("abcdefghijklmnopqrstuvwxyz") == "0";
}

/// "k=16 sum" in the braces of a rule: the factor is in no result.
bool isReduced(llvm::StringRef factor, llvm::StringRef rule) {
  llvm::SmallVector<llvm::StringRef> parts;
  rule.split('{').second.split('}').first.split(parts, ',');
  return llvm::any_of(parts, [&](llvm::StringRef part) {
    auto [name, size] = part.trim().split('=');
    return name == factor && size.contains(' ') && !size.ends_with("!");
  });
}

/// "n c !h !w, o c !r !s -> n o !y !x": n leads the first operand, so it is no column.
bool leads(llvm::StringRef factor, llvm::StringRef rule) {
  auto [first, rest] = rule.split(' ');
  return first == factor && rest.split("-> ").second.split(' ').first == factor;
}

bool hasFactor(llvm::StringRef factor, llvm::StringRef rule) {
  llvm::StringRef sizes = rule.split('{').second;
  return sizes.starts_with((factor + "=").str()) || sizes.contains((" " + factor + "=").str());
}

/// Letters whose meaning depends on the rule's others; empty for those that always mean one thing.
llvm::StringRef wordByRule(llvm::StringRef letter, llvm::StringRef factor, llvm::StringRef rule) {
  bool reduced = isReduced(factor, rule), hasHeads = hasFactor("kv", rule);
  if (letter == "n" && leads(factor, rule))
    return "batch";
  if (letter == "s" && !hasHeads)
    return "positions";
  if (letter == "t" && hasHeads)
    return "key positions";
  if (letter == "c" && reduced)
    return "input channels";
  if ((letter == "k" && !reduced) || (letter == "g" && !hasHeads))
    return "groups";
  if (letter == "e" && reduced && !hasFactor("f", rule))
    return "summed";
  return "";
}

/// The words of one axis with the seconds of the ops that it cuts so.
struct Carried {
  std::map<std::string, double> seconds, dims; ///< the latter for letters that say little
};

/// The longest first, without those below a twentieth of the longest.
std::string mostOf(const std::map<std::string, double> &seconds) {
  std::vector<std::pair<std::string, double>> words(seconds.begin(), seconds.end());
  llvm::stable_sort(words, [](const auto &a, const auto &b) { return a.second > b.second; });
  constexpr double least = 0.05;
  constexpr size_t most = 4;
  std::vector<std::string> texts;
  for (const auto &[word, time] : llvm::ArrayRef(words).take_front(most))
    if (time >= least * words.front().second)
      texts.push_back(word);
  return llvm::join(texts, ", ");
}

std::map<std::string, Carried> carriedBy(const StagePlan &stage) {
  std::map<std::string, Carried> carried;
  for (const PlanChoice &choice : stage.choices)
    for (const NamedStrategy::Cut &cut : choice.strategy.cuts) {
      const Letter *letter = findLetter(cut.factor);
      bool saysLittle = !letter || letter->saysLittle || (letter->letter == "b" && !isFirst(cut.factor));
      std::string word = wordOf(cut.factor, stage.rejections[choice.rejections].rule).word;
      for (const std::string &axis : cut.axes)
        (saysLittle ? carried[axis].dims : carried[axis].seconds)[word] += choice.seconds + choice.communicationSeconds;
    }
  return carried;
}

/// "inputs": the values that arrive or rest in pieces of an axis over which no op is cut; "idle" where there are none.
std::string restingText(const StagePlan &stage, llvm::StringRef axis) {
  for (auto [role, word] : {std::pair(ValueRole::Input, "inputs"), std::pair(ValueRole::Parameter, "parameters")})
    for (const PlanSharding &value : stage.shardings)
      if (value.role == role && !value.users.empty() &&
          llvm::any_of(value.sharding.dims, [&](const AxisNames &axes) { return llvm::is_contained(axes, axis); }))
        return word;
  return "idle";
}

} // namespace

FactorWord wordOf(llvm::StringRef factor, llvm::StringRef rule) {
  const Letter *letter = findLetter(factor);
  if (!letter)
    return {factor.str(), isReduced(factor, rule) ? "summed" : "the model's own letter"};
  std::string name = letter->letter.str();
  if (letter->letter == "b")
    return isFirst(factor) ? FactorWord{factor.str(), "batch"} : FactorWord{"b1, b2, ..", "the dims behind it"};
  if (llvm::StringRef word = wordByRule(letter->letter, factor, rule); !word.empty())
    return {factor.str(), word.str()};
  if (letter->saysLittle)
    return {name + "0, " + name + "1, ..", letter->word.str()};
  return {factor.str(), (isFirst(factor) ? letter->word : letter->others).str()};
}

std::string legendOf(const Plan &plan) {
  std::map<size_t, std::vector<std::string>> entries; // by place in the table
  for (const StagePlan &stage : plan.stages)
    for (const PlanChoice &choice : stage.choices)
      for (const NamedStrategy::Cut &cut : choice.strategy.cuts) {
        FactorWord word = wordOf(cut.factor, stage.rejections[choice.rejections].rule);
        const Letter *letter = findLetter(cut.factor);
        size_t place = letter ? static_cast<size_t>(letter - letters) : std::size(letters);
        std::vector<std::string> &texts = entries[place];
        if (std::string text = word.letter + " " + word.word; !llvm::is_contained(texts, text))
          texts.push_back(text);
      }
  std::vector<std::string> legend;
  for (auto &[place, texts] : entries) {
    llvm::sort(texts);
    llvm::append_range(legend, texts);
  }
  return llvm::join(legend, "; ");
}

std::string carriesText(const StagePlan &stage) {
  std::map<std::string, Carried> carried = carriedBy(stage);
  std::string text;
  for (const PlanAxis &axis : stage.mesh.axes) {
    const Carried &work = carried[axis.name];
    text += (text.empty() ? "" : "; ") + axis.name + ": ";
    text += !work.seconds.empty() ? mostOf(work.seconds)
            : !work.dims.empty()  ? mostOf(work.dims)
                                  : restingText(stage, axis.name);
  }
  return text;
}

} // namespace apc
