// Frameworks as measurements name them, as runtimes.
#include "Fields.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

struct KnownRuntime {
  llvm::StringLiteral words; ///< in lower case, anywhere in what a row says
  llvm::StringLiteral runtime;
};

/// Earlier rows win: kernels that a remark names before the framework.
constexpr KnownRuntime known[] = {{"kernel=torch", "megatron-attention-in-parts"},
                                  {"kernel=fused", "megatron-fused-softmax"},
                                  {"kernel=flash_attentionv1", "megatron-flash-1"},
                                  {"rms kernel", "megatron-2023"},
                                  {"kernel=flash_attention2", "megatron-flash-2"},
                                  {"alpa", "xla-2022"},
                                  {"maxtext", "xla"},
                                  {"llm-foundry", "torch-eager"},
                                  {"torchtitan", "torch-compiled"},
                                  {"fms-fsdp", "torch-compiled"},
                                  {"mindformers", "mindspore"},
                                  {"mindspeed", "mindspore"},
                                  {"megatron-deepspeed", "megatron-2021"},
                                  {"sc'21", "megatron-2021"},
                                  {"korthikanti", "megatron-2021"},
                                  {"bigscience", "megatron-2021"},
                                  {"nemo", "megatron-2023"},
                                  {"dgxc", "megatron-2023"},
                                  {"megatron", "megatron-2023"}};

} // namespace

void setRuntime(llvm::StringRef text, Measurement &into) {
  std::string lower = text.lower();
  const auto *found =
      llvm::find_if(known, [&](const KnownRuntime &each) { return llvm::StringRef(lower).contains(each.words); });
  if (found != std::end(known))
    into.runtime = found->runtime.str();
}

} // namespace apc
