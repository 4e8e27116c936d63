// Runs of tensors by the numbers in their texts.
#include "FoldLists.h"

#include "llvm/ADT/StringExtras.h"

#include <array>
#include <map>
#include <optional>

namespace apc {

namespace {

/// A text around its number: `kept.add[`, 3, `]`, or `weights["h.`, 3, `.w"]`.
struct Numbered {
  std::string before, after;
  int64_t number = 0;
  bool isEntry = false; ///< of a table
};

/// Tables have their numbers as indices; of names of weights the first number tells layers apart.
std::optional<Numbered> numbered(llvm::StringRef text) {
  bool isEntry = text.starts_with("kept.") && text.ends_with("]");
  size_t begin = isEntry ? text.rfind('[') + 1 : text.find_first_of("0123456789");
  if (begin == llvm::StringRef::npos || (!isEntry && !text.starts_with("weights[\"")))
    return std::nullopt;
  Numbered found{text.take_front(begin).str(), "", 0, isEntry};
  llvm::StringRef rest = text.drop_front(begin), digits = rest.take_while(llvm::isDigit);
  if (digits.getAsInteger(10, found.number) || (digits.starts_with("0") && digits.size() > 1))
    return std::nullopt;
  found.after = rest.drop_front(digits.size()).str();
  return found;
}

/// Numbers from `begin` on, `count` of them, by equal steps.
struct Steps {
  int64_t begin = 0, step = 1, count = 1;

  bool takes(int64_t number) {
    if (count == 1)
      step = number - begin;
    bool isNext = step != 0 && number == begin + step * count;
    count += isNext ? 1 : 0;
    return isNext;
  }
  int64_t end() const { return begin + step * count; }
  /// "0:3", "0:6:2", "2::-1".
  std::string slice() const {
    std::string last = end() < 0 ? "" : std::to_string(end());
    return std::to_string(begin) + ":" + last + (step == 1 ? "" : ":" + std::to_string(step));
  }
  std::string range() const {
    std::string first = begin == 0 && step == 1 ? "" : std::to_string(begin) + ", ";
    return "range(" + first + std::to_string(end()) + (step == 1 ? "" : ", " + std::to_string(step)) + ")";
  }
};

struct Run {
  Steps tensors, results;
  size_t first = 0; ///< tensor
};

std::string listText(const Numbered &tensor, const Steps &steps) {
  if (tensor.isEntry)
    return tensor.before + steps.slice() + tensor.after;
  llvm::StringRef inQuotes = tensor.before;
  inQuotes.consume_front("weights[");
  return "[weights[f" + inQuotes.str() + "{i}" + tensor.after + " for i in " + steps.range() + "]";
}

} // namespace

std::vector<ListedTensor> foldLists(llvm::ArrayRef<ListedTensor> tensors) {
  std::vector<Run> runs;
  std::map<std::array<std::string, 5>, size_t> last; // run of tensors of equal texts but for numbers
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    std::optional<Numbered> text = numbered(tensor.text), result = numbered(tensor.result);
    Run run{{text ? text->number : 0}, {result ? result->number : 0}, index};
    if (text && result && result->isEntry) {
      std::array<std::string, 5> key = {text->before, text->after, tensor.place, result->before, result->after};
      auto [known, isNew] = last.try_emplace(key, runs.size());
      if (!isNew) {
        Run longer = runs[known->second];
        if (longer.tensors.takes(text->number) && longer.results.takes(result->number)) {
          runs[known->second] = longer;
          continue;
        }
        known->second = runs.size();
      }
    }
    runs.push_back(run);
  }
  std::vector<ListedTensor> folded;
  for (const Run &run : runs) {
    ListedTensor tensor = tensors[run.first];
    if (run.tensors.count > 1) {
      tensor.text = listText(*numbered(tensor.text), run.tensors);
      Numbered result = *numbered(tensor.result);
      tensor.result = result.before + run.results.slice() + result.after;
    }
    folded.push_back(std::move(tensor));
  }
  return folded;
}

} // namespace apc
