// One sentence for each thing that is lost.
#include "NearestLayout.h"

#include "llvm/Support/FormatVariadic.h"

namespace apc {

void runWhole(TargetLayout &nearest, llvm::StringRef runner) {
  if (nearest.layout.copies == 1)
    return;
  nearest.unsaid.push_back(llvm::formatv("each micro-batch is cut into {0} copies that run in turn: {1} runs it whole",
                                         nearest.layout.copies, runner));
  nearest.layout.copies = 1;
}

void cutBetweenLayers(TargetLayout &nearest, const ModelLayers &layers, llvm::StringRef tool) {
  for (auto [stage, layer] : layers.splits)
    nearest.unsaid.push_back(
        llvm::formatv("stage {0} begins inside of layer {1}: {2} cuts between layers", stage, layer, tool));
}

} // namespace apc
