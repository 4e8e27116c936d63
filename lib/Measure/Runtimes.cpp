// Frameworks as measurements name them, as runtimes.
#include "Fields.h"
#include "Remarks.h"

#include "apc/Cluster/Cluster.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// The collectives that run beside kernels: of the parameters and gradients that ZeRO 3 cuts, or with any stage the
/// sums of gradients as well, from the last backward pass on.
enum class Beside : uint8_t { Nothing, CutParameters, AllSums };

struct KnownRuntime {
  llvm::StringLiteral words; ///< a pattern of whole words that a row says of itself
  llvm::StringLiteral runtime;
  int64_t fewestDevices = 1;
  bool widensGradients = true;           ///< `Measurement::widensGradients`
  Beside beside = Beside::CutParameters; ///< unless a row says otherwise
  ExpertDispatch dispatch = ExpertDispatch::ByIndex;
};

/// Earlier rows win: kernels that a remark names before the framework. Those are of Aleph-Alpha/scaling, whose
/// gradients add up as PyTorch's do, in the bits of the weights (src/scaling/core/optimizer/parameter_group.py). XLA's
/// all-gathers on GPUs ran in the stream of its kernels unless asked otherwise (xla/debug_options_flags.cc,
/// xla_gpu_enable_async_all_gather), and Alpa does not ask. torchtitan compiles where training.compile is set
/// (torchtitan/config_manager.py: off), DeepSpeed by engine.compile(), and fms-fsdp always
/// (fms_fsdp/config/training.py, use_torch_compile). Sums of gradients run beside the last backward pass in PyTorch's
/// DDP and FSDP (Li et al. 2020, arXiv 2006.15704, section 3.2.3) and in NeMo
/// (nemo/lightning/pytorch/callbacks/megatron_comm_overlap.py), whose recipes for performance, and those of
/// Megatron-Bridge, add them up in the bits of the weights (grad_reduce_in_fp32 = False), which is taken for all of
/// their rows, as it is for fms-fsdp's (fms_fsdp/policies/mixed_precision.py, bfSixteen: reduce_dtype); in
/// Megatron-LM sums run beside where it is asked for (megatron/core/distributed/distributed_data_parallel_config.py,
/// overlap_grad_reduce: off), and in DeepSpeed with ZeRO 3 alone (deepspeed/runtime/zero/config.py, overlap_comm).
/// Experts of Alpa (alpa/model/moe.py) and DeepSpeed (deepspeed/moe/sharded_moe.py) get their tokens by products with
/// one-hot tensors.
constexpr KnownRuntime known[] = {
    {"kernel=torch", "megatron-attention-in-parts", 1, false},
    {"kernel=fused", "megatron-fused-softmax", 1, false},
    {"kernel=flash_attentionv1", "megatron-flash-1", 1, false},
    {"rms kernel", "megatron-flash-2-norms", 1, false},
    {"kernel=flash_attention2", "megatron-flash-2", 1, false},
    // Chronicles of tr11-176B-ml, prequel: steps on 320 GPUs hang without
    // CUDA_LAUNCH_BLOCKING=1.
    {"bigscience", "megatron-2021-waiting", 320},
    {"alpa", "xla-2022", 1, true, Beside::Nothing, ExpertDispatch::OneHot},
    {"maxtext", "xla"},
    {"llm[- ]?foundry", "torch-eager-2023", 1, true, Beside::AllSums},
    {"torchtitan", "torch-eager", 1, true, Beside::AllSums},
    {"fms-fsdp", "torch-compiled", 1, false, Beside::AllSums},
    {"mindformers", "mindspore"},
    {"mindspeed", "mindspore"},
    {"mindspore", "mindspore"},
    {"megatron(-?lm)? ?([-+/&]|and|with) ?deepspeed|deepspeed ?([-+/&]|and|with) ?megatron(-?lm)?", "megatron-2021", 1,
     true, Beside::CutParameters, ExpertDispatch::OneHot},
    {"sc'21", "megatron-2021"},
    {"korthikanti", "megatron-2022"},
    {"bigscience", "megatron-2021"},
    {"nemo", "megatron-2023", 1, false, Beside::AllSums},
    {"dgxc", "megatron-2023", 1, false, Beside::AllSums},
    {"megatron[- ]core|mcore", "megatron-2023"},
    {"megatron-bridge", "megatron-2023", 1, false, Beside::AllSums},
    {"primus", "megatron-2023"},
    {"megatron(-?lm)?", "megatron-2023-unfused"},
    {"gpt-neox", "megatron-2021"},
    {"deepspeed", "torch-eager", 1, true, Beside::CutParameters, ExpertDispatch::OneHot},
    {"colossal-?ai", "torch-eager"},
    {"litgpt", "torch-eager", 1, true, Beside::AllSums},
    {"lightning", "torch-eager", 1, true, Beside::AllSums},
    {"(py)?torch ddp|distributeddataparallel", "torch-compiled", 1, true, Beside::AllSums},
    {"jax", "xla"},
    {"levanter", "xla"},
    {"xla", "xla"}};

/// The first that a row of so many devices names; null where there is none.
const KnownRuntime *runtimeIn(llvm::StringRef text, int64_t devices) {
  static const std::vector<Words> words = wordsOf(known, &KnownRuntime::words);
  for (const auto &[each, own] : llvm::zip_equal(known, words))
    if (devices >= each.fewestDevices && isOwn(text, own))
      return &each;
  return nullptr;
}

/// The runtime of a row that names no known framework: that of plans, where PyTorch runs on the devices.
llvm::StringRef usualRuntime(llvm::StringRef cluster) {
  return cluster.starts_with("tpu") ? "xla" : cluster.starts_with("atlas") ? "mindspore" : "torch-compiled";
}

/// PyTorch's compiler is said to run, or to rest; else as the framework has it.
llvm::StringRef torchRuntime(llvm::StringRef text, llvm::StringRef usual) {
  static const Words compiler("(torch[._])?compil(e|ed|er|ation)"), eager("eager");
  if (isOn(text, compiler))
    return "torch-compiled";
  return isStated(text, compiler) || hasWords(text, eager) ? "torch-eager" : usual;
}

/// Root mean square norms are no kernel of PyTorch's (torchtitan/models/norms.py, RMSNorm; transformers
/// modeling_llama.py, LlamaRMSNorm) unless a row says so. torchtitan compiles each layer by itself
/// (torchtitan/parallelisms/parallelize_llama.py, apply_compile), and the loss since March 2025
/// (torchtitan/components/loss.py), which rows or their dates must say. Both in numbers of 16 or 8 bits, for which the
/// bytes were counted.
llvm::StringRef torchRuntimeOf(llvm::StringRef text, llvm::StringRef usual, const Measurement &row) {
  static const Words kernel("(fused|triton|liger|apex)[-_ ]?((rms|layer)?[-_ ]?norms?|kernels?)|liger");
  static const Words withLoss("compiled loss|loss (is |was )?compiled"), torchtitan("torchtitan");
  static const Words sinceMarch("2025[-_/]?(0[3-9]|1[0-2])([-_/]?[0-3][0-9])?|202[6-9]([-_/]?[01][0-9])*");
  const llvm::StringRef runtime = torchRuntime(text, usual);
  if (row.precision == PrecisionChoice::Fp32)
    return runtime;
  if (runtime == "torch-eager" && row.model.hasRmsNorm && !isOn(text, kernel))
    return "torch-eager-rms";
  const bool isOfLayers = isOwn(text, torchtitan) && !isOn(text, withLoss) && !hasWords(text, sinceMarch);
  return runtime == "torch-compiled" && isOfLayers ? "torch-compiled-layers" : runtime;
}

/// Asked for in Megatron-DeepSpeed and GPT-NeoX as well, which are then taken as Megatron-LM with it.
const Words &fusedAttention() {
  static const Words words(
      "(use[-_])?flash([-_ ]?(attn|attention))?[-_ ]?(v?[0-9])?|transformer[-_ ]?engine|te|fused[-_ ]attention");
  return words;
}

/// Megatron-LM without its core had fused attention where it was asked for (NVIDIA/Megatron-LM megatron/arguments.py:
/// --use-flash-attn, --transformer-impl with the default "local"), and on Hopper, which Transformer Engine came with.
llvm::StringRef megatronRuntime(llvm::StringRef text, llvm::StringRef cluster) {
  const bool isNew = cluster.starts_with("dgx-h") || cluster.starts_with("dgx-b") || cluster.starts_with("gb");
  static const Words unfused("unfused");
  const bool isNamed = isStated(text, fusedAttention()) || hasWords(text, unfused);
  const bool isFused = isOn(text, fusedAttention()) || (isNew && !isNamed);
  return isFused ? "megatron-2023" : "megatron-2023-unfused";
}

/// Whether sums of gradients run beside the backward pass: as a row says, or else as its framework has it. Beside
/// tensor parallelism they are taken in turn all the same, for its gathers, which no trainer sends ahead, would go
/// beside kernels as well.
bool overlapsSums(llvm::StringRef text, bool usually) {
  static const Words sums("overlap[-_ ]grad[-_ ](reduce|sync)");
  return isOn(text, sums) || (usually && !isStated(text, sums));
}

/// Whether sums of gradients have 32 bits: as a row says, or else as its framework has it.
bool widensSums(llvm::StringRef text, bool usually) {
  constexpr llvm::StringLiteral reduced =
      "(grad(ient)?s?[-_ ])?(reduce|reduction)[-_ ](dtype|in|precision)[-_ =:]*(torch[.])?";
  static const Words wide(
      (reduced + "(fp32|float32)|(fp32|float32|32-bit)[-_ ]grad(ient)?s?[-_ ](reduction|reduce|sums?)").str());
  static const Words narrow(
      (reduced + "(bf16|bfloat16|fp16|float16)|bf16[-_ ]grad(ient)?s?[-_ ](reduction|reduce|sums?)").str());
  if (isStated(text, wide))
    return isOn(text, wide);
  return isOn(text, narrow) ? false : usually;
}

} // namespace

void setTf32(Fields &fields, llvm::StringRef precision, llvm::StringRef notes, Measurement &into) {
  static const Words tf32("(allow[-_ ]?)?tf32");
  if (fields.isLeftOut() || into.precision != PrecisionChoice::Fp32 || !(isOwn(precision, tf32) || isOwn(notes, tf32)))
    return;
  const Device device = llvm::cantFail(loadCluster(into.cluster)).pool.device;
  if (!device.peakFlopsPerSecond.count(NumberFormat::TF32))
    return fields.leaveOut("TF32 on devices that have none");
  if (!device.tf32ForF32)
    into.overrides.push_back("device.tf32_for_f32=true");
  if (!llvm::cantFail(loadRuntime(into.runtime)).fullF32Products)
    return;
  into.runtime += "-tf32";
  if (llvm::Error unknown = loadRuntime(into.runtime).takeError()) {
    llvm::consumeError(std::move(unknown));
    fields.leaveOut("TF32 under a runtime that is known without it");
  }
}

void setRuntime(llvm::StringRef text, Measurement &into) {
  llvm::StringRef runtime = usualRuntime(into.cluster);
  if (const KnownRuntime *found = runtimeIn(text, into.devices)) {
    runtime = found->runtime;
    into.widensGradients = found->widensGradients;
    into.model.dispatch = found->dispatch;
    const bool overlapsMore = into.layout.tensor == 1 && overlapsSums(text, found->beside == Beside::AllSums);
    into.overlaps = found->beside != Beside::Nothing && (into.overlaps || overlapsMore);
  }
  into.widensGradients = widensSums(text, into.widensGradients);
  if (runtime == "torch-eager" || runtime == "torch-compiled")
    runtime = torchRuntimeOf(text, runtime, into);
  if (runtime == "megatron-2023-unfused")
    runtime = megatronRuntime(text, into.cluster);
  if (runtime == "megatron-2021" && isOn(text, fusedAttention()))
    runtime = "megatron-2023";
  into.runtime = runtime.str();
}

} // namespace apc
