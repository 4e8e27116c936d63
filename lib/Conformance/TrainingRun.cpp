// Step after step: results take the place of parameters and states.
#include "TrainingRun.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Interpret/Compare.h"
#include "apc/Support/Error.h"

#include <ranges>

namespace apc {

namespace {

/// Four roundings, of the largest number expected where they are in 16 bits.
Tolerance toleranceOf(Precision precision, const Tensor &expected) {
  double relative = precision == Precision::Bf16 ? 0x1p-5 : 0x1p-8;
  if (precision != Precision::Bf16 && precision != Precision::Fp16)
    return {1e-4, 1e-6};
  return {relative, relative * largestMagnitude(expected)};
}

/// Gradients of a scaled loss without the scale.
void unscale(Tensor &gradient, const TrainingOptions &options) {
  constexpr double firstScale = 65536;
  if (options.precision == Precision::Fp16)
    for (double &value : gradient.floats)
      value /= options.lossScaling.fixed.value_or(firstScale);
}

class TrainingJudge {
public:
  TrainingJudge(mlir::ModuleOp step, const TrainingCase &own, const ParameterSource &initial, const StepRunner &run)
      : context(step.getContext()), main(mainOf(step)), names(namePlan(main)), microBatches(microBatchesOf(main)),
        own(own), initial(initial), run(run) {}

  llvm::Expected<std::optional<std::string>> judge();

private:
  std::vector<Tensor> argumentsOf(size_t step) const;
  llvm::Expected<Tensor> current(ParameterOp parameter) const;
  std::optional<std::string> compareLoss(size_t step, const Tensor &loss) const;
  std::optional<std::string> compareAll(const NamedTensors &expected, const NamedTensors &got,
                                        llvm::StringRef what) const;

  mlir::MLIRContext *context;
  mlir::func::FuncOp main;
  PlanNames names;
  int64_t microBatches;
  const TrainingCase &own;
  const ParameterSource &initial;
  const StepRunner &run;
  NamedTensors updated; ///< parameters and states after the steps so far
};

/// The `index`-th part of a tensor along the dim in which it has more elements than a micro-batch; itself where it has
/// as many everywhere.
Tensor partOf(const Tensor &whole, llvm::ArrayRef<int64_t> dims, int64_t index) {
  size_t dim = 0;
  while (dim < dims.size() && dims[dim] == whole.dims[dim])
    ++dim;
  if (dim == dims.size())
    return whole;
  Tensor part = whole;
  part.dims[dim] = dims[dim];
  int64_t inside = 1;
  for (int64_t size : whole.dims | std::views::drop(dim + 1))
    inside *= size;
  int64_t run = dims[dim] * inside, stride = whole.dims[dim] * inside;
  auto cut = [&](auto &numbers) {
    auto all = std::exchange(numbers, {});
    for (auto at = static_cast<int64_t>(0); at < static_cast<int64_t>(all.size()); at += stride)
      numbers.insert(numbers.end(), all.begin() + at + index * run, all.begin() + at + (index + 1) * run);
  };
  cut(part.ints);
  cut(part.floats);
  return part;
}

std::vector<Tensor> TrainingJudge::argumentsOf(size_t step) const {
  std::vector<Tensor> arguments;
  mlir::Builder builder(context);
  mlir::Block::BlockArgListType taken = mlir::func::FuncOp(main).getArguments();
  for (int64_t index = 0; index < microBatches; ++index) {
    for (auto [argument, whole] : llvm::zip(taken, own.batches[step]))
      arguments.push_back(partOf(whole, dimsOf(argument), index));
    if (auto next = static_cast<unsigned>(own.batches[step].size());
        mlir::func::FuncOp(main).getArgAttr(next, drawAttribute))
      arguments.push_back({{}, builder.getI64Type(), {static_cast<int64_t>(step) * microBatches + index}, {}});
    arguments.push_back({{}, builder.getI64Type(), {static_cast<int64_t>(step) + 1}, {}});
    arguments.push_back({{}, builder.getF32Type(), {}, {own.learningRate}});
  }
  return arguments;
}

llvm::Expected<Tensor> TrainingJudge::current(ParameterOp parameter) const {
  auto found = updated.find(parameter.getName().str());
  return found == updated.end() ? initial(parameter) : llvm::Expected<Tensor>(found->second);
}

std::optional<std::string> TrainingJudge::compareLoss(size_t step, const Tensor &loss) const {
  Tensor expected{loss.dims, loss.element, {}, {own.losses[step]}};
  if (auto difference = findDifference(loss, expected, toleranceOf(own.options.precision, expected)))
    return llvm::formatv("loss of step {0}: {1}", step, *difference).str();
  return std::nullopt;
}

std::optional<std::string> TrainingJudge::compareAll(const NamedTensors &expected, const NamedTensors &got,
                                                     llvm::StringRef what) const {
  for (const auto &[name, tensor] : expected) {
    auto found = got.find(name + masterSuffix.str());
    if (found == got.end())
      found = got.find(name);
    if (found == got.end())
      return llvm::formatv("{0} of '{1}': there is none", what, name).str();
    Tensor wanted = tensor;
    wanted.element = found->second.element;
    if (auto difference = findDifference(found->second, wanted, toleranceOf(own.options.precision, tensor)))
      return llvm::formatv("{0} of '{1}': {2}", what, name, *difference).str();
  }
  return std::nullopt;
}

llvm::Expected<std::optional<std::string>> TrainingJudge::judge() {
  for (size_t step = 0; step < own.batches.size(); ++step) {
    auto results = run(argumentsOf(step), [this](ParameterOp parameter) { return current(parameter); });
    if (!results)
      return results.takeError();
    NamedTensors gradients;
    for (auto [name, result] : llvm::zip_equal(names.outputValues, *results)) {
      llvm::StringRef known = name;
      if (known.consume_back(".updated"))
        updated[known.str()] = std::move(result);
      else if (known.consume_back(".grad"))
        unscale(gradients[known.str()] = std::move(result), own.options);
      else if (auto wrong = compareLoss(step, result))
        return wrong;
    }
    if (step == 0)
      if (auto wrong = compareAll(own.gradients, gradients, "gradient"))
        return wrong;
  }
  return compareAll(own.parameters, updated, "value after the last step");
}

} // namespace

llvm::Expected<std::optional<std::string>> judgeTraining(mlir::ModuleOp step, const TrainingCase &own,
                                                         const ParameterSource &initial, const StepRunner &run) {
  return TrainingJudge(step, own, initial, run).judge();
}

} // namespace apc
