// One sentence for each thing that is lost.
#include "NearestLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

void refuseUnequalWorkers(const Plan &plan, Refusals &refusals) {
  if (plan.pipeline && !plan.pipeline->workerDevices.empty())
    refusals.addIf(true, "workers have unequal numbers of devices, " + plan.pipeline->choice().str() +
                             ", and one set of degrees is for all");
}

void runWhole(TargetLayout &nearest, llvm::StringRef runner) {
  if (nearest.layout.copies == 1)
    return;
  nearest.unsaid.push_back(llvm::formatv("each micro-batch is cut into {0} copies that run in turn: {1} runs it whole",
                                         nearest.layout.copies, runner));
  nearest.layout.copies = 1;
}

int64_t replicasOf(const ParallelDegrees &layout) {
  if (layout.zero == 0)
    return layout.data;
  const int64_t ranks = layout.data * layout.context;
  return ranks / layout.shard.value_or(ranks);
}

void cutOverAll(TargetLayout &nearest, llvm::StringRef runner) {
  if (!nearest.layout.shard)
    return;
  nearest.unsaid.push_back(
      llvm::formatv("groups of {0} ranks hold the same parts: {1} cuts over all ranks", *nearest.layout.shard, runner));
  nearest.layout.shard.reset();
}

void cutOverContexts(TargetLayout &nearest, llvm::StringRef runner) {
  const ParallelDegrees &layout = nearest.layout;
  if (layout.shard.value_or(layout.context) % layout.context != 0)
    cutOverAll(nearest, runner);
}

void cutCopiedExperts(TargetLayout &nearest, llvm::StringRef tool) {
  if (nearest.layout.experts > 1 || !nearest.layout.hasWholeExperts())
    return;
  nearest.unsaid.push_back(llvm::formatv(
      "experts are whole on ranks of tp, each of which has tokens of its own: {0} cuts them as it cuts the rest",
      tool));
  nearest.layout.expertTensor.reset();
}

void cutBetweenLayers(TargetLayout &nearest, const ModelLayers &layers, llvm::StringRef tool) {
  for (auto [stage, layer] : layers.splits)
    nearest.unsaid.push_back(
        llvm::formatv("stage {0} begins inside of layer {1}: {2} cuts between layers", stage, layer, tool));
}

} // namespace apc
