// Bytes of parameters and states, whole and on one device.
#include "StorageText.h"

#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace apc {

namespace {

struct StoredBytes {
  double whole = 0, local = 0;

  double share() const { return whole > 0 ? local / whole : 1; }
};

double bytesOf(llvm::ArrayRef<int64_t> shape, int64_t elementBits) {
  double bytes = static_cast<double>(elementBits) / 8;
  for (int64_t size : shape)
    bytes *= static_cast<double>(size);
  return bytes;
}

StoredBytes bytesOf(const Plan &plan, ValueRole role) {
  StoredBytes bytes;
  for (const StagePlan &stage : plan.stages)
    for (const PlanSharding &sharding : stage.shardings)
      if (sharding.role == role) {
        bytes.whole += bytesOf(sharding.shape, sharding.elementBits);
        bytes.local += bytesOf(sharding.localShape, sharding.elementBits);
      }
  return bytes;
}

/// The parameters that are gathered for their use.
size_t countGathered(const Plan &plan) {
  size_t count = 0;
  for (const StagePlan &stage : plan.stages) {
    llvm::StringSet<> parameters, gathered;
    for (const PlanSharding &sharding : stage.shardings)
      if (sharding.role == ValueRole::Parameter)
        parameters.insert(sharding.value);
    for (const PlanMove &move : stage.moves)
      if (llvm::any_of(move.collectives, [](llvm::StringRef text) { return text.starts_with("AllGather"); }))
        for (const std::string &value : move.values)
          if (parameters.contains(value))
            gathered.insert(value);
    count += gathered.size();
  }
  return count;
}

std::string shareText(const StoredBytes &bytes) {
  if (bytes.share() > 0.995)
    return "whole";
  return llvm::formatv("1/{0} of all", formatCount(1 / bytes.share())).str();
}

} // namespace

std::string storageText(const Plan &plan) {
  if (plan.request.mode != StepMode::Train)
    return "";
  StoredBytes parameters = bytesOf(plan, ValueRole::Parameter), states = bytesOf(plan, ValueRole::OptimizerState);
  std::string text = optimizerName(plan.request.optimizer).str();
  if (plan.request.precision != PrecisionChoice::Model)
    text += (" in " + precisionChoiceName(plan.request.precision)).str();
  text += llvm::formatv("; parameters {0} on each device, {1}", formatBytes(parameters.local), shareText(parameters));
  if (size_t gathered = countGathered(plan))
    text += llvm::formatv(" (ZeRO 3: {0} gathered for use)", counted(static_cast<int64_t>(gathered), "tensor"));
  if (states.whole == 0)
    return text;
  text += llvm::formatv("; states {0}, {1}", formatBytes(states.local), shareText(states));
  if (states.share() < 0.99 * parameters.share())
    text += " (ZeRO 1: cut further than the parameters)";
  return text;
}

} // namespace apc
