// Remarks on pins that do nothing here.
#include "PinNotes.h"

#include "apc/Cluster/LevelWord.h"
#include "apc/Plan/Plan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

std::vector<std::string> pinNotes(llvm::ArrayRef<Pin> pins, const Pool &pool) {
  std::vector<std::string> notes;
  auto isSingle = [&](const PinnedAxes &axes) {
    return llvm::any_of(pool.levels,
                        [&](const Level &level) { return levelWord(level.name) == axes.level && level.size == 1; });
  };
  for (const Pin &pin : pins)
    for (const PinnedFactor &factor : pin.factors)
      for (const PinnedAxes &axes : factor.axes)
        if (isSingle(axes))
          notes.push_back(llvm::formatv("pin '{0}' ({1}) does not cut {2} over '{3}': these devices are one {3}",
                                        pin.str(), pin.source, factor.factor, axes.level)
                              .str());
  return notes;
}

} // namespace apc
