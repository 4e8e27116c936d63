// Errors about what a layout sets, in its own words.
#include "LayoutReferences.h"

#include "apc/Support/Error.h"

namespace apc {

llvm::Error inWordsOf(const ParallelDegrees &layout, llvm::Error error) {
  if (faultOf(error) != Fault::Input)
    return error;
  std::string text = takeMessage(std::move(error)).second;
  auto replace = [&](llvm::StringRef flag, llvm::StringRef key, const std::string &value) {
    const std::string asFlag = (flag + " " + value + ":").str();
    if (size_t at = text.find(asFlag); at != std::string::npos)
      text.replace(at, asFlag.size(), (key + "=" + value + " in --layout " + layout.str() + ":").str());
  };
  if (layout.copies > 1)
    replace("--copies", "copies", std::to_string(layout.copies));
  if (layout.recompute)
    replace("--recompute", "recompute", layout.recompute->str());
  return llvm::make_error<PlannerError>(Fault::Input, std::move(text));
}

} // namespace apc
