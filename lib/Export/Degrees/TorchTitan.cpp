// The parallelism of torchtitan's Trainer.Config, as a Python function, and the schedule of a pipeline as CSV.
#include "../ModelLayers.h"
#include "../PipelineLists.h"
#include "../PythonText.h"
#include "../Refusals.h"
#include "../StageModules.h"
#include "../Targets.h"
#include "NearestLayout.h"
#include "StepSettings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

constexpr llvm::StringLiteral scheduleFile = "schedule.csv";

/// torchtitan's FSDP cuts parameters, gradients and states together. Kept gathered, parameters come once in a step, and
/// a pipeline reduces gradients behind the last micro-batch, as ZeRO 1 does.
void limitStorage(const ExportSource &source, TargetLayout &nearest) {
  int &zero = nearest.layout.zero;
  if (zero != 1 && zero != 2)
    return;
  nearest.unsaid.push_back(llvm::formatv(
      "ZeRO {0} leaves parameters whole: torchtitan's FSDP cuts them between steps, and gathers them once in a step",
      zero));
  bool waits = nearest.layout.pipeline > 1 || source.plan.training->microBatches == 1;
  if (zero == 1 && !waits) {
    nearest.unsaid.push_back("gradients wait for the last micro-batch: torchtitan's FSDP reduces them with each one");
    zero = 2;
  }
  if (zero == 2 && nearest.layout.pipeline > 1) {
    nearest.unsaid.push_back(
        "gradients are reduced with each micro-batch: torchtitan's pipelines wait for the last one");
    zero = 1;
  }
}

/// torchtitan's experts borrow the ranks of tp (ParallelismConfig.expert_parallel_degree).
void keepExpertsWhole(TargetLayout &nearest) {
  ParallelDegrees &layout = nearest.layout;
  if (layout.experts == 1 || layout.tensor == 1 || layout.hasWholeExperts())
    return;
  nearest.unsaid.push_back(
      "tp cuts experts: torchtitan leaves them whole, and spreads them over ranks of tp first, each "
      "of which has a part of every sequence");
  layout.expertTensor = 1;
  layout.cutsSequences = true;
}

void limitToWholeLayers(TargetLayout &nearest) {
  std::optional<RecomputeSetting> &recompute = nearest.layout.recompute;
  if (!recompute || *recompute == RecomputeSetting() || *recompute == RecomputeSetting(RecomputeChoice::Full))
    return;
  bool isFull = recompute->policy == RecomputeChoice::Full;
  nearest.unsaid.push_back(llvm::formatv("recompute {0}: torchtitan recomputes all of every layer or nothing, or what "
                                         "its own list of ops says; {1} is said",
                                         recompute->str(), isFull ? "all" : "nothing"));
  recompute = RecomputeSetting(isFull ? RecomputeChoice::Full : RecomputeChoice::None);
}

struct Field {
  llvm::StringLiteral name;
  std::string value;
};

/// A schedule of PyTorch's with as many stages on a worker, and placed alike: torchtitan reads that off the name, and
/// the actions off the CSV.
llvm::StringRef scheduleNear(const ParallelDegrees &layout) {
  if (layout.numChunks() == 1)
    return "1F1B";
  auto schedule = findPipelineSchedule(layout.scheduleName(), static_cast<uint32_t>(layout.numChunks()));
  const bool isLoop = schedule && (*schedule)->placement == Placement::Loop;
  llvm::consumeError(schedule.takeError());
  return isLoop ? "Interleaved1F1B" : "ZBVZeroBubble";
}

std::vector<Field> fieldsOf(const ExportSource &source, const ParallelDegrees &layout) {
  bool isCut = layout.zero > 0, gathersOnce = layout.zero < 3;
  const int64_t replicas = replicasOf(layout);
  std::vector<Field> fields = {
      {"data_parallel_replicate_degree", std::to_string(replicas)},
      {"data_parallel_shard_degree", std::to_string(layout.data / replicas)},
      {"fsdp_reshard_after_forward", pythonText(isCut && gathersOnce ? "never" : "always")},
      {"tensor_parallel_degree", std::to_string(layout.tensor)},
      {"enable_sequence_parallel", layout.tensor > 1 && layout.cutsSequences ? "True" : "False"},
      {"context_parallel_degree", std::to_string(layout.context)},
      {"expert_parallel_degree", std::to_string(layout.experts)},
      {"pipeline_parallel_degree", std::to_string(layout.pipeline)},
  };
  if (layout.pipeline == 1)
    return fields;
  std::string parts = "[";
  const StageModules modules(source);
  for (const StagePlan &stage : source.plan.stages)
    parts += "\n        " + pythonList(modules.of(stage)) + ",";
  fields.push_back({"module_fqns_per_model_part", parts + "\n    ]"});
  fields.push_back({"num_pp_microbatches", std::to_string(source.plan.training->microBatches)});
  fields.push_back({"pipeline_parallel_schedule", pythonText(scheduleNear(layout))});
  fields.push_back({"pipeline_parallel_schedule_csv", pythonText(scheduleFile)});
  return fields;
}

std::string configText(const ExportSource &source, const ParallelDegrees &layout) {
  std::string text =
      "\"\"\"The parallelism of a plan of apc, for torchtitan: call `apply` with a Trainer.Config.\"\"\"\n"
      "\n\ndef apply(config):\n"
      "    parallelism = config.parallelism\n";
  for (const Field &field : fieldsOf(source, layout))
    text += ("    parallelism." + field.name + " = " + field.value + "\n").str();
  if (std::optional<int64_t> tokens = tokensPerSample(source.graph))
    text += llvm::formatv("    config.training.num_tokens_per_microbatch_per_dp_rank = {0}\n"
                          "    config.training.num_tokens_per_train_step = {1}\n",
                          *tokens * *layout.microBatch, *tokens * source.plan.training->globalBatch);
  const std::optional<double> &norm = source.plan.request.clipNorm;
  text += "    config.training.max_norm = " +
          (norm ? llvm::formatv("{0}", llvm::format("%g", *norm)).str() : "float(\"inf\")") + "\n";
  bool recomputes = layout.recompute && layout.recompute->chosen() == RecomputeChoice::Full;
  return text + llvm::formatv("    return config\n\n\n# The activation checkpoint to configure: \"full\" is FullAC.\n"
                              "ACTIVATION_CHECKPOINT = {0}\n",
                              pythonText(recomputes ? "full" : "none"))
                    .str();
}

/// Modules that files leave open, or that several stages have.
void tellModules(const ExportSource &source, TargetLayout &nearest) {
  const StageModules modules(source);
  if (source.plan.pipeline && modules.numNameless() > 0)
    nearest.unsaid.push_back(llvm::formatv("{0} parameters have names of the exporter's, as onnx::MatMul_390, and so "
                                           "have their readers: their modules are those of their neighbours",
                                           modules.numNameless()));
  llvm::StringMap<size_t> owners;
  for (auto [stage, plan] : llvm::enumerate(source.plan.stages))
    for (const std::string &module : modules.of(plan))
      if (auto [owner, isNew] = owners.try_emplace(module, stage); !isNew)
        nearest.unsaid.push_back(
            llvm::formatv("module {0} is in the stages {1} and {2}: torchtitan gives each module to one", module,
                          owner->second, stage));
}

} // namespace

llvm::Expected<TargetLayout> nearestTorchTitan(const ExportSource &source) {
  const ParallelDegrees &layout = source.layout;
  Refusals refusals("torchtitan");
  refusals.addIf(!source.plan.training, "the plan is for inference, and torchtitan trains");
  refuseUnequalWorkers(source.plan, refusals);
  refusals.addIf(source.plan.training && !layout.microBatch, "a micro-batch is cut unevenly over the ranks of dp");
  if (source.plan.pipeline) {
    llvm::Expected<ActionLists> lists = actionListsOf(source.plan);
    llvm::Expected<std::string> csv = lists ? scheduleCsv(*lists) : lists.takeError();
    if (!csv)
      refusals.addIf(true, takeMessage(csv.takeError()).second);
  }
  if (llvm::Error error = refusals.take())
    return std::move(error);
  TargetLayout nearest{layout, {}};
  limitStorage(source, nearest);
  limitToWholeLayers(nearest);
  keepExpertsWhole(nearest);
  cutCopiedExperts(nearest, "torchtitan"); // TensorParallel of apply_moe_ep_tp, where the mesh has no ep
  runWhole(nearest, "torchtitan");
  cutOverContexts(nearest, "torchtitan");
  tellSettings(source, {StepSetting::Clipping, StepSetting::WideSums}, "torchtitan", nearest); // which it always has
  tellModules(source, nearest);
  return nearest;
}

llvm::Expected<Exported> writeTorchTitan(const ExportSource &source, const ParallelDegrees &layout) {
  Exported exported{{{"torchtitan_config.py", configText(source, layout)}}, {}};
  if (!source.plan.pipeline)
    return exported;
  llvm::Expected<ActionLists> lists = actionListsOf(source.plan);
  if (!lists)
    return lists.takeError();
  llvm::Expected<std::string> csv = scheduleCsv(*lists);
  if (!csv)
    return csv.takeError();
  exported.files.push_back({scheduleFile.str(), std::move(*csv)});
  return exported;
}

} // namespace apc
