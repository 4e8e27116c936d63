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
