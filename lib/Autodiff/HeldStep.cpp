// Gradients or new values that a model gives itself, as a training step.
#include "HeldStep.h"

#include "Loss/MicroBatches.h"
#include "NamedOp.h"
#include "RandomDraws.h"
#include "Results.h"
#include "StepNames.h"
#include "Update.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Program/FindParts.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace apc {

namespace {

/// Options that need another backward pass than that of the model, or its optimizer.
llvm::Error checkOptions(const HeldBackward &held, const TrainingOptions &options) {
  std::vector<llvm::StringRef> refused;
  auto refuse = [&](bool isAsked, llvm::StringRef flag) {
    if (isAsked)
      refused.push_back(flag);
  };
  bool recomputes = options.recompute != RecomputePolicy::None || options.recomputeRest != RecomputePolicy::None;
  refuse(recomputes, "--recompute");
  refuse(options.precision == Precision::Fp16, "--precision fp16, which scales the loss");
  refuse(!options.ties.empty(), "--tie");
  if (held.updatesWeights()) {
    refuse(options.precision == Precision::Bf16 || options.precision == Precision::Fp32, "--precision");
    refuse(options.microBatches > 1, "micro-batches");
    refuse(options.clipNorm.has_value(), "--clip-norm");
    refuse(options.widensGradients, "--fp32-gradients");
    refuse(!options.freeze.empty(), "--freeze");
  }
  if (refused.empty())
    return llvm::Error::success();
  return inputError("the model holds its own backward pass{0}, which is planned as it is and does not allow {1}; "
                    "--backward derived derives another one from its loss, which does",
                    held.updatesWeights() ? " and optimizer" : "", llvm::join(refused, ", "));
}

/// Gradients of the loss as gradients of its share of the loss of the step, in the type in which they are summed.
class GradientWeigher {
public:
  GradientWeigher(mlir::func::FuncOp main, const WeighedLoss &weighed, bool widens)
      : weighed(weighed), widens(widens), builder(main.getContext()) {
    builder.setInsertionPoint(main.front().getTerminator());
  }

  mlir::Value weigh(mlir::Value gradient, llvm::StringRef parameter) {
    auto type = llvm::cast<mlir::RankedTensorType>(gradient.getType());
    if (widens && type.getElementTypeBitWidth() < 32)
      gradient =
          makeNamed<CastOp>(builder, parameter + ".grad.f32", type.clone(builder.getF32Type()), gradient,
                            builder.getNamedAttr("to", builder.getI64IntegerAttr(dataType(builder.getF32Type()))));
    if (!weighed.factor)
      return gradient;
    mlir::Value factor = weighed.factor;
    mlir::Type element = mlir::getElementTypeOrSelf(gradient.getType());
    if (mlir::getElementTypeOrSelf(factor.getType()) != element)
      factor = makeNamed<CastLikeOp>(builder, parameter + ".grad.share", mlir::RankedTensorType::get({}, element),
                                     {factor, gradient});
    return makeNamed<MulOp>(builder, parameter + ".grad.weighed", gradient.getType(), {gradient, factor});
  }

private:
  const WeighedLoss &weighed;
  bool widens;
  mlir::OpBuilder builder;
};

/// Marks the op that makes a gradient: its value is told from activations.
void markGradient(mlir::Value gradient) {
  mlir::Operation *maker = gradient.getDefiningOp();
  if (maker && maker->getNumResults() == 1 && maker->getNumOperands() > 0)
    maker->setAttr(roleAttribute, mlir::StringAttr::get(maker->getContext(), "gradient"));
}

/// New values as results that take the place of parameters.
void returnUpdates(mlir::func::FuncOp main, llvm::ArrayRef<HeldOutput> updates) {
  mlir::Builder builder(main.getContext());
  auto named = [&](llvm::StringRef name, const llvm::Twine &value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  };
  for (auto [index, update] : llvm::enumerate(updates))
    main.setResultAttrs(static_cast<unsigned>(index) + 1,
                        {named(nameAttribute, update.parameter + ".updated"),
                         named(replacesAttribute, update.parameter), named(tieAttribute, update.parameter)});
}

/// The outputs that are used, and in `step` which parameters are trained by them. Errors (input): none is.
llvm::Expected<llvm::SmallVector<HeldOutput>> chooseOutputs(TrainingStep &step, const HeldBackward &held) {
  llvm::StringMap<const HeldOutput *> given;
  for (const HeldOutput &output : held.updatesWeights() ? held.updates : held.gradients)
    given[output.parameter] = &output;
  llvm::StringMap<bool> used;
  bool anyTrained = false;
  for (ParameterUse &use : step.parameters) {
    if (!use.isTrained)
      continue;
    const HeldOutput *output = given.lookup(use.name);
    used[use.name] = output;
    use.isTrained = output && !output->isState;
    anyTrained |= use.isTrained;
    if (!use.isTrained)
      use.reason = output                  ? "is a state of the model's own optimizer"
                   : held.updatesWeights() ? "the model holds no new value of it"
                                           : "the model holds no gradient of it";
  }
  if (!anyTrained)
    return inputError("nothing to train: no output that the model holds for its backward pass belongs to a parameter "
                      "that is trained");
  llvm::SmallVector<HeldOutput> outputs;
  for (const HeldOutput &output : held.updatesWeights() ? held.updates : held.gradients)
    if (used.lookup(output.parameter))
      outputs.push_back(output);
  return outputs;
}

/// `value` without the cast to 32 bits that stands before results.
mlir::Value inOwnPrecision(mlir::Value value, Precision precision) {
  auto cast = value.getDefiningOp<CastOp>();
  bool isReturned = precision == Precision::Bf16 && cast && mlir::getElementTypeOrSelf(cast.getInput()).isBF16();
  return isReturned ? cast.getInput() : value;
}

/// Applies gradients that `main` returns behind its loss.
llvm::Error applyGradients(TrainingStep &step, llvm::ArrayRef<HeldOutput> outputs, const TrainingOptions &options) {
  auto main = mainOf(*step.module);
  mlir::Operation *end = main.front().getTerminator();
  llvm::SmallVector<mlir::Value> values(llvm::drop_begin(end->getOperands()));
  returnLoss(main, end->getOperand(0));
  WeighedLoss weighed{end->getOperand(0), {}, {}};
  if (options.microBatches > 1)
    weighed = weighHeldLoss(main, weighed.loss, options.microBatches);
  step.lossUnknownSince = weighed.unknownSince;
  GradientWeigher weigher(main, weighed, options.widensGradients);
  llvm::StringMap<ParameterOp> parameters;
  for (ParameterOp parameter : main.getOps<ParameterOp>())
    parameters[parameter.getName()] = parameter;
  std::vector<TrainedGradient> gradients;
  for (auto [output, value] : llvm::zip_equal(outputs, values)) {
    mlir::Value own = weigher.weigh(inOwnPrecision(value, options.precision), output.parameter);
    if (options.microBatches == 1)
      markGradient(own);
    gradients.push_back({parameters.lookup(output.parameter), {own}});
  }
  if (llvm::Error error = checkStepNames(main, gradients, options))
    return error;
  addUpdates(main, gradients, weighed, options, nullptr);
  return llvm::Error::success();
}

} // namespace

llvm::Error completeHeldStep(TrainingStep &step, const HeldBackward &held, const TrainingOptions &options) {
  if (llvm::Error error = checkOptions(held, options))
    return error;
  auto outputs = chooseOutputs(step, held);
  if (!outputs)
    return outputs.takeError();
  auto main = mainOf(*step.module);
  mlir::Operation *end = main.front().getTerminator();
  llvm::SmallVector<mlir::Value> values;
  for (const HeldOutput &output : *outputs)
    values.push_back(end->getOperand(output.index));
  returnLoss(main, end->getOperand(held.loss), values);
  eraseDead(main);
  setPrecision(main, options.precision);
  eraseDead(main);
  addDraws(main);
  findParts(*step.module);
  if (!held.updatesWeights())
    return applyGradients(step, *outputs, options);
  returnUpdates(main, *outputs);
  return llvm::Error::success();
}

} // namespace apc
