// "auto" or a number.
#include "apc/Plan/CountChoice.h"

#include "apc/Support/Error.h"

namespace apc {

llvm::Expected<CountChoice> parseCountChoice(llvm::StringRef text, llvm::StringRef source) {
  constexpr int64_t most = int64_t(1) << 20;
  int64_t count = 0;
  if (text == "auto")
    return CountChoice{};
  if (text.getAsInteger(10, count) || count < 1 || count > most)
    return inputError("{0}: '{1}': a whole number from 1 to {2} or 'auto' is expected", source, text, most);
  return CountChoice{count};
}

} // namespace apc
