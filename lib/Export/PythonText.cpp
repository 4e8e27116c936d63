// Texts between double quotes.
#include "PythonText.h"

#include "apc/Support/Json/JsonWriter.h"

namespace apc {

std::string pythonText(llvm::StringRef text) { return printJson(text, 0); }

std::string pythonList(llvm::ArrayRef<std::string> texts) {
  std::string list;
  for (const std::string &text : texts)
    list += (list.empty() ? "" : ", ") + pythonText(text);
  return "[" + list + "]";
}

} // namespace apc
