// "auto", a number, or a number for each worker.
#include "apc/Plan/PipelineChoice.h"

#include "apc/Plan/CountChoice.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

std::string PipelineChoice::str() const {
  if (devices.empty())
    return CountChoice{count}.str();
  return llvm::join(llvm::map_range(devices, [](int64_t own) { return std::to_string(own); }), "+");
}

llvm::Expected<PipelineChoice> parsePipelineChoice(llvm::StringRef text, llvm::StringRef source) {
  if (!text.contains('+')) {
    llvm::Expected<CountChoice> count = parseCountChoice(text, source);
    if (!count)
      return inputError("{0}; or the devices of each worker, as 4+2+2", takeMessage(count.takeError()).second);
    return PipelineChoice{count->count};
  }
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, '+');
  PipelineChoice choice{static_cast<int64_t>(parts.size())};
  for (llvm::StringRef part : parts) {
    llvm::Expected<CountChoice> own = parseCountChoice(part, source);
    if (!own || !own->count) {
      llvm::consumeError(own.takeError());
      return inputError("{0}: '{1}' has no number of devices in '{2}'; accepted are numbers from 1 on with + between "
                        "them, as 4+2+2",
                        source, text, part);
    }
    choice.devices.push_back(*own->count);
  }
  return choice;
}

} // namespace apc
