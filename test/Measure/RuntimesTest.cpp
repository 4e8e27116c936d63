// Frameworks in the words of rows that name several.
#include "Rows.h"

using namespace apc;

namespace {

std::string runtimeOf(const char *notes) { return readRows({throughputCells({{"notes", notes}})})[0].runtime; }

} // namespace

TEST_CASE("frameworks that a row compares itself with, or denies, are not its own") {
  for (const char *notes : {"compared with Megatron-LM; here: ColossalAI", "ColossalAI vs Megatron",
                            "ColossalAI, 1.2x faster than Megatron-LM", "ColossalAI, as fast as Megatron-LM",
                            "ColossalAI instead of the Megatron-LM baseline"})
    CHECK(runtimeOf(notes) == "torch-eager");
  for (const char *notes : {"not Megatron; own code", "no Megatron", "vs Megatron", "unlike NeMo", "without DeepSpeed"})
    CHECK(runtimeOf(notes) == "torch-compiled");
  CHECK(runtimeOf("Megatron-LM, compared with ColossalAI") == "megatron-2023-unfused");
  CHECK(runtimeOf("not Megatron-Core but Megatron-LM") == "megatron-2023-unfused");
}

TEST_CASE("Megatron-LM with DeepSpeed is Megatron-DeepSpeed") {
  for (const char *notes : {"Megatron-DeepSpeed", "Megatron-LM + DeepSpeed", "Megatron + DeepSpeed 3D parallelism",
                            "DeepSpeed and Megatron-LM", "Megatron-LM with DeepSpeed"})
    CHECK(runtimeOf(notes) == "megatron-2021");
}

TEST_CASE("Megatron-DeepSpeed and GPT-NeoX have fused attention where it is asked for") {
  for (const char *notes : {"gpt-neox, flash attention", "Megatron-DeepSpeed, flash attention",
                            "Megatron-DeepSpeed --use-flash-attn-v2", "GPT-NeoX + FlashAttention-2"})
    CHECK(runtimeOf(notes) == "megatron-2023");
  for (const char *notes : {"gpt-neox", "gpt-neox, no flash attention", "Megatron-DeepSpeed, flash attention not used"})
    CHECK(runtimeOf(notes) == "megatron-2021");
}

TEST_CASE("PyTorch runs root mean square norms op by op, and torchtitan compiles layers alone") {
  auto runtimeOfLlama = [](const char *notes, const char *precision = "bf16") {
    const Cells cells = {{"notes", notes}, {"precision", precision}, {"model_family", "LLaMA2"}};
    return readRows({throughputCells(cells)})[0].runtime;
  };
  CHECK(runtimeOfLlama("torchtitan") == "torch-eager-rms");
  CHECK(runtimeOfLlama("DeepSpeed ZeRO-3") == "torch-eager-rms");
  CHECK(runtimeOfLlama("torchtitan", "fp32") == "torch-eager");
  for (const char *notes : {"torchtitan, fused_rmsnorm", "DeepSpeed with Liger kernels"})
    CHECK(runtimeOfLlama(notes) == "torch-eager");
  CHECK(runtimeOf("torchtitan") == "torch-eager"); // layer norms are a kernel
  CHECK(runtimeOfLlama("torchtitan, torch.compile") == "torch-compiled-layers");
  CHECK(runtimeOfLlama("torchtitan, torch.compile, compiled loss") == "torch-compiled");
  CHECK(runtimeOfLlama("torchtitan llama3_h200_202506, torch.compile") == "torch-compiled");
  CHECK(runtimeOfLlama("torchtitan llama3_h100_202412, torch.compile") == "torch-compiled-layers");
  CHECK(runtimeOfLlama("PyTorch FSDP, torch.compile") == "torch-compiled");
}

TEST_CASE("words that are not stated leave what a framework has") {
  for (const char *words : {"torch.compile not stated", "torch.compile: unknown", "torch.compile is not reported",
                            "torch.compile (unspecified)", "torch.compile?"}) {
    CHECK(runtimeOf((std::string("torchtitan; ") + words).c_str()) == "torch-eager");
    CHECK(runtimeOf((std::string("fms-fsdp; ") + words).c_str()) == "torch-compiled");
  }
  CHECK(runtimeOf("fms-fsdp; torch.compile not used") == "torch-eager");
  CHECK(runtimeOf("torchtitan; torch.compile, schedule not stated") == "torch-compiled-layers");
  const Cells megatron = {{"hardware", "H100 SXM"}, {"notes", "Megatron-LM, flash attention not stated"}};
  CHECK(readRows({throughputCells(megatron)})[0].runtime == "megatron-2023");
}

TEST_CASE("sums of gradients have the bits that a row says, or else those of its framework") {
  auto isWide = [](const char *notes) { return readRows({throughputCells({{"notes", notes}})})[0].widensGradients; };
  for (const char *notes : {"torchtitan", "FSDP2, fp32 gradient reduction", "NeMo, grad_reduce_in_fp32=True",
                            "fms-fsdp, reduce_dtype=torch.float32", "FSDP, reduce_dtype fp32 not stated"})
    CHECK(isWide(notes));
  for (const char *notes : {"fms-fsdp", "torchtitan, reduce_dtype=bfloat16", "Megatron-LM, grad_reduce_in_fp32=False",
                            "FSDP, bf16 gradient reduction", "NeMo", "NeMo, grad_reduce_in_fp32 not stated"})
    CHECK(!isWide(notes));
}
