// Accelerate's ParallelismConfig and the tp_plan of transformers, as JSON.
#include "../BoundOps.h"
#include "../ModelLayers.h"
#include "../Refusals.h"
#include "../StageModules.h"
#include "../Targets.h"
#include "NearestLayout.h"
#include "StepSettings.h"

#include "apc/Plan/LayerNames.h"
#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace apc {

llvm::Expected<TargetLayout> nearestHuggingFace(const ExportSource &source) {
  const ParallelDegrees &layout = source.layout;
  Refusals refusals("Accelerate");
  refusals.addIf(source.plan.pipeline.has_value(), "the plan has stages, and ParallelismConfig has no degree for them");
  refusals.addIf(layout.zero == 0 && layout.data > 1 && layout.tensor > 1,
                 "whole parameters on ranks of dp beside cut weights: Accelerate refuses DDP with TP");
  refusals.addIf(
      layout.hasWholeExperts(),
      "experts are whole on ranks of tp, each of which has tokens of its own: a tp_plan has no style for that");
  refusals.addIf(source.plan.training && !layout.microBatch, "a micro-batch is cut unevenly over the ranks of dp");
  if (llvm::Error error = refusals.take())
    return std::move(error);
  TargetLayout nearest{layout, {}};
  if (layout.zero == 1 || layout.zero == 2) {
    nearest.unsaid.push_back(llvm::formatv("ZeRO {0} leaves parameters whole: FSDP cuts them, too", layout.zero));
    nearest.layout.zero = 3;
  }
  runWhole(nearest, "the trainer");
  cutOverContexts(nearest, "the trainer");
  tellSettings(source, {StepSetting::Clipping, StepSetting::Figures}, "the trainer", nearest);
  if (layout.experts > 1) {
    nearest.unsaid.push_back(
        llvm::formatv("experts are spread over {0} ranks: no degree of the configuration says that", layout.experts));
    nearest.layout.experts = 1;
  }
  std::optional<RecomputeSetting> &recompute = nearest.layout.recompute;
  if (recompute && *recompute != RecomputeSetting() && *recompute != RecomputeSetting(RecomputeChoice::Full)) {
    bool isFull = recompute->policy == RecomputeChoice::Full;
    nearest.unsaid.push_back("recompute " + recompute->str() + ": gradient checkpointing is for all layers or none");
    recompute = RecomputeSetting(isFull ? RecomputeChoice::Full : RecomputeChoice::None);
  }
  return nearest;
}

/// Does the factor tell matrices apart that are multiplied one by one, as experts do?
static bool isOfBatches(const FactorRule &rule, FactorId factor) {
  return !rule.isReduction(factor) &&
         llvm::all_of(rule.operands, [&](const RuleTensor &operand) { return operand.has(factor); });
}

/// By module, layers together, the style in which its weight is cut: {"h.*.c_fc", "colwise"}. Where layers differ, the
/// first has its say.
static std::map<std::string, std::string> stylesOf(const ExportSource &source, const BoundPlan &bound,
                                                   GroupedReasons &reasons) {
  std::map<std::string, std::string> styles;
  for (const BoundOp &own : bound.ops) {
    const FactorRule &rule = source.graph.ruleOf(own.op);
    if (rule.work != Work::Contraction)
      continue;
    for (auto [index, value] : llvm::enumerate(source.graph.op(own.op).operands)) {
      std::optional<ValueId> parameter = value ? parameterOf(source.graph, *value) : std::nullopt;
      if (!parameter)
        continue;
      llvm::StringRef name = source.graph.value(*parameter).name;
      std::string module = layerPattern(moduleOf(name));
      std::string style;
      for (const DimFactors &dim : rule.operands[index].dims)
        for (FactorId factor : dim)
          if (!own.strategy.axes[factor.index()].empty() && !isOfBatches(rule, factor))
            style = rule.isReduction(factor) ? "rowwise" : "colwise";
      auto [entry, isNew] = styles.try_emplace(module, style);
      if (!isNew && entry->second != style)
        reasons.add(name, "its layer is cut otherwise than others: a tp_plan has one style for all of them");
      if (!style.empty() && !hasModule(name))
        reasons.add(name, "its weight has a name of the exporter's: the tp_plan names it so");
    }
  }
  return styles;
}

llvm::Expected<Exported> writeHuggingFace(const ExportSource &source, const ParallelDegrees &layout) {
  llvm::Expected<BoundPlan> bound = boundPlan(source);
  if (!bound)
    return bound.takeError();
  GroupedReasons reasons;
  std::map<std::string, std::string> styles;
  if (layout.tensor > 1)
    styles = stylesOf(source, *bound, reasons);
  const int64_t replicas = replicasOf(layout);
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object.object("parallelism_config", [&](JsonObjectWriter &config) {
      config("dp_replicate_size", replicas);
      config("dp_shard_size", layout.data / replicas);
      config("tp_size", layout.tensor);
      config("cp_size", layout.context);
    });
    object.object("tp_plan", [&](JsonObjectWriter &plan) {
      for (const auto &[module, style] : styles)
        if (!style.empty())
          plan(module, style);
    });
    if (!source.plan.training)
      return;
    object.object("training_arguments", [&](JsonObjectWriter &arguments) {
      arguments("per_device_train_batch_size", *layout.microBatch);
      arguments("gradient_accumulation_steps", source.plan.training->microBatches);
      arguments("gradient_checkpointing", layout.recompute && layout.recompute->chosen() == RecomputeChoice::Full);
      const PlanRequest &request = source.plan.request;
      arguments("max_grad_norm", request.clipNorm.value_or(0)); // 0: not clipped
      arguments("weight_decay", weightDecayOf(request));
      arguments("adam_beta1", request.beta1);
      arguments("adam_beta2", request.beta2);
      arguments("adam_epsilon", request.epsilon);
    });
  });
  return Exported{{{"huggingface.json", json.take() + "\n"}}, reasons.take()};
}

} // namespace apc
