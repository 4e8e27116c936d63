// The two runs and what lies between them.
#include "apc/Driver/ExecuteProgram.h"

#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Support/StableHash.h"

#include <cmath>
#include <limits>
#include <random>

namespace apc {

namespace {

double acceptedFor(mlir::Type element) {
  if (!llvm::isa<mlir::FloatType>(element))
    return 0;
  if (element.isF64())
    return 1e-9;
  if (element.isF32())
    return 1e-4;
  return element.isF16() ? 2e-2 : 1e-1;
}

double elementAt(const Tensor &tensor, size_t position) {
  return tensor.isFloat() ? tensor.floats[position] : static_cast<double>(tensor.ints[position]);
}

/// Inputs for `main`, integers below `bound`.
std::vector<Tensor> drawInputs(mlir::func::FuncOp main, int64_t bound) {
  PlanNames names = namePlan(main);
  std::vector<Tensor> inputs;
  for (mlir::BlockArgument argument : main.getArguments())
    inputs.push_back(
        drawTensor(names.sources.lookup(argument), llvm::cast<mlir::RankedTensorType>(argument.getType()), bound));
  return inputs;
}

/// The model's results, with the inputs that gave them.
struct ModelRun {
  std::vector<Tensor> inputs, results;
};

/// Integers are indices more often than not, and too large an index cannot be evaluated: smaller ones are tried then.
llvm::Expected<ModelRun> runModel(mlir::ModuleOp original, const ParameterSource &parameters) {
  auto main = mainOf(original);
  for (int64_t bound : {int64_t(1000), int64_t(100), int64_t(10), int64_t(2)}) {
    std::vector<Tensor> inputs = drawInputs(main, bound);
    llvm::Expected<std::vector<Tensor>> results = run(original, inputs, parameters);
    if (results)
      return ModelRun{std::move(inputs), std::move(*results)};
    if (bound == 2 || !results.errorIsA<MissingKernel>())
      return results.takeError();
    llvm::consumeError(results.takeError());
  }
  llvm_unreachable("the last bound returns");
}

} // namespace

std::vector<OutputError> outputErrors(llvm::ArrayRef<std::string> names, llvm::ArrayRef<Tensor> found,
                                      llvm::ArrayRef<Tensor> expected) {
  std::vector<OutputError> errors;
  for (auto [name, a, b] : llvm::zip_equal(names, found, expected)) {
    OutputError error{name};
    error.accepted = acceptedFor(b.element);
    bool isSameType = a.dims == b.dims && a.element == b.element;
    for (size_t at = 0, end = static_cast<size_t>(b.numElements()); isSameType && at < end; ++at) {
      double x = elementAt(a, at), y = elementAt(b, at);
      if (x == y || (std::isnan(x) && std::isnan(y)))
        continue;
      double difference = std::abs(x - y);
      error.absolute =
          std::max(error.absolute, std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity());
    }
    for (size_t at = 0, end = static_cast<size_t>(b.numElements()); at < end; ++at)
      if (double magnitude = std::abs(elementAt(b, at)); std::isfinite(magnitude))
        error.largest = std::max(error.largest, magnitude);
    if (!isSameType)
      error.absolute = std::numeric_limits<double>::infinity();
    error.relative = error.absolute == 0 ? 0 : error.absolute / std::max(error.largest, 1e-30);
    errors.push_back(std::move(error));
  }
  return errors;
}

Tensor drawTensor(llvm::StringRef name, mlir::RankedTensorType type, int64_t bound) {
  StableHash hash;
  hash.add(name);
  std::mt19937_64 random(hash.value());
  Tensor tensor = zeros(type);
  double scale = 1 / std::sqrt(static_cast<double>(tensor.dims.empty() ? 1 : std::max<int64_t>(1, tensor.dims.back())));
  // 53 bits to [0, 1): distributions of the library differ between implementations.
  for (double &value : tensor.floats)
    value = (std::ldexp(static_cast<double>(random() >> 11), -53) * 2 - 1) * scale;
  int64_t limit = tensor.element.isInteger(1) ? 2 : bound;
  for (int64_t &value : tensor.ints)
    value = static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  roundToElement(tensor);
  return tensor;
}

ParameterSource parametersOf(const ModelData &data) {
  return [&data](ParameterOp parameter) -> llvm::Expected<Tensor> {
    auto type = llvm::cast<mlir::RankedTensorType>(parameter.getOutput().getType());
    if (auto shape = parameter->getAttrOfType<mlir::DenseI64ArrayAttr>(shapeAttribute))
      type = mlir::RankedTensorType::get(shape.asArrayRef(), type.getElementType());
    llvm::Expected<Tensor> own = data.tensor(parameter.getName(), *parameter->getContext());
    if (own && llvm::ArrayRef<int64_t>(own->dims) == type.getShape() && own->element == type.getElementType())
      return own;
    if (!own)
      llvm::consumeError(own.takeError());
    return drawTensor(parameter.getName(), type);
  };
}

llvm::Expected<std::vector<OutputError>> executeProgram(mlir::ModuleOp original, mlir::ModuleOp program,
                                                        const ParameterSource &parameters) {
  llvm::Expected<ModelRun> model = runModel(original, parameters);
  if (!model)
    return model.takeError();
  llvm::Expected<std::vector<Tensor>> results = runGrid(program, model->inputs, parameters);
  if (!results)
    return results.takeError();
  PlanNames names = namePlan(mainOf(original));
  return outputErrors(names.outputValues, *results, model->results);
}

} // namespace apc
