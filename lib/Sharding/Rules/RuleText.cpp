// Reading the text of a rule, before shapes are known.
#include "apc/Sharding/FactorRule.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

bool isFactorName(llvm::StringRef name) {
  return !name.empty() && llvm::isAlpha(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// b0, b1, ...: the names that `...` gives to its factors.
bool isLeadingName(llvm::StringRef name) {
  return name.size() > 1 && name.front() == 'b' && llvm::all_of(name.drop_front(), llvm::isDigit);
}

using Words = llvm::SmallVector<llvm::StringRef, 8>;

/// Words of one tensor; parentheses are words of their own: "b (h d)" -> b ( h d ).
Words wordsOfTensor(llvm::StringRef text) {
  Words words;
  while (!(text = text.ltrim(" \t\n")).empty()) {
    size_t length = std::max<size_t>(1, std::min(text.size(), text.find_first_of(" \t\n()")));
    words.push_back(text.take_front(length));
    text = text.drop_front(length);
  }
  return words;
}

} // namespace

/// Collects what one text says; every function returns the error that points at the offending word.
class RuleTextParser {
public:
  explicit RuleTextParser(llvm::StringRef text) : text(text) {}

  llvm::Expected<RuleText> run() {
    auto [left, right] = text.split("->");
    if (!text.contains("->") || right.contains("->"))
      return complain("'->' must stand once between operands and results");
    if (llvm::Error error = parseSide(left, "operand", rule.operands))
      return error;
    if (left.trim().empty())
      rule.operands.clear();
    if (llvm::Error error = parseSide(right, "result", rule.results))
      return error;
    if (llvm::Error error = checkNames())
      return error;
    return std::move(rule);
  }

private:
  /// "operand 1", as text only where something is wrong with it.
  struct Place {
    const char *kind;
    size_t index;
  };

  template <typename... Args>
  llvm::Error complainAt(const Place &place, const char *format, Args &&...args) {
    return complain("{0} {1}: {2}", place.kind, place.index, llvm::formatv(format, std::forward<Args>(args)...).str());
  }

  template <typename... Args>
  llvm::Error complain(const char *format, Args &&...args) {
    std::string message = llvm::formatv(format, std::forward<Args>(args)...).str();
    return inputError("rule '{0}': {1}", text, message);
  }

  llvm::Error parseSide(llvm::StringRef side, const char *kind, std::vector<RuleText::TensorText> &tensors) {
    llvm::SmallVector<llvm::StringRef> texts;
    side.split(texts, ',');
    for (llvm::StringRef tensorText : texts) {
      Place place{kind, tensors.size()};
      tensors.emplace_back();
      if (llvm::Error error = parseTensor(wordsOfTensor(tensorText), place, tensors.back()))
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Error parseTensor(llvm::ArrayRef<llvm::StringRef> words, const Place &place, RuleText::TensorText &tensor) {
    if (words.size() == 1 && words.front() == "_") {
      tensor.ignored = true;
      return llvm::Error::success();
    }
    bool inside = false, hasEllipsis = false;
    for (llvm::StringRef word : words) {
      if (word == "(" || word == ")") {
        if (inside == (word == "("))
          return complainAt(place, "'{0}' without its partner", word);
        inside = word == "(";
        if (inside)
          tensor.dims.emplace_back();
        else if (tensor.dims.back().factors.empty())
          return complainAt(place, "'()' holds no factor");
        continue;
      }
      if (!inside)
        tensor.dims.emplace_back();
      if (llvm::Error error = parseWord(word, place, inside, tensor.dims.back()))
        return error;
      if (tensor.dims.back().ellipsis && std::exchange(hasEllipsis, true))
        return complainAt(place, "'...' stands twice");
    }
    if (inside)
      return complainAt(place, "'(' without its partner");
    return llvm::Error::success();
  }

  /// `k`, `!k`, `max:k`, `...`, `!...`, or `1`.
  llvm::Error parseWord(llvm::StringRef word, const Place &place, bool inside, RuleText::DimText &dim) {
    llvm::StringRef name = word;
    bool whole = name.consume_front("!");
    std::optional<Combiner> combiner;
    if (name.contains(':')) {
      auto [combinerText, rest] = name.split(':');
      combiner = parseCombiner(combinerText);
      if (!combiner || whole)
        return complainAt(place, "'{0}' does not begin with sum:, max:, min:, product:, and: or or:", word);
      name = rest;
    }
    if (name == "1" && !inside && !whole && !combiner)
      return llvm::Error::success();
    dim.ellipsis = name == "...";
    if (dim.ellipsis ? inside : !isFactorName(name))
      return complainAt(place, "'{0}' is not a factor", word);
    if (!dim.ellipsis)
      dim.factors.push_back(name.str());
    if (whole && !llvm::is_contained(rule.wholeFactors, name))
      rule.wholeFactors.push_back(name.str());
    if (combiner)
      rule.combiners.emplace_back(name.str(), *combiner);
    return llvm::Error::success();
  }

  /// Names of `...` are free, and combiners belong to reductions.
  llvm::Error checkNames() {
    bool hasEllipsis = false;
    llvm::SmallVector<llvm::StringRef, 16> all, inResults;
    auto collect = [&](const std::vector<RuleText::TensorText> &tensors, bool results) {
      for (const RuleText::TensorText &tensor : tensors)
        for (const RuleText::DimText &dim : tensor.dims) {
          hasEllipsis |= dim.ellipsis;
          if (dim.ellipsis && results)
            inResults.push_back("...");
          for (const std::string &name : dim.factors) {
            all.push_back(name);
            if (results)
              inResults.push_back(name);
          }
        }
    };
    collect(rule.operands, false);
    collect(rule.results, true);
    for (llvm::StringRef name : all)
      if (hasEllipsis && isLeadingName(name))
        return complain("'{0}' is a name that '...' gives; take another", name);
    for (const auto &[name, combiner] : rule.combiners)
      if (llvm::is_contained(inResults, name))
        return complain("'{0}:{1}': only a factor that no result has is combined", combinerName(combiner), name);
    return llvm::Error::success();
  }

  llvm::StringRef text;
  RuleText rule;
};

llvm::Expected<RuleText> RuleText::parse(llvm::StringRef text) { return RuleTextParser(text).run(); }

} // namespace apc
