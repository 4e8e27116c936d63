// The parts of a training step put together: loss, backward pass, update.
#include "apc/Autodiff/TrainingStep.h"

#include "Backward.h"
#include "HeldStep.h"
#include "Loss/Loss.h"
#include "Loss/MicroBatches.h"
#include "RandomDraws.h"
#include "Recompute/Recompute.h"
#include "Recompute/RecomputedLayers.h"
#include "Results.h"
#include "StepNames.h"
#include "Ties.h"
#include "Update.h"
#include "WeightUse.h"

#include "apc/Autodiff/DecomposeBatchNormalization.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/Gradient.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/Program/FindParts.h"
#include "apc/Support/Error.h"
#include "apc/Support/SomeOf.h"

#include "mlir/IR/Verifier.h"

#include "llvm/Support/Regex.h"

namespace apc {

namespace {

/// Null where nothing of that name is left.
ParameterOp lookUp(mlir::func::FuncOp main, llvm::StringRef name) {
  for (ParameterOp parameter : main.getOps<ParameterOp>())
    if (parameter.getName() == name)
      return parameter;
  return {};
}

/// Some of the names, and how many more there are.
std::string listNames(llvm::ArrayRef<ParameterUse> uses) {
  constexpr size_t mostNamed = 8;
  std::vector<std::string> names;
  for (const ParameterUse &use : uses)
    names.push_back(use.name);
  return someNamesOf(names, mostNamed);
}

/// The floating parameters of `main`, each trained or not, as far as the loss depends on them.
llvm::Expected<std::vector<ParameterUse>> chooseTrained(mlir::func::FuncOp main, llvm::StringRef freeze,
                                                        llvm::ArrayRef<TiedParameters> ties) {
  // The expression alone is checked: parentheses around it would make W)|(B valid.
  llvm::Regex frozen("^(" + freeze.str() + ")$");
  std::string problem;
  if (!freeze.empty() && !llvm::Regex(freeze).isValid(problem))
    return inputError("--freeze '{0}' is no regular expression: {1}", freeze, problem);
  auto matches = [&](llvm::StringRef name) { return !freeze.empty() && frozen.match(name); };
  std::vector<ParameterUse> uses;
  bool anyFrozen = freeze.empty();
  for (ParameterOp parameter : main.getOps<ParameterOp>()) {
    if (!isFloat(parameter.getOutput()))
      continue;
    bool isFrozen = matches(parameter.getName());
    anyFrozen |= isFrozen;
    ParameterUse &use = uses.emplace_back(ParameterUse{parameter.getName().str(), false, ""});
    const auto *tied =
        llvm::find_if(ties, [&](const TiedParameters &each) { return each.second == parameter.getName(); });
    if (tied != ties.end() && isFrozen != matches(tied->first))
      return inputError(
          "--freeze '{0}' matches one of '{1}' and '{2}', which --tie makes one parameter; freeze both or "
          "neither",
          freeze, tied->first, tied->second);
    if (tied != ties.end())
      use.reason = "is '" + tied->first + "', stored twice";
    else if (parameter->hasAttr(roleAttribute))
      use.reason = "is a constant of the model";
    else if (holdsTable(parameter))
      use.reason = "holds a table, a mask or statistics, by its use";
    else if (isFrozen)
      use.reason = "matches --freeze";
    else
      use.isTrained = true;
  }
  if (!anyFrozen)
    return inputError("--freeze '{0}' matches no whole name of a parameter; parameters are {1}", freeze,
                      listNames(uses));
  return uses;
}

/// The layers that `options` recompute. Errors (input): more than there are.
llvm::Expected<RecomputedLayers> recomputedOf(std::vector<RepeatedRun> runs, const TrainingOptions &options) {
  auto count = static_cast<int64_t>(numLayers(runs));
  llvm::StringRef name = recomputeName(options.recompute), rest = recomputeName(options.recomputeRest);
  if (options.recomputedLayers && *options.recomputedLayers > count) {
    std::string text = llvm::formatv("{0}:{1}", name, *options.recomputedLayers);
    if (options.recomputeRest != RecomputePolicy::None)
      text += llvm::formatv(",{0}", rest);
    if (count == 0)
      return inputError("--recompute {0}: the model has no layers that repeat; accepted is '{1}' without a number",
                        text, name);
    return inputError("--recompute {0}: the model has {1} layers that repeat; accepted are up to so many, or '{2}' "
                      "without a number",
                      text, count, name);
  }
  return RecomputedLayers{std::move(runs), options.recompute,
                          static_cast<size_t>(options.recomputedLayers.value_or(count)), options.recomputeRest};
}

llvm::Error addBackwardAndUpdate(mlir::func::FuncOp main, const WeighedLoss &weighed, TrainingStep &step,
                                 const TrainingOptions &options) {
  llvm::DenseSet<mlir::Value> trained;
  std::vector<std::pair<ParameterUse *, ParameterOp>> parameters;
  for (ParameterUse &use : step.parameters)
    if (use.isTrained) {
      parameters.emplace_back(&use, lookUp(main, use.name));
      if (ParameterOp parameter = parameters.back().second)
        trained.insert(parameter.getOutput());
    }
  PlanNames names = namePlan(main);
  std::vector<RepeatedRun> runs = findRepeatedRuns(main);
  step.layers = static_cast<int64_t>(numLayers(runs));
  llvm::Expected<RecomputedLayers> recomputed = recomputedOf(std::move(runs), options);
  if (!recomputed)
    return recomputed.takeError();
  std::optional<LossScale> lossScale;
  if (options.precision == Precision::Fp16)
    lossScale.emplace(main, options.lossScaling);
  mlir::Value seed = lossScale ? lossScale->seed(weighed.loss.getType()) : mlir::Value();
  auto contributions = buildBackward(main, names, weighed.loss, trained, {seed, options.widensGradients});
  if (!contributions)
    return contributions.takeError();
  std::vector<TrainedGradient> gradients;
  for (auto &[use, parameter] : parameters) {
    auto found = parameter ? contributions->find(parameter.getOutput()) : contributions->end();
    if (found != contributions->end()) {
      gradients.push_back({parameter, found->second});
      continue;
    }
    use->isTrained = false;
    use->reason = parameter ? "no gradient comes back to it: a table, a comparison or a rounding lies between"
                            : "the loss does not depend on it";
  }
  if (gradients.empty())
    return inputError("nothing to train: no floating parameter of the model reaches the loss, or all are frozen");
  llvm::DenseSet<mlir::Value> made;
  for (const TrainedGradient &gradient : gradients)
    made.insert(gradient.contributions.begin(), gradient.contributions.end());
  recomputeForward(main, names, *recomputed, made);
  if (llvm::Error error = checkStepNames(main, gradients, options))
    return error;
  addUpdates(main, gradients, weighed, options, lossScale ? &*lossScale : nullptr);
  return llvm::Error::success();
}

/// The step with the backward pass of the model itself, where it holds one that is to be used.
llvm::Error buildHeldStep(TrainingStep &step, const TrainingOptions &options) {
  step.held = findHeldBackward(mainOf(*step.module), options.loss);
  return step.held ? completeHeldStep(step, *step.held, options) : llvm::Error::success();
}

/// Takes those normalisations apart that have a gradient in parts alone, as far as they are whole yet.
void takeTrainedApart(mlir::func::FuncOp main) {
  mlir::OpBuilder builder(main.getContext());
  for (mlir::Operation &op : llvm::make_early_inc_range(main.front().without_terminator()))
    if (isTrainedApart(&op))
      takeApart(builder, &op);
}

/// Loss, backward pass and update of a forward pass.
llvm::Error buildDerivedStep(TrainingStep &step, const TrainingOptions &options) {
  auto main = mainOf(*step.module);
  llvm::Expected<mlir::Value> loss = findLoss(main, options.loss);
  if (!loss)
    return loss.takeError();
  returnLoss(main, *loss);
  eraseDead(main);
  takeTrainedApart(main);
  setPrecision(main, options.precision);
  if (!options.freezesBatchNorm)
    decomposeBatchNormalization(main);
  eraseDead(main);
  addDraws(main);
  WeighedLoss weighed{main.front().getTerminator()->getOperand(0), {}, {}};
  llvm::StringSet<> trained;
  for (const ParameterUse &use : step.parameters)
    if (use.isTrained)
      trained.insert(use.name);
  if (options.microBatches > 1)
    weighed = weighLoss(main, weighed.loss, options.microBatches, trained);
  step.lossUnknownSince = weighed.unknownSince;
  findParts(*step.module);
  return addBackwardAndUpdate(main, weighed, step, options);
}

} // namespace

llvm::Expected<TrainingStep> buildTrainingStep(mlir::ModuleOp model, const TrainingOptions &options) {
  if (options.microBatches < 1)
    return inputError("a step has 1 micro-batch or more, not {0}", options.microBatches);
  TrainingStep step{model.clone(), {}};
  auto main = mainOf(*step.module);
  if (!main)
    return inputError("the module has no function 'main' to train");
  auto ties = tieParameters(main, options.ties);
  if (!ties)
    return ties.takeError();
  auto uses = chooseTrained(main, options.freeze, *ties);
  if (!uses)
    return uses.takeError();
  step.parameters = std::move(*uses);
  if (!options.derivesBackward)
    if (llvm::Error error = buildHeldStep(step, options))
      return error;
  if (!step.held)
    if (llvm::Error error = buildDerivedStep(step, options))
      return error;
  eraseDead(main);
  DiagnosticCapture diagnostics(model.getContext());
  if (mlir::failed(mlir::verify(*step.module)))
    return internalError("the training step does not verify: {0}", diagnostics.take());
  return step;
}

} // namespace apc
