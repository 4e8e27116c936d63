// Escapes for what terminals obey.
#include "apc/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Unicode.h"

namespace apc {

namespace {

/// The character at the beginning of `text`, which is not empty, and its bytes; none where they are no UTF-8.
std::optional<llvm::UTF32> takeCharacter(llvm::StringRef &text) {
  const auto *at = text.bytes_begin();
  llvm::UTF32 character = 0;
  if (llvm::convertUTF8Sequence(&at, text.bytes_end(), &character, llvm::strictConversion) != llvm::conversionOK) {
    text = text.drop_front();
    return std::nullopt;
  }
  text = text.drop_front(static_cast<size_t>(at - text.bytes_begin()));
  return character;
}

/// The next ' that stands before a word, or behind one, and is no apostrophe in it.
size_t findQuote(llvm::StringRef text, size_t from, bool opens) {
  for (size_t at = text.find('\'', from); at != llvm::StringRef::npos; at = text.find('\'', at + 1)) {
    size_t beside = opens ? at - 1 : at + 1; // before the first character comes none: npos
    if (beside >= text.size() || !llvm::isAlnum(text[beside]))
      return at;
  }
  return llvm::StringRef::npos;
}

} // namespace

bool isUtf8(llvm::StringRef text) {
  const auto *at = text.bytes_begin();
  return llvm::isLegalUTF8String(&at, text.bytes_end());
}

std::string visibleText(llvm::StringRef text, bool keepsLines) {
  auto isPlain = [&](char c) { return (c >= ' ' && c < 0x7f) || (keepsLines && c == '\n'); };
  if (llvm::all_of(text, isPlain))
    return text.str();
  std::string visible;
  while (!text.empty()) {
    llvm::StringRef rest = text;
    std::optional<llvm::UTF32> character = takeCharacter(rest);
    llvm::StringRef bytes = text.drop_back(rest.size());
    if (isPlain(bytes[0]) || (character > 0x9f && llvm::sys::unicode::isPrintable(static_cast<int>(*character))))
      visible += bytes;
    else if (character > 0x7f)
      visible += llvm::formatv("\\u{{{0:x-}}", *character).str();
    else
      visible += llvm::formatv("\\x{0:x-2}", static_cast<unsigned char>(bytes[0])).str();
    text = rest;
  }
  return visible;
}

std::string visibleMessage(llvm::StringRef message) {
  std::string visible;
  while (!message.empty()) {
    size_t open = findQuote(message, 0, /*opens=*/true);
    size_t close = open == llvm::StringRef::npos ? open : findQuote(message, open + 1, /*opens=*/false);
    if (close == llvm::StringRef::npos)
      return visible + visibleText(message, /*keepsLines=*/true);
    visible += visibleText(message.take_front(open), /*keepsLines=*/true) + visibleText(message.slice(open, close + 1));
    message = message.drop_front(close + 1);
  }
  return visible;
}

} // namespace apc
