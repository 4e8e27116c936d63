// A scanner that walks valid JSON text to the place of one key.
#include "JsonLines.h"

#include "apc/Support/JsonText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace apc {

namespace {

/// A position in the text. Every function leaves it behind what it read; at the end of the text it stays there.
class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}

  size_t position() {
    skipSpace();
    return offset;
  }

  bool accept(char c) {
    skipSpace();
    if (offset >= text.size() || text[offset] != c)
      return false;
    ++offset;
    return true;
  }

  /// Steps over one character that is no string's.
  void advance() { offset = std::min(offset + 1, text.size()); }

  bool atEnd() { return position() >= text.size(); }
  char peek() const { return text[offset]; }

  /// The raw characters between the quotes.
  StringRef readString() {
    if (!accept('"'))
      return {};
    size_t begin = offset;
    while (offset < text.size() && text[offset] != '"')
      offset += text[offset] == '\\' ? 2 : 1;
    offset = std::min(offset, text.size());
    StringRef content = text.slice(begin, offset);
    accept('"');
    return content;
  }

  /// Skips one value. Brackets are counted, so the depth of nesting costs no stack.
  void skipValue() {
    unsigned depth = 0;
    do {
      skipSpace();
      if (offset >= text.size())
        return;
      char c = text[offset];
      if (c == '"') {
        readString();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++offset;
      } else if (c == '}' || c == ']') {
        if (depth == 0)
          return;
        --depth;
        ++offset;
      } else {
        // A number, a word, or the punctuation between members.
        do
          ++offset;
        while (offset < text.size() && !StringRef(",:[]{}\" \t\r\n").contains(text[offset]));
      }
    } while (depth > 0);
  }

private:
  void skipSpace() {
    while (offset < text.size() && isSpace(text[offset]))
      ++offset;
  }

  StringRef text;
  size_t offset = 0;
};

/// Moves from an object to the value of `key`; the offset of the key's text.
std::optional<size_t> enterMember(Scanner &scanner, StringRef key) {
  if (!scanner.accept('{'))
    return std::nullopt;
  do {
    size_t place = scanner.position();
    StringRef name = scanner.readString();
    if (!scanner.accept(':'))
      return std::nullopt;
    if (name == key)
      return place;
    scanner.skipValue();
  } while (scanner.accept(','));
  return std::nullopt;
}

/// Moves from an array to its element `index`; the element's offset.
std::optional<size_t> enterElement(Scanner &scanner, size_t index) {
  if (!scanner.accept('['))
    return std::nullopt;
  for (size_t i = 0; i < index; ++i) {
    scanner.skipValue();
    if (!scanner.accept(','))
      return std::nullopt;
  }
  return scanner.position();
}

} // namespace

std::string pathText(ArrayRef<std::string> path) {
  std::string text;
  for (const std::string &part : path) {
    bool isIndex = !part.empty() && isDigit(part.front());
    if (isIndex)
      text += "[" + part + "]";
    else
      text += (text.empty() ? "" : ".") + part;
  }
  return text.empty() ? "document" : text;
}

size_t lineOfPath(StringRef text, ArrayRef<std::string> path) {
  Scanner scanner(text);
  size_t place = scanner.position();
  for (const std::string &part : path) {
    size_t index = 0;
    bool isIndex = !part.empty() && isDigit(part.front()) && !StringRef(part).getAsInteger(10, index);
    std::optional<size_t> next = isIndex ? enterElement(scanner, index) : enterMember(scanner, part);
    if (!next)
      break;
    place = *next;
  }
  return lineOfOffset(text, place);
}

std::optional<size_t> offsetOfRepeatedKey(StringRef text) {
  Scanner scanner(text);
  // One set for each open bracket; those of arrays stay empty.
  std::vector<StringSet<>> open;
  while (!scanner.atEnd()) {
    size_t place = scanner.position();
    char c = scanner.peek();
    if (c == '"') {
      StringRef string = scanner.readString();
      if (scanner.accept(':') && !open.empty() && !open.back().insert(string).second)
        return place;
      continue;
    }
    if (c == '{' || c == '[')
      open.emplace_back();
    else if ((c == '}' || c == ']') && !open.empty())
      open.pop_back();
    scanner.advance();
  }
  return std::nullopt;
}

std::optional<size_t> offsetOfDepth(StringRef text, unsigned limit) {
  Scanner scanner(text);
  unsigned depth = 0;
  while (!scanner.atEnd()) {
    char c = scanner.peek();
    if (c == '"') {
      scanner.readString();
      continue;
    }
    if ((c == '{' || c == '[') && ++depth > limit)
      return scanner.position();
    if (c == '}' || c == ']')
      --depth;
    scanner.advance();
  }
  return std::nullopt;
}

} // namespace apc
