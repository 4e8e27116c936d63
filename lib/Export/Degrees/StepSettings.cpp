// One row for each setting.
#include "StepSettings.h"

#include "../ModelLayers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

double weightDecayOf(const PlanRequest &request) {
  constexpr double ofAdamW = 0.01;
  return request.weightDecay.value_or(request.optimizer == OptimizerChoice::AdamW ? ofAdamW : 0);
}

bool sumsInWide(const ExportSource &source) {
  if (halfFormat(source.plan).empty())
    return false;
  constexpr int64_t wide = 32;
  auto isWideSum = [&](const GraphOp &op) {
    return op.accumulates && llvm::any_of(op.results, [&](std::optional<ValueId> result) {
             return result && source.graph.value(*result).shape.elementBits == wide;
           });
  };
  return source.plan.request.fp32Gradients || llvm::any_of(source.graph.ops, isWideSum);
}

/// Does the request ask for figures other than those that PyTorch's optimizer has by itself?
static bool hasOwnFigures(const PlanRequest &request) {
  PlanRequest usual;
  usual.optimizer = request.optimizer;
  return weightDecayOf(request) != weightDecayOf(usual) || request.momentum != usual.momentum ||
         request.dampening != usual.dampening || request.nesterov || request.beta1 != usual.beta1 ||
         request.beta2 != usual.beta2 || request.epsilon != usual.epsilon;
}

void tellSettings(const ExportSource &source, llvm::ArrayRef<StepSetting> told, llvm::StringRef tool,
                  TargetLayout &nearest) {
  const PlanRequest &request = source.plan.request;
  auto add = [&](bool isSet, const llvm::Twine &setting) {
    if (isSet)
      nearest.unsaid.push_back((setting + ": the files for " + tool + " do not say that").str());
  };
  auto addUnless = [&](StepSetting own, bool isSet, const llvm::Twine &setting) {
    add(isSet && !llvm::is_contained(told, own), setting);
  };
  addUnless(StepSetting::Overlap, request.overlap, "collectives run beside ops");
  addUnless(StepSetting::Clipping, request.clipNorm.has_value(),
            llvm::formatv("gradients are clipped to a norm of {0}", llvm::format("%g", request.clipNorm.value_or(0))));
  addUnless(StepSetting::WideSums, sumsInWide(source), "gradients in 16 bits are summed in 32");
  addUnless(StepSetting::LossScale, request.lossScale.has_value(),
            llvm::formatv("the loss scale stays {0}", llvm::format("%g", request.lossScale.value_or(0))));
  addUnless(StepSetting::Optimizer, request.optimizer != OptimizerChoice::AdamW,
            "the optimizer is " + optimizerName(request.optimizer));
  addUnless(StepSetting::Figures, hasOwnFigures(request), "the optimizer has figures of its own");
  add(request.amsgrad, "the optimizer keeps the greatest mean of squares (amsgrad)");
  add(!request.freeze.empty(), "parameters that match '" + request.freeze + "' are not trained");
  add(request.launches == LaunchMode::Graph, "ops are launched as a graph");
}

} // namespace apc
