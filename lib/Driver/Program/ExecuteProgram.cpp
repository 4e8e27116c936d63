// The run on one device, the run on all ranks, and their comparison.
#include "apc/Driver/ExecuteProgram.h"

#include "../Judge/OutputTolerance.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Interpret/DrawTensor.h"

#include <cmath>

namespace apc {

namespace {

/// Inputs for all micro-batches of `main`, integers below `bound`; numbers without dims are those of the whole step,
/// but for the number of a draw.
std::vector<Tensor> drawInputs(mlir::func::FuncOp main, int64_t bound) {
  PlanNames names = namePlan(main);
  std::vector<Tensor> inputs;
  for (int64_t index = 0; index < microBatchesOf(main); ++index)
    for (mlir::BlockArgument argument : main.getArguments()) {
      auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
      std::string name = names.sources.lookup(argument);
      bool isOfStep = type.getRank() == 0 && !main.getArgAttr(argument.getArgNumber(), drawAttribute);
      if (index > 0 && !isOfStep)
        name += "#" + std::to_string(index);
      Tensor &input = inputs.emplace_back(drawTensor(name, type, bound));
      if (auto least = main.getArgAttrOfType<mlir::IntegerAttr>(argument.getArgNumber(), leastAttribute))
        for (int64_t &number : input.ints)
          number = std::max(number, least.getInt());
    }
  return inputs;
}

/// The model's results, with the inputs that gave them.
struct ModelRun {
  std::vector<Tensor> inputs, results;
};

/// Integers are indices more often than not, and too large an index cannot be evaluated: smaller ones are tried then,
/// zeros at last.
llvm::Expected<ModelRun> runModel(mlir::ModuleOp original, const ParameterSource &parameters) {
  auto main = mainOf(original);
  for (int64_t bound : {int64_t(1000), int64_t(100), int64_t(10), int64_t(2), int64_t(1)}) {
    std::vector<Tensor> inputs = drawInputs(main, bound);
    llvm::Expected<std::vector<Tensor>> results = run(original, inputs, parameters);
    if (results)
      return ModelRun{std::move(inputs), std::move(*results)};
    if (bound == 1 || !results.errorIsA<MissingKernel>())
      return results.takeError();
    llvm::consumeError(results.takeError());
  }
  llvm_unreachable("the last bound returns");
}

} // namespace

llvm::Expected<std::vector<OutputError>> executeProgram(mlir::ModuleOp original, const Program &program,
                                                        const ParameterSource &parameters) {
  llvm::Expected<ModelRun> model = runModel(original, parameters);
  if (!model)
    return model.takeError();
  llvm::Expected<std::vector<Tensor>> results = runGrid(program, model->inputs, parameters);
  if (!results)
    return results.takeError();
  PlanNames names = namePlan(mainOf(original));
  std::vector<OutputError> errors = outputErrors(names.outputValues, *results, model->results);
  for (auto [index, error, accepted] : llvm::enumerate(errors, acceptedErrors(mainOf(original)))) {
    error.accepted = accepted;
    if (error.agrees() || accepted == 0 || !std::isfinite(error.absolute))
      continue;
    // Where large terms cancel, their roundings remain.
    error.largest =
        std::max(error.largest, termMagnitude(original, static_cast<unsigned>(index), model->inputs, parameters));
    if (error.absolute > accepted * error.largest)
      error.absolute = std::min(error.absolute, unexplainedError(original, static_cast<unsigned>(index), model->inputs,
                                                                 parameters, (*results)[index], accepted));
    error.relative = error.absolute / std::max(error.largest, 1e-30);
  }
  return errors;
}

} // namespace apc
