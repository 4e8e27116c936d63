// Arguments of Megatron-LM's training script.
#include "../BoundOps.h"
#include "../ModelLayers.h"
#include "../Refusals.h"
#include "../Targets.h"
#include "NearestLayout.h"
#include "StepSettings.h"

#include "apc/Schedule/Pipeline/Schedules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

namespace apc {

namespace {

/// Arguments, one a line.
class ArgumentWriter {
public:
  void add(llvm::StringRef name) { text += ("--" + name + "\n").str(); }
  void add(llvm::StringRef name, const llvm::Twine &value) { text += ("--" + name + " " + value + "\n").str(); }
  void add(llvm::StringRef name, int64_t value) { add(name, llvm::Twine(value)); }
  std::string take() { return std::move(text); }

private:
  std::string text;
};

/// "Et*4|t*4|t*4L": the embedding with 4 layers, 4 layers, 4 layers with the loss.
std::string stagesText(const ModelLayers &layers) {
  std::string text;
  for (auto [stage, count] : llvm::enumerate(layers.ofStage)) {
    text += stage == 0 ? "E" : "|";
    if (count > 0)
      text += "t*" + std::to_string(count);
  }
  return text + "L";
}

void addStages(const ExportSource &source, const ParallelDegrees &layout, ArgumentWriter &arguments) {
  std::optional<ModelLayers> layers = modelLayers(source);
  arguments.add("num-layers", layers->count);
  arguments.add("pipeline-model-parallel-size", layout.pipeline);
  if (layout.pipeline == 1)
    return;
  if (!layers->isEven())
    arguments.add("pipeline-model-parallel-layout", stagesText(*layers));
  else if (layout.numChunks() > 1)
    arguments.add("num-layers-per-virtual-pipeline-stage", layers->ofStage.front());
  if (layout.numChunks() == 1 || !source.plan.training)
    return;
  const PipelineCounts counts = countsOf(layout.pipeline, source.plan.training->microBatches, layout.numChunks());
  if (const uint32_t size = interleavedSizeOf(counts, /*isShort=*/false); size != counts.workers)
    arguments.add("microbatch-group-size-per-virtual-pipeline-stage", int64_t(size));
}

/// Stages of the model: Megatron counts the layers to recompute in each, for its blocks of layers are those of stages.
int64_t numStages(const ParallelDegrees &layout) { return layout.pipeline * layout.numChunks(); }

void addRecompute(const ParallelDegrees &layout, ArgumentWriter &arguments) {
  if (!layout.recompute)
    return;
  auto selective = [&](llvm::StringRef module) {
    arguments.add("recompute-granularity", "selective");
    arguments.add("recompute-modules", module);
  };
  switch (layout.recompute->policy) {
  case RecomputeChoice::None:
  case RecomputeChoice::Auto:
    return;
  case RecomputeChoice::Norms:
    return selective("layernorm");
  case RecomputeChoice::Attention:
    return selective("core_attn");
  case RecomputeChoice::Mlp:
    return selective("mlp");
  case RecomputeChoice::Branches: // Megatron's nearest is the whole layer
  case RecomputeChoice::Full:
    arguments.add("recompute-granularity", "full");
    arguments.add("recompute-method", layout.recompute->layers ? "block" : "uniform");
    arguments.add("recompute-num-layers",
                  layout.recompute->layers ? *layout.recompute->layers / numStages(layout) : int64_t(1));
  }
}

void addIfOther(llvm::StringRef name, double value, double usual, ArgumentWriter &arguments) {
  if (value != usual)
    arguments.add(name, llvm::formatv("{0}", llvm::format("%g", value)).str());
}

/// The optimizer, with the figures that differ from Megatron's own.
void addOptimizer(const PlanRequest &request, ArgumentWriter &arguments) {
  const bool isAdam = request.optimizer == OptimizerChoice::Adam || request.optimizer == OptimizerChoice::AdamW;
  arguments.add("optimizer", isAdam ? "adam" : "sgd");
  addIfOther("weight-decay", weightDecayOf(request), 0.01, arguments);
  if (isAdam) {
    addIfOther("adam-beta1", request.beta1, 0.9, arguments);
    addIfOther("adam-beta2", request.beta2, 0.999, arguments);
    addIfOther("adam-eps", request.epsilon, 1e-8, arguments);
  } else {
    addIfOther("sgd-momentum", request.optimizer == OptimizerChoice::Momentum ? request.momentum : 0, 0.9, arguments);
  }
  addIfOther("clip-grad", request.clipNorm.value_or(0), 1.0, arguments);
  if (request.lossScale)
    addIfOther("loss-scale", *request.lossScale, 0, arguments);
}

void addTraining(const ExportSource &source, ArgumentWriter &arguments) {
  const Plan &plan = source.plan;
  arguments.add("global-batch-size", plan.training->globalBatch);
  if (std::string format = halfFormat(plan); !format.empty())
    arguments.add(format);
  if (plan.request.precision == PrecisionChoice::Fp8)
    arguments.add("fp8-format", "hybrid");
  if (sumsInWide(source))
    arguments.add("accumulate-allreduce-grads-in-fp32");
  addOptimizer(plan.request, arguments);
}

/// The policy of the layout, as far as Megatron has it.
void limitRecompute(TargetLayout &nearest) {
  std::optional<RecomputeSetting> &recompute = nearest.layout.recompute;
  if (!recompute || recompute->chosen() == RecomputeChoice::None)
    return;
  if (recompute->policy == RecomputeChoice::Norms)
    nearest.unsaid.push_back("recompute norms: Megatron recomputes normalisations, and keeps activation functions");
  if (recompute->policy == RecomputeChoice::Branches) {
    nearest.unsaid.push_back("recompute branches: Megatron recomputes whole layers, with their collectives");
    recompute->policy = RecomputeChoice::Full;
  }
  if (recompute->rest != RecomputeChoice::None) {
    nearest.unsaid.push_back(llvm::formatv("recompute {0}: Megatron has one policy for all layers that recompute, the "
                                           "others keep everything",
                                           recompute->str()));
    recompute->rest = RecomputeChoice::None;
  }
  if (recompute->layers && recompute->policy != RecomputeChoice::Full) {
    nearest.unsaid.push_back(llvm::formatv("recompute {0}: Megatron counts layers for full recomputation alone, others "
                                           "hold for all layers",
                                           recompute->str()));
    recompute->layers.reset();
  }
  int64_t stages = numStages(nearest.layout);
  if (recompute->layers && *recompute->layers % stages != 0) {
    int64_t even = *recompute->layers / stages;
    nearest.unsaid.push_back(llvm::formatv("recompute {0}: Megatron recomputes equally many layers of each stage, {1} "
                                           "of each of {2}",
                                           recompute->str(), even, stages));
    recompute->layers = even * stages;
    if (even == 0)
      recompute = RecomputeSetting();
  }
}

/// The parameters that are tables of which ops take rows.
std::set<ValueId> embeddingsOf(const OpGraph &graph) {
  std::set<ValueId> tables;
  for (const GraphOp &op : graph.ops)
    for (auto [index, value] : llvm::enumerate(op.operands))
      if (value && graph.rules[op.rule.index()].operands[index].sparse)
        if (std::optional<ValueId> parameter = parameterOf(graph, *value))
          tables.insert(*parameter);
  return tables;
}

/// Does a contraction read a table of embeddings, as heads do that share it?
bool sharesEmbeddings(const OpGraph &graph) {
  const std::set<ValueId> tables = embeddingsOf(graph);
  for (const GraphOp &op : graph.ops)
    for (auto [index, value] : llvm::enumerate(op.operands)) {
      const FactorRule &rule = graph.rules[op.rule.index()];
      if (!value || rule.work != Work::Contraction || rule.operands[index].sparse)
        continue;
      std::optional<ValueId> parameter = parameterOf(graph, *value);
      if (parameter && tables.count(*parameter) > 0)
        return true;
    }
  return false;
}

/// Arguments for states, sums and parameters that rest in pieces.
void addStorage(const ParallelDegrees &layout, ArgumentWriter &arguments) {
  if (layout.zero > 0)
    arguments.add("use-distributed-optimizer");
  if (layout.shard)
    arguments.add("num-distributed-optimizer-instances", replicasOf(layout));
  if (layout.zero < 2)
    return;
  arguments.add("use-megatron-fsdp");
  arguments.add("data-parallel-sharding-strategy", layout.zero == 2 ? "optim_grads" : "optim_grads_params");
  arguments.add("no-gradient-accumulation-fusion");
  arguments.add("ckpt-format", "fsdp_dtensor"); // the only one that it takes
}

/// Collectives of dp beside ops.
void addOverlap(const ParallelDegrees &layout, ArgumentWriter &arguments) {
  arguments.add("overlap-grad-reduce");
  if (layout.zero > 0)
    arguments.add("overlap-param-gather");
}

/// Settings that Megatron has no arguments for.
void tellOthers(const ExportSource &source, TargetLayout &nearest) {
  const PlanRequest &request = source.plan.request;
  using enum StepSetting;
  tellSettings(source, {Overlap, Clipping, WideSums, LossScale, Optimizer, Figures}, "Megatron", nearest);
  auto tellIf = [&](bool isSet, llvm::StringLiteral text) {
    if (isSet)
      nearest.unsaid.push_back(text.str());
  };
  tellIf(request.overlap && source.layout.tensor * source.layout.context > 1,
         "collectives of tp and cp run beside ops: Megatron's arguments here say that of dp alone");
  tellIf(request.optimizer == OptimizerChoice::Adam && weightDecayOf(request) != 0,
         "weight decay is a part of Adam's gradients: Megatron's is decoupled, as AdamW has it");
  tellIf(request.optimizer == OptimizerChoice::Momentum && (request.nesterov || request.dampening != 0),
         "momentum is Nesterov's, or dampened: Megatron's is neither");
}

} // namespace

llvm::Expected<TargetLayout> nearestMegatron(const ExportSource &source) {
  const ParallelDegrees &layout = source.layout;
  std::optional<ModelLayers> layers = modelLayers(source);
  Refusals refusals("Megatron");
  refusals.addIf(!source.plan.training, "the plan is for inference, and the arguments are those of a training script");
  refusals.addIf(!layers, "the model has no repeated layers, and Megatron has stacks of equal layers alone");
  refusals.addIf(embeddingsOf(source.graph).empty(),
                 "the model has no table of embeddings, and Megatron has language models like GPT, BERT and T5");
  refuseUnequalWorkers(source.plan, refusals);
  refusals.addIf(source.plan.training && !layout.microBatch, "a micro-batch is cut unevenly over the ranks of dp");
  if (llvm::Error error = refusals.take())
    return std::move(error);
  TargetLayout nearest{layout, {}};
  cutBetweenLayers(nearest, *layers, "Megatron");
  runWhole(nearest, "Megatron");
  std::string name = layout.scheduleName();
  bool isKnown = name == "1f1b" || name == "interleaved";
  if (layout.pipeline > 1 && !isKnown) {
    nearest.layout.schedule = layout.numChunks() > 1 ? "interleaved" : "1f1b";
    nearest.unsaid.push_back(llvm::formatv("schedule {0}: Megatron runs {1}", name, nearest.layout.schedule));
  }
  limitRecompute(nearest);
  tellOthers(source, nearest);
  return nearest;
}

llvm::Expected<Exported> writeMegatron(const ExportSource &source, const ParallelDegrees &layout) {
  ArgumentWriter arguments;
  arguments.add("tensor-model-parallel-size", layout.tensor);
  if (layout.tensor > 1 && layout.cutsSequences)
    arguments.add("sequence-parallel");
  if (layout.context > 1) {
    arguments.add("context-parallel-size", layout.context);
    arguments.add("cp-comm-type", "all_gather");
  }
  if (layout.experts > 1)
    arguments.add("expert-model-parallel-size", layout.experts);
  if (layout.expertTensor)
    arguments.add("expert-tensor-parallel-size", *layout.expertTensor);
  addStages(source, layout, arguments);
  arguments.add("micro-batch-size", *layout.microBatch);
  if (!sharesEmbeddings(source.graph))
    arguments.add("untie-embeddings-and-output-weights");
  addTraining(source, arguments);
  addStorage(layout, arguments);
  if (source.plan.request.overlap && layout.data * layout.context > 1)
    addOverlap(layout, arguments);
  addRecompute(layout, arguments);
  return Exported{{{"megatron.args", arguments.take()}}, {}};
}

} // namespace apc
