// DeepSpeed's JSON configuration.
#include "../ModelLayers.h"
#include "../Refusals.h"
#include "../Targets.h"
#include "NearestLayout.h"
#include "StepSettings.h"

#include "apc/Support/Json/JsonWriter.h"

#include "llvm/Support/FormatVariadic.h"

namespace apc {

llvm::Expected<TargetLayout> nearestDeepSpeed(const ExportSource &source) {
  const ParallelDegrees &layout = source.layout;
  Refusals refusals("DeepSpeed");
  refusals.addIf(!source.plan.training,
                 "the plan is for inference, and the configuration is that of a training engine");
  refusals.addIf(source.plan.pipeline.has_value(),
                 "the plan has stages: DeepSpeed has them where the model's code is a PipelineModule, no configuration "
                 "says them");
  refusals.addIf(
      layout.context > 1,
      llvm::formatv("sequences are cut over {0} ranks: DeepSpeed does that in the model's code alone", layout.context));
  refusals.addIf(layout.experts > 1, llvm::formatv("experts are spread over {0} ranks: DeepSpeed does that in the "
                                                   "model's layers alone",
                                                   layout.experts));
  refusals.addIf(source.plan.training && !layout.microBatch, "a micro-batch is cut unevenly over the ranks of dp");
  if (llvm::Error error = refusals.take())
    return std::move(error);
  TargetLayout nearest{layout, {}};
  runWhole(nearest, "DeepSpeed");
  cutCopiedExperts(nearest, "DeepSpeed");
  llvm::SmallVector<StepSetting, 4> told = {StepSetting::Clipping, StepSetting::WideSums, StepSetting::LossScale};
  if (layout.zero > 0)
    told.push_back(StepSetting::Overlap); // of gradients and gathers of ZeRO
  tellSettings(source, told, "DeepSpeed", nearest);
  if (layout.zero < 3)
    cutOverAll(nearest, "DeepSpeed's ZeRO 1 and 2");
  if (layout.recompute && layout.recompute->chosen() != RecomputeChoice::None) {
    nearest.unsaid.push_back(llvm::formatv("recompute {0}: the model's code says that to DeepSpeed, no configuration "
                                           "does",
                                           layout.recompute->str()));
    nearest.layout.recompute = RecomputeSetting();
  }
  if (layout.tensor > 1 && layout.cutsSequences) {
    nearest.unsaid.push_back(
        "values between cut weights are cut along the sequence: DeepSpeed's AutoTP has them whole");
    nearest.layout.cutsSequences = false;
  }
  return nearest;
}

llvm::Expected<Exported> writeDeepSpeed(const ExportSource &source, const ParallelDegrees &layout) {
  const PlanTraining &training = *source.plan.training;
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("train_batch_size", training.globalBatch);
    object("train_micro_batch_size_per_gpu", *layout.microBatch);
    object("gradient_accumulation_steps", training.microBatches);
    object.object("zero_optimization", [&](JsonObjectWriter &zero) {
      zero("stage", layout.zero);
      if (layout.shard)
        zero("mics_shard_size", *layout.shard);
      if (layout.zero > 0)
        zero("overlap_comm", source.plan.request.overlap);
    });
    if (layout.tensor > 1)
      object.object("tensor_parallel", [&](JsonObjectWriter &tensor) { tensor("autotp_size", layout.tensor); });
    if (std::string half = halfFormat(source.plan); !half.empty())
      object.object(half, [&](JsonObjectWriter &format) {
        format("enabled", true);
        if (source.plan.request.lossScale)
          format("loss_scale", *source.plan.request.lossScale);
      });
    if (source.plan.request.clipNorm)
      object("gradient_clipping", *source.plan.request.clipNorm);
    if (sumsInWide(source))
      object.object("data_types", [&](JsonObjectWriter &types) { types("grad_accum_dtype", "fp32"); });
  });
  return Exported{{{"deepspeed.json", json.take() + "\n"}}, {}};
}

} // namespace apc
