// Syntax errors of JSON in our words.
#include "apc/Support/JsonText.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

size_t lineOfOffset(llvm::StringRef text, size_t offset) { return text.take_front(offset).count('\n') + 1; }

std::string jsonSyntaxProblem(llvm::StringRef text, size_t consumed) {
  if (text.trim().empty())
    return "the file is empty";
  if (consumed == 0 || consumed > text.size())
    return "the text ends before its brackets are closed";
  char last = text[consumed - 1];
  auto code = static_cast<unsigned char>(last);
  if (code >= 0x80)
    return "byte 0x" + llvm::utohexstr(code, /*LowerCase=*/true) + " is not expected here; texts are in UTF-8";
  if (code < 0x20 || code == 0x7f)
    return "byte 0x" + llvm::utohexstr(code, /*LowerCase=*/true) +
           " is not expected here; line ends and other control characters in a text are written with a backslash";
  return std::string("'") + last + "' is not expected here";
}

} // namespace apc
