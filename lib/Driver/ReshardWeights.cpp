// Two manifests, the plan between them, and the files that it describes.
#include "apc/Driver/ReshardWeights.h"

namespace apc {

llvm::Expected<ReshardPlan> reshardWeights(const ReshardOptions &options) {
  llvm::Expected<SavedWeights> from = readSavedWeights(options.from);
  if (!from)
    return from.takeError();
  llvm::Expected<SavedWeights> to = readSavedWeights(options.to);
  if (!to)
    return to.takeError();
  llvm::Expected<ReshardPlan> plan = planReshard(std::move(*from), std::move(*to));
  if (!plan)
    return plan;
  if (llvm::Error error = options.folder.empty() ? checkSource(*plan) : writeResharded(*plan, options.folder))
    return error;
  return plan;
}

} // namespace apc
