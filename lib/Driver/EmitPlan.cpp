// From a plan to files: loads, imports, partitions, finds the weights, emits.
#include "apc/Driver/EmitPlan.h"

#include "WeightData.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Driver/PlannedProgram.h"
#include "apc/IR/Opaque.h"
#include "apc/IR/Random.h"
#include "apc/Support/Error.h"

#include <set>

namespace apc {

namespace {

llvm::Expected<std::vector<int64_t>> readRanks(llvm::StringRef text, int64_t numDevices) {
  std::set<int64_t> ranks;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/text.contains(','));
  for (llvm::StringRef part : parts) {
    int64_t rank = 0;
    if (part == "all") {
      for (int64_t each = 0; each < numDevices; ++each)
        ranks.insert(each);
      continue;
    }
    if (part.trim().getAsInteger(10, rank))
      return inputError("--rank {0}: '{1}' is no rank; accepted are numbers from 0 to {2}, as 0,8,16, or all", text,
                        part, numDevices - 1);
    ranks.insert(rank);
  }
  return std::vector<int64_t>(ranks.begin(), ranks.end());
}

} // namespace

/// The model on one device, which programs are checked with, where a device may hold it.
static mlir::ModuleOp modelToCheckWith(const PlannedProgram &built, const llvm::StringMap<ParameterData> &data) {
  constexpr int64_t mostBytes = int64_t(8) << 30;
  int64_t bytes = 0;
  for (const auto &parameter : data)
    bytes += parameter.second.length;
  return bytes <= mostBytes ? *built.original : mlir::ModuleOp();
}

llvm::Expected<Emission> emitPlan(const EmitPlanOptions &options) {
  if (auto emitter = findEmitter(options.format); !emitter)
    return emitter.takeError();
  llvm::Expected<Plan> plan = loadPlan(options.planPath);
  if (!plan)
    return plan.takeError();
  llvm::Expected<std::vector<int64_t>> ranks = readRanks(options.ranks, plan->numRanks());
  if (!ranks)
    return ranks.takeError();
  llvm::Expected<std::string> model = findModel(*plan, options.planPath, options.modelPath);
  if (!model)
    return model.takeError();
  llvm::Expected<PlannedProgram> built = buildProgram(*plan, *model);
  if (!built)
    return built.takeError();
  auto data = findWeightData(*built->original, built->modelPath, built->folded);
  if (!data)
    return data.takeError();
  keepSeeds(*built->original);
  mlir::ModuleOp original = modelToCheckWith(*built, *data);
  EmitOptions emitOptions{std::move(*ranks), options.weights, built->modelPath, std::move(*data), original};
  auto emission = emit(built->program, *plan, options.format, options.folder, emitOptions);
  if (emission)
    emission->opaque = listOpaque(*built->original);
  return emission;
}

} // namespace apc
