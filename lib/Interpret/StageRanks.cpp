// Inputs cut for ranks, results of ranks put together.
#include "StageRanks.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/RuleBuilder.h"
#include "apc/Interpret/Grid.h"

#include "mlir/IR/Diagnostics.h"

namespace apc {

llvm::Expected<StageRanks> StageRanks::make(unsigned number, llvm::ArrayRef<mlir::ModuleOp> modules,
                                            int64_t firstRank) {
  StageRanks stage;
  stage.number = number;
  stage.firstRank = firstRank;
  if (modules.front()->hasAttr(meshAttribute)) {
    DiagnosticCapture diagnostics(modules.front()->getContext());
    mlir::FailureOr<MeshAttr> mesh = meshOf(modules.front());
    if (mlir::failed(mesh))
      return inputError("the program cannot be run on a grid: {0}", diagnostics.take());
    stage.meshAttr = *mesh;
    stage.mesh = mesh->getValue();
  }
  if (modules.size() != 1 && modules.size() != static_cast<size_t>(stage.numRanks()))
    return inputError("{0} programs for {1} ranks", modules.size(), stage.numRanks());
  for (mlir::ModuleOp module : modules) {
    if (!mainOf(module))
      return inputError("the program has no function 'main' to run");
    stage.texts.push_back(std::make_unique<ProgramText>(module));
  }
  return stage;
}

llvm::Expected<std::vector<const Tensor *>> StageRanks::inputsOf(llvm::ArrayRef<std::string> names,
                                                                 llvm::ArrayRef<Tensor> inputs) const {
  auto count = static_cast<size_t>(microBatchesOf(main()));
  if (inputs.size() != count * names.size())
    return inputError("the model takes {0} inputs in {1} micro-batches, {2} are given", count * names.size(), count,
                      inputs.size());
  std::vector<const Tensor *> own;
  for (size_t microBatch = 0; microBatch < count; ++microBatch)
    for (unsigned index = 0; index < main().getNumArguments(); ++index) {
      auto name = main().getArgAttrOfType<mlir::StringAttr>(index, nameAttribute);
      const auto *found = llvm::find(names, name ? name.str() : std::string());
      if (found == names.end())
        return inputError("argument {0} of stage {1} is no input of the model", index, number);
      own.push_back(&inputs[microBatch * names.size() + static_cast<size_t>(found - names.begin())]);
    }
  return own;
}

llvm::Expected<std::vector<TensorRef>> StageRanks::inputPieces(int64_t rank, llvm::ArrayRef<const Tensor *> inputs,
                                                               int64_t padding) const {
  mlir::func::FuncOp main = textOf(rank).main();
  if (llvm::Error error = checkNumInputs(main, inputs.size()))
    return error;
  std::vector<TensorRef> held;
  for (auto [position, input] : llvm::enumerate(inputs)) {
    auto index = static_cast<unsigned>(position % main.getNumArguments());
    std::string what = llvm::formatv("input {0}", index);
    mlir::Type type = main.getArgument(index).getType();
    auto sharded = readShape(main.getArgAttrDict(index), meshAttr, type, what);
    if (!sharded)
      return sharded.takeError();
    auto element = llvm::cast<mlir::RankedTensorType>(type).getElementType();
    if (llvm::Error error = checkType(*input, mlir::RankedTensorType::get(sharded->dims, element), what))
      return error;
    held.push_back(std::make_shared<Tensor>(shardOf(*input, sharded->sharding, mesh, rank, padding)));
    if (llvm::Error error = checkType(*held.back(), type, "the piece of " + what))
      return error;
  }
  return held;
}

llvm::Expected<Tensor> StageRanks::result(unsigned index, llvm::ArrayRef<const RankRun *> runs) const {
  std::string what = llvm::formatv("result {0}", index);
  auto sharded = readShape(main().getResultAttrDict(index), meshAttr, main().getResultTypes()[index], what);
  if (!sharded)
    return sharded.takeError();
  std::vector<Tensor> held;
  for (const RankRun *run : runs)
    held.push_back(*run->getResults()[index]);
  llvm::Expected<Tensor> whole = assemble(held, sharded->dims, sharded->sharding, mesh);
  if (!whole)
    return noPlanError("{0}: {1}", what, takeMessage(whole.takeError()).second);
  return whole;
}

} // namespace apc
