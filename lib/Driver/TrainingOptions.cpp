// Settings of training as options of the training step.
#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/Support/Error.h"

namespace apc {

/// Settings of one optimizer are refused with another, so that none is given in vain.
static llvm::Error checkOptimizer(const PlanRequest &request) {
  const PlanRequest defaults;
  bool hasMomentum = request.momentum != defaults.momentum || request.dampening != defaults.dampening;
  bool hasBetas =
      request.beta1 != defaults.beta1 || request.beta2 != defaults.beta2 || request.epsilon != defaults.epsilon;
  llvm::StringRef name = optimizerName(request.optimizer);
  if ((hasMomentum || request.nesterov) && request.optimizer != OptimizerChoice::Momentum)
    return inputError("--momentum, --dampening and --nesterov belong to --optimizer momentum, not to {0}", name);
  if ((hasBetas || request.amsgrad) && request.optimizer != OptimizerChoice::Adam &&
      request.optimizer != OptimizerChoice::AdamW)
    return inputError("--beta1, --beta2, --epsilon and --amsgrad belong to --optimizer adam and adamw, not to {0}",
                      name);
  if (request.nesterov && (request.momentum == 0 || request.dampening != 0))
    return inputError("--nesterov needs a --momentum above 0 and no --dampening, as in PyTorch");
  if (request.lossScale && request.precision != PrecisionChoice::Fp16)
    return inputError("--loss-scale belongs to --precision fp16, not to {0}", precisionChoiceName(request.precision));
  return llvm::Error::success();
}

static Optimizer optimizerOf(const PlanRequest &request) {
  Optimizer optimizer;
  optimizer.kind = *parseOptimizer(optimizerName(request.optimizer));
  constexpr double decayOfAdamW = 0.01;
  optimizer.weightDecay = request.weightDecay.value_or(optimizer.kind == OptimizerKind::AdamW ? decayOfAdamW : 0);
  optimizer.momentum = request.momentum;
  optimizer.dampening = request.dampening;
  optimizer.nesterov = request.nesterov;
  optimizer.beta1 = request.beta1;
  optimizer.beta2 = request.beta2;
  optimizer.epsilon = request.epsilon;
  optimizer.amsgrad = request.amsgrad;
  return optimizer;
}

TiedParameters tiedBy(llvm::StringRef tie) {
  auto [first, second] = tie.split('=');
  bool transposed = second.consume_back("^T");
  return {first.str(), second.str(), transposed};
}

llvm::Expected<TrainingOptions> trainingOptionsOf(const PlanRequest &request) {
  if (llvm::Error error = checkOptimizer(request))
    return error;
  TrainingOptions options;
  options.loss = request.loss;
  options.optimizer = optimizerOf(request);
  const bool isNarrow = request.precision == PrecisionChoice::Fp8;
  options.precision = isNarrow ? Precision::Bf16 : *parsePrecision(precisionChoiceName(request.precision));
  options.widensGradients = request.fp32Gradients;
  options.lossScaling.fixed = request.lossScale;
  options.clipNorm = request.clipNorm;
  options.derivesBackward = request.backward == BackwardMode::Derived;
  options.freezesBatchNorm = request.batchNorm == BatchNormMode::Frozen;
  options.recompute = *parseRecompute(recomputeChoiceName(request.recompute.chosen()));
  options.recomputedLayers = request.recompute.layers;
  options.recomputeRest = *parseRecompute(recomputeChoiceName(request.recompute.rest));
  options.freeze = request.freeze;
  options.microBatches = microBatchesOf(request) * copiesOf(request);
  options.copies = copiesOf(request);
  for (llvm::StringRef text : request.ties) {
    TiedParameters tied = tiedBy(text);
    if (tied.first.empty() || tied.second.empty() || llvm::StringRef(tied.second).contains('='))
      return inputError("--tie '{0}': two names of parameters are expected, A=B, or A=B^T where B holds A transposed",
                        text);
    options.ties.push_back(std::move(tied));
  }
  return options;
}

llvm::Error checkPipelineSettings(const PlanRequest &request) {
  if (!request.pipeline.isOn() && request.chunks.count.value_or(1) > 1)
    return inputError("--chunks {0}: chunks are stages of a pipeline's worker, and --pipeline is 1; accepted is "
                      "--pipeline 2 or more, or --chunks 1",
                      request.chunks.str());
  if (!request.pipeline.isOn() && request.schedule != PlanRequest().schedule)
    return inputError("--schedule {0}: a schedule belongs to a pipeline, and --pipeline is 1; accepted is --pipeline 2 "
                      "or more, or --schedule auto",
                      request.schedule);
  return llvm::Error::success();
}

} // namespace apc
