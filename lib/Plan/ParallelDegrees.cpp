// Reading and writing layouts.
#include "apc/Plan/ParallelDegrees.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

namespace apc {

namespace {

constexpr const char *accepted = "accepted is dp=N,tp=N[,zero=0..3], for instance dp=8,tp=8,zero=1";
constexpr int64_t mostWays = int64_t(1) << 20;

} // namespace

std::string ParallelDegrees::str() const {
  std::string text = llvm::formatv("dp={0},tp={1}", data, tensor).str();
  return zero == 0 ? text : llvm::formatv("{0},zero={1}", text, zero).str();
}

llvm::Expected<ParallelDegrees> parseParallelDegrees(llvm::StringRef text, llvm::StringRef source) {
  ParallelDegrees layout;
  std::set<llvm::StringRef> seen;
  for (llvm::StringRef word : llvm::split(text, ',')) {
    auto [key, number] = word.trim().split('=');
    if (key != "dp" && key != "tp" && key != "zero")
      return inputError("{0} {1}: unknown key '{2}'; {3}", source, text, key, accepted);
    if (!seen.insert(key).second)
      return inputError("{0} {1}: '{2}' is given twice; {3}", source, text, key, accepted);
    int64_t least = key == "zero" ? 0 : 1, most = key == "zero" ? 3 : mostWays, value = 0;
    if (number.getAsInteger(10, value) || value < least || value > most)
      return inputError("{0} {1}: '{2}' must be a whole number from {3} to {4}; {5}", source, text, word.trim(), least,
                        most, accepted);
    if (key == "zero")
      layout.zero = static_cast<int>(value);
    else
      (key == "dp" ? layout.data : layout.tensor) = value;
  }
  return layout;
}

} // namespace apc
