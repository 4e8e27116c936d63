// Bytes of parameters and states, whole and on one device.
#include "StorageText.h"

#include "apc/Plan/GatheredParameters.h"
#include "apc/Plan/ParallelDegrees.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <map>

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

/// Of all stages, and of the device of a pipeline that holds most.
StoredBytes bytesOf(const Plan &plan, ValueRole role) {
  StoredBytes bytes;
  std::map<int64_t, double> local; // by the first rank of the worker
  for (const StagePlan &stage : plan.stages)
    for (const PlanSharding &sharding : stage.shardings)
      if (sharding.role == role) {
        bytes.whole += bytesOf(sharding.shape, sharding.elementBits);
        local[stage.firstRank] += bytesOf(sharding.localShape, sharding.elementBits);
      }
  for (const auto &[rank, own] : local)
    bytes.local = std::max(bytes.local, own);
  return bytes;
}

/// Parameters that are gathered for their use, and how many of them are for each pass: ways of their own lead from the
/// storage to the users in the forward pass and to those in the backward pass.
struct GatheredParameters {
  int64_t all = 0, forEachPass = 0;
};

GatheredParameters countGathered(const Plan &plan) {
  GatheredParameters count;
  for (const StagePlan &stage : plan.stages)
    for (const auto &entry : gathersOf(stage)) {
      count.all += entry.second > 0;
      count.forEachPass += entry.second > 1;
    }
  return count;
}

bool isCutOver(const NamedSharding &sharding, llvm::StringRef axis) {
  return llvm::any_of(sharding.dims, [&](const AxisNames &axes) { return llvm::is_contained(axes, axis); });
}

/// Of the values of a role in a stage, the share of bytes that is cut over an axis: as it rests, or, of parameters that
/// are gathered, as it is used.
double shareCutOver(const StagePlan &stage, ValueRole role, llvm::StringRef axis, bool asUsed) {
  llvm::StringSet<> whole; // gathered over the axis
  for (const PlanMove &move : stage.moves)
    if (asUsed && move.source.empty() && !isCutOver(move.target, axis) &&
        llvm::any_of(move.collectives, [](llvm::StringRef text) { return text.starts_with("AllGather"); }))
      for (const std::string &value : move.values)
        whole.insert(value);
  double all = 0, cut = 0;
  for (const PlanSharding &sharding : stage.shardings)
    if (sharding.role == role) {
      double bytes = bytesOf(sharding.shape, sharding.elementBits);
      all += bytes;
      cut += isCutOver(sharding.sharding, axis) && !whole.contains(sharding.value) ? bytes : 0;
    }
  return all > 0 ? cut / all : 0;
}

/// May pieces be told as those of a stage of ZeRO? Those of a layout of a lower stage are tp's: with zero=0,tp=2
/// weights of normalisations may rest in halves, but ranks of dp hold nothing in pieces.
bool mayBeOfStage(const Plan &plan, int stage) {
  const std::optional<ParallelDegrees> layout = layoutNamed(plan.search);
  return !layout || layout->zero >= stage;
}

/// "device=8" or "node.a=4 node.b=2".
std::string axesText(llvm::ArrayRef<const PlanAxis *> axes) {
  return llvm::join(
      llvm::map_range(axes, [](const PlanAxis *axis) { return axis->name + "=" + std::to_string(axis->size); }), " ");
}

/// Most bytes of states (of parameters, where there are no states) are cut over some of the axes on which parameters
/// are used whole, and lie on all devices of others. Inside nodes and across them this is HSDP (PyTorch FSDP) and MiCS
/// (Zhang et al. 2022). Empty where a stage has none of both kinds of axes.
std::string hybridText(const StagePlan &stage) {
  constexpr double most = 0.5;
  bool hasStates =
      llvm::any_of(stage.shardings, [](const PlanSharding &own) { return own.role == ValueRole::OptimizerState; });
  ValueRole stored = hasStates ? ValueRole::OptimizerState : ValueRole::Parameter;
  std::vector<const PlanAxis *> cut, whole;
  for (const PlanAxis &axis : stage.mesh.axes) {
    if (axis.size == 1 || shareCutOver(stage, ValueRole::Parameter, axis.name, /*asUsed=*/true) >= most)
      continue;
    bool isCut = shareCutOver(stage, stored, axis.name, /*asUsed=*/false) >= most;
    (isCut ? cut : whole).push_back(&axis);
  }
  if (cut.empty() || whole.empty())
    return "";
  bool isInside = llvm::all_of(whole, [&](const PlanAxis *outer) {
    return llvm::all_of(cut, [&](const PlanAxis *inner) { return outer->levelIndex < inner->levelIndex; });
  });
  return llvm::formatv("hybrid sharding{0}: cut over {1}, replicated over {2}", isInside ? " (HSDP)" : "",
                       axesText(cut), axesText(whole));
}

std::string shareText(const StoredBytes &bytes) {
  if (bytes.share() > 0.995)
    return "whole";
  return llvm::formatv("1/{0} of all", formatCount(1 / bytes.share())).str();
}

} // namespace

static std::string withHybrid(std::string text, const Plan &plan) {
  for (const StagePlan &stage : plan.stages)
    if (std::string hybrid = hybridText(stage); !hybrid.empty())
      return text + "; " + hybrid;
  return text;
}

std::string storageText(const Plan &plan) {
  if (plan.request.mode != StepMode::Train)
    return "";
  StoredBytes parameters = bytesOf(plan, ValueRole::Parameter), states = bytesOf(plan, ValueRole::OptimizerState);
  std::string text = optimizerName(plan.request.optimizer).str();
  if (plan.request.precision == PrecisionChoice::Fp8)
    text += " in bf16, products of weights in 8 bits";
  else if (plan.request.precision != PrecisionChoice::Model)
    text += (" in " + precisionChoiceName(plan.request.precision)).str();
  text += llvm::formatv("; parameters {0} on {1}, {2}", formatBytes(parameters.local),
                        plan.pipeline ? "the device with the most" : "each device", shareText(parameters));
  if (GatheredParameters gathered = countGathered(plan); gathered.all > 0) {
    text += llvm::formatv(" ({0}{1} gathered for use", mayBeOfStage(plan, 3) ? "ZeRO 3: " : "",
                          counted(gathered.all, "tensor"));
    if (gathered.forEachPass > 0)
      text += llvm::formatv(", {0} of them again for the backward pass", gathered.forEachPass);
    text += ")";
  }
  if (states.whole == 0)
    return withHybrid(std::move(text), plan);
  text += llvm::formatv("; states {0}, {1}", formatBytes(states.local), shareText(states));
  if (states.share() < 0.99 * parameters.share())
    text += llvm::formatv(" ({0}cut further than the parameters)", mayBeOfStage(plan, 1) ? "ZeRO 1: " : "");
  return withHybrid(std::move(text), plan);
}

} // namespace apc
