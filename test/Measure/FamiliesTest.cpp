// Families of models by their names in publications.
#include "../../lib/Measure/Families.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("A name says which family a model is of, and short names count as words alone") {
  auto activationOf = [](llvm::StringRef name) -> std::string {
    const std::optional<TransformerShape> shape = shapeOfFamily(name);
    if (!shape)
      return "unknown";
    return shape->isGated() ? "gated" : shape->activation == TransformerActivation::Gelu ? "gelu" : "squared";
  };
  for (const char *name : {"Llama3.1-70B",    "CodeLlama-34b", "Yi-34B",       "Yi 6B",
                           "Yi-1.5-34B",      "InternLM2-20B", "vicuna-13b",   "OLMo2-7B",
                           "OLMo 2 13B",      "Mixtral 8x22B", "Qwen2.5-72B",  "GLM-4-9B",
                           "GLM 4 9B",        "Phi-3-mini",    "Granite 8B",   "granite-3.0-8b",
                           "DeepSeek-LLM-7B", "DeepSeek 67B",  "deepseek-llm", "Alpaca-7B",
                           "Vicuna",          "Skywork-13B",   "Aquila2-34B",  "LLaMA-7B, hybrid sharding"})
    CHECK(activationOf(name) == "gated");
  for (const char *name :
       {"GPT-3 175B", "OPT-66B", "opt 30b", "opt-125m", "MT-NLG 530B", "Megatron-Turing 530B", "PanGu-100B",
        "PanGu-alpha", "GPT-NeoX-20B", "BLOOM-176B", "OPT", "Pythia-6.9B", "Megatron 8.3B", "Megatron-LM 1.2B"})
    CHECK(activationOf(name) == "gelu");
  CHECK(activationOf("Nemotron-4 15B") == "squared");
  for (const char *name : {"optimized transformer",
                           "ResNet opt=sgd",
                           "Yield",
                           "on Turing",
                           "Llama3-8b finetune LoRA",
                           "DeepSeek-V3",
                           "DeepSeek-V2-Lite",
                           "DeepSeek-MoE-16B",
                           "DeepSeek-LLM-MoE",
                           "DeepSeek",
                           "DeepSeek 671B",
                           "DeepSeek-R1-Distill-Llama-8B",
                           "an opt run",
                           "Megatron",
                           "Mamba-2.8b",
                           "GLM-4.5-Air",
                           "GLM-4V",
                           "GLM-130B",
                           "PanGu Pro MoE",
                           "granite-20b-code",
                           "Phi-3-small",
                           "InternLM-XComposer"}) {
    INFO(name);
    CHECK(activationOf(name) == "unknown");
  }
  CHECK(shapeOfFamily("OPT-66B")->isTied);
  for (const char *name : {"Pythia-6.9B", "GPT-NeoX (Pythia-70m)", "GPT-NeoX 20B"}) {
    CHECK_FALSE(shapeOfFamily(name)->isTied);
    CHECK(shapeOfFamily(name)->positions == TransformerPositions::Rotary);
  }
  CHECK_FALSE(shapeOfFamily("Yi-34B")->isTied);
}
