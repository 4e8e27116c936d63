// Programs of one stage and of several, on ranks.
#include "apc/Interpret/Grid.h"

#include "RankGrid.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"

namespace apc {

namespace {

/// Runs with integers padded with 1, and again with 0 where an op cannot be evaluated so.
llvm::Expected<std::vector<std::vector<Tensor>>> runStages(llvm::ArrayRef<StageRanks> stages,
                                                           llvm::ArrayRef<ActionList> lists,
                                                           llvm::ArrayRef<std::vector<const Tensor *>> inputs,
                                                           const ParameterSource &parameters) {
  RankGrid grid(stages, lists, parameters, /*padding=*/1);
  auto results = grid.run(inputs);
  if (results || !grid.lacksKernel())
    return results;
  llvm::consumeError(results.takeError());
  return RankGrid(stages, lists, parameters, /*padding=*/0).run(inputs);
}

/// The list of a program of one stage: one micro-batch after the other.
ActionList listOfOneStage(mlir::func::FuncOp main) {
  ActionList list;
  for (int64_t index = 0; index < microBatchesOf(main) / copiesOf(main); ++index) {
    list.push_back({ProgramPart::Forward, 0, index});
    if (!main.getOps<PartEndOp>().empty())
      list.push_back({ProgramPart::Backward, 0, index});
  }
  return list;
}

} // namespace

llvm::Expected<std::vector<Tensor>> runRanks(llvm::ArrayRef<mlir::ModuleOp> programs, llvm::ArrayRef<Tensor> inputs,
                                             const ParameterSource &parameters) {
  assert(!programs.empty() && "a grid runs a program");
  llvm::Expected<StageRanks> stage = StageRanks::make(0, programs, /*firstRank=*/0);
  if (!stage)
    return stage.takeError();
  std::vector<const Tensor *> given;
  for (const Tensor &input : inputs)
    given.push_back(&input);
  auto results = runStages(*stage, listOfOneStage(stage->main()), given, parameters);
  if (!results)
    return results.takeError();
  return std::move(results->front());
}

llvm::Expected<std::vector<Tensor>> runGrid(const Program &program, llvm::ArrayRef<Tensor> inputs,
                                            const ParameterSource &parameters) {
  if (program.workers.empty())
    return runRanks(*program.onlyStage().module, inputs, parameters);
  std::vector<StageRanks> stages;
  for (auto [number, own] : llvm::enumerate(program.stages)) {
    auto stage = StageRanks::make(static_cast<unsigned>(number), *own.module, own.firstRank);
    if (!stage)
      return stage.takeError();
    stages.push_back(std::move(*stage));
  }
  std::vector<std::vector<const Tensor *>> given;
  std::map<std::string, std::pair<size_t, size_t>> places; // of results: stage, index
  for (const StageRanks &stage : stages) {
    auto own = stage.inputsOf(program.inputs, inputs);
    if (!own)
      return own.takeError();
    given.push_back(std::move(*own));
    for (unsigned index = 0; index < stage.main().getNumResults(); ++index)
      if (auto name = stage.main().getResultAttrOfType<mlir::StringAttr>(index, nameAttribute))
        places[name.str()] = {stage.getNumber(), index};
  }
  auto results = runStages(stages, program.workers, given, parameters);
  if (!results)
    return results.takeError();
  std::vector<Tensor> ordered;
  for (const std::string &name : program.results) {
    auto place = places.find(name);
    if (place == places.end())
      return noPlanError("no stage returns the result '{0}'", name);
    ordered.push_back((*results)[place->second.first][place->second.second]);
  }
  return ordered;
}

} // namespace apc
