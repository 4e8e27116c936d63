// Runs of statements found by their texts without numbers.
#include "RollLoops.h"

#include "PythonText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace apc {

namespace {

/// A number that may change from one run to the next: in a text, or the index of a table.
struct Slot {
  int64_t value = 0;
  bool isInText = false; ///< between quotes
};

/// A statement, cut at numbers that may change.
struct Statement {
  std::vector<std::string> parts; ///< one more than slots
  std::vector<Slot> slots;
  unsigned skeleton = 0; ///< equal for statements of equal parts
};

constexpr size_t columns = 110; ///< of a line of a long statement

/// Is a number of `text` from `at` to `end` an index of a table, or an end of a slice of it: `x[3]`, `x[0:3]`?
bool isIndexAt(llvm::StringRef text, size_t at, size_t end) {
  size_t open = text.take_front(at).find_last_of('[');
  if (open == llvm::StringRef::npos || open == 0 || !isNamePart(text[open - 1]))
    return false;
  bool isAlone = text.slice(open + 1, at).find_first_not_of("0123456789:") == llvm::StringRef::npos;
  return isAlone && (text.drop_front(end).starts_with("]") || text.drop_front(end).starts_with(":"));
}

Statement cutAtNumbers(llvm::StringRef text) {
  Statement statement;
  std::string part;
  bool isInText = false;
  size_t code = text.find("  # ");
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"' && (at == 0 || text[at - 1] != '\\') && at < code)
      isInText = !isInText;
    if (!llvm::isDigit(text[at])) {
      part += text[at++];
      continue;
    }
    size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    Slot slot{0, isInText};
    bool isNumber = !text.slice(at, end).getAsInteger(10, slot.value) && (text[at] != '0' || end - at == 1);
    if (isNumber && at < code && (isInText || isIndexAt(text, at, end))) {
      statement.parts.push_back(std::exchange(part, ""));
      statement.slots.push_back(slot);
    } else {
      part += text.slice(at, end);
    }
    at = end;
  }
  statement.parts.push_back(part);
  return statement;
}

/// Statements from `begin` on, `length` of them `count` times.
struct Repetition {
  size_t begin = 0, length = 0, count = 0;
  size_t lines = 0; ///< of the statements of one block, as they are broken
  size_t saved() const { return lines * (count - 1); }
};

class Roller {
public:
  explicit Roller(llvm::ArrayRef<std::string> texts) : texts(texts) {
    llvm::StringMap<unsigned> skeletons;
    for (const std::string &text : texts) {
      all.push_back(cutAtNumbers(text));
      std::string key = llvm::join(all.back().parts, "\n");
      all.back().skeleton = skeletons.try_emplace(key, skeletons.size()).first->second;
    }
    next.assign(all.size(), all.size());
    std::vector<size_t> last(skeletons.size(), all.size());
    for (size_t at = all.size(); at-- > 0;) {
      next[at] = last[all[at].skeleton];
      last[all[at].skeleton] = at;
    }
  }

  std::vector<std::string> roll();

private:
  /// The longest run of blocks of `length` from `begin` on.
  Repetition runAt(size_t begin, size_t length) const;
  Repetition bestRun(size_t begin) const;
  bool isSameBlock(size_t a, size_t b, size_t length) const;
  /// Do numbers change from the second block to the third as from the first to the second?
  bool isSameStep(size_t a, size_t b, size_t c, size_t length) const;
  void print(const Repetition &run, std::vector<std::string> &lines) const;

  llvm::ArrayRef<std::string> texts;
  std::vector<Statement> all;
  std::vector<size_t> next; ///< the next statement of equal parts
};

bool Roller::isSameBlock(size_t a, size_t b, size_t length) const {
  if (b + length > all.size())
    return false;
  for (size_t i = 0; i < length; ++i)
    if (all[a + i].skeleton != all[b + i].skeleton)
      return false;
  return true;
}

bool Roller::isSameStep(size_t a, size_t b, size_t c, size_t length) const {
  for (size_t i = 0; i < length; ++i)
    for (size_t slot = 0; slot < all[a + i].slots.size(); ++slot)
      if (all[c + i].slots[slot].value - all[b + i].slots[slot].value !=
          all[b + i].slots[slot].value - all[a + i].slots[slot].value)
        return false;
  return true;
}

Repetition Roller::runAt(size_t begin, size_t length) const {
  Repetition run{begin, length, 1};
  for (const std::string &text : texts.slice(begin, length))
    run.lines += 1 + text.size() / columns;
  while (isSameBlock(begin, begin + run.count * length, length) &&
         (run.count == 1 || isSameStep(begin + (run.count - 2) * length, begin + (run.count - 1) * length,
                                       begin + run.count * length, length)))
    ++run.count;
  return run;
}

Repetition Roller::bestRun(size_t begin) const {
  constexpr size_t mostTried = 16, longest = 400;
  Repetition best{begin, 1, 1, 1};
  size_t other = next[begin];
  for (size_t tried = 0; tried < mostTried && other < all.size() && other - begin <= longest; ++tried) {
    Repetition run = runAt(begin, other - begin);
    if (run.saved() > best.saved())
      best = run;
    other = next[other];
  }
  return best;
}

/// `i`, `i + 3`, `2 * i - 1`.
std::string affine(int64_t factor, int64_t addend) {
  std::string text = factor == 1 ? "i" : factor == -1 ? "-i" : std::to_string(factor) + " * i";
  if (factor == -1 && addend != 0)
    return std::to_string(addend) + " - i";
  if (addend != 0)
    text += (addend > 0 ? " + " : " - ") + std::to_string(std::abs(addend));
  return text;
}

void Roller::print(const Repetition &run, std::vector<std::string> &lines) const {
  auto step = [&](size_t i, size_t slot) {
    return all[run.begin + run.length + i].slots[slot].value - all[run.begin + i].slots[slot].value;
  };
  // The loop counts as the first number does that changes by one.
  int64_t first = 0, direction = 1;
  bool isFound = false;
  for (size_t i = 0; i < run.length && !isFound; ++i)
    for (size_t slot = 0; slot < all[run.begin + i].slots.size() && !isFound; ++slot)
      if (int64_t own = step(i, slot); own == 1 || own == -1) {
        isFound = true;
        direction = own;
        first = all[run.begin + i].slots[slot].value;
      }
  auto count = static_cast<int64_t>(run.count);
  std::string range = direction == 1 ? (first == 0 ? std::to_string(count)
                                                   : std::to_string(first) + ", " + std::to_string(first + count))
                                     : std::to_string(first) + ", " + std::to_string(first - count) + ", -1";
  lines.push_back("for i in range(" + range + "):");
  for (size_t i = 0; i < run.length; ++i) {
    const Statement &statement = all[run.begin + i];
    std::string text = statement.parts.front();
    for (size_t slot = 0; slot < statement.slots.size(); ++slot) {
      int64_t factor = step(i, slot) * direction, value = statement.slots[slot].value;
      std::string number = factor ? affine(factor, value - factor * first) : std::to_string(value);
      if (factor && statement.slots[slot].isInText) {
        size_t quote = text.rfind('"');
        if (quote == 0 || text[quote - 1] != 'f')
          text.insert(quote, "f");
        number = "{" + number + "}";
      }
      text += number + statement.parts[slot + 1];
    }
    lines.push_back("    " + text);
  }
}

std::vector<std::string> Roller::roll() {
  constexpr size_t least = 3; // lines that a loop must save
  std::vector<std::string> lines;
  for (size_t at = 0; at < all.size();) {
    Repetition run = bestRun(at);
    // A better run may begin inside this one.
    for (size_t later = at + 1; run.saved() >= least && later < at + run.length; ++later)
      if (bestRun(later).saved() > run.saved())
        run = {at, 1, 1, 1};
    if (run.saved() < least) {
      lines.push_back(texts[at++]);
      continue;
    }
    print(run, lines);
    at += run.length * run.count;
  }
  return lines;
}

} // namespace

std::vector<std::string> rollLoops(llvm::ArrayRef<std::string> statements) { return Roller(statements).roll(); }

} // namespace apc
