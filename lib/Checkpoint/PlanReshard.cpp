// From two manifests to the boxes that go from one's files to the other's.
#include "apc/Checkpoint/Reshard.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace apc {

namespace {

/// "'a', 'b' and 3 more"
std::string namesText(llvm::ArrayRef<std::string> names) {
  constexpr size_t most = 4;
  std::string text;
  for (const std::string &name : names.take_front(most))
    text += (text.empty() ? "'" : ", '") + name + "'";
  return names.size() <= most ? text : text + " and " + std::to_string(names.size() - most) + " more";
}

class ReshardPlanner {
public:
  explicit ReshardPlanner(ReshardPlan &plan) : plan(plan) {}

  llvm::Error run();

private:
  /// Gives every tensor a file where the source has none yet.
  void assumeFiles();
  void findSources();
  llvm::Error place(SavedStage &stage, SavedTensor &tensor, ReshardSource &source);
  llvm::Error checkPair(const SavedTensor &from, const ByteLayout &fromLayout, const SavedTensor &to,
                        const ByteLayout &toLayout) const;
  size_t mapIndex(const SavedTensor &from, const SavedTensor &to, const SavedStage &stage, const ReshardSource &source);

  ReshardPlan &plan;
  llvm::StringMap<ReshardSource> sources;
  llvm::StringMap<bool> taken; ///< names of the target's tensors
  std::vector<std::string> missing;
  std::map<std::vector<size_t>, size_t> known; ///< maps by stages, layouts, whether whole, bits
};

void ReshardPlanner::assumeFiles() {
  plan.isOfPlans = !plan.from.hasFiles;
  for (SavedStage &stage : plan.from.stages) {
    if (!plan.isOfPlans)
      continue;
    for (SavedTensor &tensor : stage.tensors)
      tensor.isInFiles = true;
    assignFiles(stage);
  }
}

void ReshardPlanner::findSources() {
  for (auto [stageIndex, stage] : llvm::enumerate(plan.from.stages))
    for (auto [index, tensor] : llvm::enumerate(stage.tensors))
      if (tensor.isInFiles)
        sources.try_emplace(tensor.name, ReshardSource{stageIndex, index, 0});
}

llvm::Error ReshardPlanner::checkPair(const SavedTensor &from, const ByteLayout &fromLayout, const SavedTensor &to,
                                      const ByteLayout &toLayout) const {
  if (fromLayout.shape.dims != toLayout.shape.dims)
    return inputError("parameter '{0}' is {1} in {2} and {3} in {4}; both must be of one model with the same sizes",
                      to.name, shapeText(fromLayout.shape.dims), plan.from.path, shapeText(toLayout.shape.dims),
                      plan.to.path);
  if (from.dataType != to.dataType && from.dataType != to.elementType)
    return inputError("parameter '{0}' is stored as {1} in {2}, and {3} takes {4}; nothing is converted", to.name,
                      from.dataType, plan.from.path, plan.to.path,
                      to.dataType == to.elementType ? to.dataType : to.dataType + " or " + to.elementType);
  return llvm::Error::success();
}

size_t ReshardPlanner::mapIndex(const SavedTensor &from, const SavedTensor &to, const SavedStage &stage,
                                const ReshardSource &source) {
  unsigned bits = *elementBitsOf(from.dataType);
  size_t stageIndex = static_cast<size_t>(&stage - plan.to.stages.data());
  auto [found, isNew] = known.try_emplace(
      {source.stage, from.layout, from.isWhole, stageIndex, to.layout, to.isWhole, bits}, plan.maps.size());
  if (isNew)
    plan.maps.push_back(mapPieces(plan.from.stages[source.stage].layouts[from.layout], from.isWhole,
                                  stage.layouts[to.layout], to.isWhole, bits));
  return found->second;
}

llvm::Error ReshardPlanner::place(SavedStage &stage, SavedTensor &tensor, ReshardSource &source) {
  taken[tensor.name] = true;
  auto found = sources.find(tensor.name);
  tensor.isInFiles = found != sources.end();
  if (!tensor.isInFiles) {
    (tensor.isState() ? plan.begun : missing).push_back(tensor.name);
    return llvm::Error::success();
  }
  source = found->second;
  const SavedStage &fromStage = plan.from.stages[source.stage];
  const SavedTensor &from = fromStage.tensors[source.tensor];
  const ByteLayout &layout = stage.layouts[tensor.layout];
  if (llvm::Error error = checkPair(from, fromStage.layouts[from.layout], tensor, layout))
    return error;
  tensor.dataType = from.dataType;
  tensor.isWhole = !isStoredInPieces(layout, *elementBitsOf(tensor.dataType), tensor.dataType);
  source.map = mapIndex(from, tensor, stage, source);
  return llvm::Error::success();
}

llvm::Error ReshardPlanner::run() {
  if (plan.from.modelSha256 != plan.to.modelSha256)
    return inputError("{0} is of another model than {1}: of {2} (SHA-256 {3}...), and not of {4} ({5}...)",
                      plan.from.path, plan.to.path, plan.from.modelPath,
                      llvm::StringRef(plan.from.modelSha256).take_front(8), plan.to.modelPath,
                      llvm::StringRef(plan.to.modelSha256).take_front(8));
  assumeFiles();
  findSources();
  plan.to.steps = plan.from.steps;
  for (SavedStage &stage : plan.to.stages) {
    std::vector<ReshardSource> &own = plan.sources.emplace_back(stage.tensors.size());
    for (auto [tensor, source] : llvm::zip_equal(stage.tensors, own))
      if (llvm::Error error = place(stage, tensor, source))
        return error;
    plan.files.push_back(assignFiles(stage));
  }
  if (!missing.empty())
    return inputError("{0} does not have {1}, which {2} takes", plan.from.path, namesText(missing), plan.to.path);
  for (const SavedStage &stage : plan.from.stages)
    for (const SavedTensor &tensor : stage.tensors)
      if (tensor.isInFiles && !taken.contains(tensor.name))
        plan.leftOut.push_back(tensor.name);
  return llvm::Error::success();
}

} // namespace

llvm::Expected<ReshardPlan> planReshard(SavedWeights from, SavedWeights to) {
  ReshardPlan plan;
  plan.from = std::move(from);
  plan.to = std::move(to);
  if (llvm::Error error = ReshardPlanner(plan).run())
    return error;
  return plan;
}

std::vector<ReshardedFile> describeFiles(const ReshardPlan &plan) {
  std::vector<ReshardedFile> described;
  for (auto [stage, sources, files] : llvm::zip_equal(plan.to.stages, plan.sources, plan.files))
    for (auto [name, file] : llvm::zip_equal(stage.files, files)) {
      ReshardedFile &entry = described.emplace_back();
      entry.name = stage.folder.empty() ? name : stage.folder + "/" + name;
      entry.pieces = file.pieces.size();
      for (WeightFile::Piece piece : file.pieces) {
        const SavedTensor &tensor = stage.tensors[piece.tensor];
        const ByteLayout &layout = stage.layouts[tensor.layout];
        const PieceMap &map = plan.maps[sources[piece.tensor].map];
        TensorShape shape{tensor.isWhole ? layout.shape.dims : layout.shards[piece.shard].count,
                          *elementBitsOf(tensor.dataType)};
        entry.bytes += shape.bytes();
        entry.boxes += map.numBoxes(tensor.isWhole ? 0 : piece.shard);
      }
    }
  return described;
}

} // namespace apc
