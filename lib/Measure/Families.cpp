// Families of models, and the settings that each decides.
#include "Families.h"
#include "Remarks.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

TransformerShape gpt() { return {}; }

TransformerShape mpt() {
  TransformerShape shape;
  shape.hasBias = false;
  return shape;
}

/// Rotary positions and two tables (config.json of EleutherAI/pythia-6.9b and gpt-neox-20b: tie_word_embeddings false);
/// layers whose halves run side by side are taken as those of a GPT.
TransformerShape neox() {
  TransformerShape shape;
  shape.positions = TransformerPositions::Rotary;
  shape.isTied = false;
  return shape;
}

TransformerShape llama() {
  TransformerShape shape;
  shape.activation = TransformerActivation::GatedSwish;
  shape.positions = TransformerPositions::Rotary;
  shape.hasRmsNorm = true;
  shape.hasBias = shape.isTied = false;
  return shape;
}

/// Heads of 128 in all sizes, whatever hidden is (config.json of Qwen/Qwen3-0.6B, Qwen3-32B, Qwen3-235B-A22B:
/// head_dim).
TransformerShape qwen3() {
  TransformerShape shape = llama();
  shape.headSize = 128;
  return shape;
}

TransformerShape nemotron() {
  TransformerShape shape;
  shape.activation = TransformerActivation::SquaredRelu;
  shape.positions = TransformerPositions::Rotary;
  shape.hasBias = shape.isTied = false;
  return shape;
}

TransformerShape bert() {
  TransformerShape shape;
  shape.kind = TransformerKind::Encoder;
  return shape;
}

TransformerShape t5() {
  TransformerShape shape;
  shape.kind = TransformerKind::EncoderDecoder;
  return shape;
}

struct Family {
  llvm::StringLiteral words; ///< a pattern, in lower case
  TransformerShape (*shape)();
};

// A number in front of "b" is a size. Built as a Llama is: config.json of 01-ai/Yi-34B, internlm/internlm2-20b,
// lmsys/vicuna-13b-v1.5, microsoft/Phi-3-mini-4k-instruct, THUDM/glm-4-9b, ibm-granite/granite-3.0-8b-base,
// allenai/OLMo-2-1124-13B, deepseek-ai/deepseek-llm-67b-base, Skywork/Skywork-13B-base, BAAI/Aquila2-34B. As a GPT:
// facebook/opt-66b (but for its ReLU), Megatron-Turing NLG (arXiv 2201.11990) and
// PanGu-alpha (arXiv 2104.12369).
constexpr Family families[] = {{"(m|by)?t5", t5},
                               {".*bert.*", bert},
                               {".*nemotron.*", nemotron},
                               {".*mpt.*", mpt},
                               {".*(llama|mixtral|mistral).*", llama},
                               {".*qwen3.*", qwen3},
                               {".*(qwen|baichuan|maxtext|vicuna|alpaca|internlm).*", llama},
                               {"deepseek[- ]?(llm([- ][0-9]+b)?|7b|67b)", llama},
                               {"skywork[- ]?[0-9]+b", llama},
                               {"aquila2?[- ]?[0-9]+b", llama},
                               {"yi[- ]?([0-9.]+[- ])?([0-9.]+b)?", llama},
                               {"granite[- ]?(3[.0-9]*[- ])?[0-9]+b", llama},
                               {"olmo[- ]?2([- ][0-9.]+b)?", llama},
                               {"glm[- ]?4([- ][0-9.]+b)?", llama},
                               {"phi[- ]?3([- ](mini|medium))?", llama},
                               {"(gpt-?)?neox.*|pythia.*", neox},
                               {".*(gpt|bloom).*", gpt},
                               {"megatron(-?lm)?[- ]?[0-9.]+b", gpt},
                               {"mt-nlg|megatron-turing|turing[- ]nlg", gpt},
                               {"pangu([- ]?(alpha|a|[0-9.]+b))?", gpt},
                               {"opt[- ]?([0-9.]+[bm]|iml.*)|^opt$", gpt},
                               {".*moe.*", gpt}};

/// Nemotron Nano, Super and Ultra have layers of Mamba, or layers of several sizes where they come from a Llama; the
/// Nano of a Llama has equal layers (model cards of nvidia/NVIDIA-Nemotron-Nano-9B-v2, nvidia/Llama-3_3-Nemotron-Super-
/// 49B-v1, nvidia/Llama-3.1-Nemotron-Nano-8B-v1).
bool isMixedNemotron(const std::string &lower) {
  static const Pattern mixed("nemotron[-_ ]?[0-9]?[-_ ]?(nano|super|ultra)");
  return mixed.match(lower) && !(llvm::StringRef(lower).contains("llama") && llvm::StringRef(lower).contains("nano"));
}

/// Models that are trained in part, or hold more than a transformer. Short names count where no letter is beside them:
/// "Qwen2.5-VL" holds more, "Llama (NVLink)" does not, and "hybrid parallel" and "hybrid sharding" are of the layout.
bool isOther(const std::string &lower) {
  static const Pattern dense("deepseek[- ]?(llm([- ][0-9]+b)?|7b|67b)($|[^-_0-9a-z])");
  static const Pattern layout("hybrid[-_ ]*(3d[ -]*)?(parallel|shard)");
  static const Pattern anywhere("lora|finetune|gpt-oss|deepseek|multimodal|mamba|xcomposer|glm-?4[.v]|phi-?3-small|"
                                "granite.*code|pangu[- ](pro|ultra|embedded)");
  static const Pattern words("(^|[^a-z])(sft|hybrid|nemotron-h|vlm?|vision|wide|next)($|[^a-z])");
  return anywhere.match(dense.replaceFirst("", lower)) || isMixedNemotron(lower) ||
         words.match(layout.replaceFirst("", lower));
}

} // namespace

std::optional<TransformerShape> shapeOfFamily(llvm::StringRef name) {
  std::string lower = name.lower();
  if (isOther(lower))
    return std::nullopt;
  static const std::vector<Words> words = wordsOf(families, &Family::words);
  for (const auto &[family, own] : llvm::zip_equal(families, words))
    if (hasWords(lower, own))
      return family.shape();
  return std::nullopt;
}

bool hasExperts(llvm::StringRef name) {
  static const Pattern experts("moe|mixtral|llama[-_ ]?4|(^|[^0-9a-z])[0-9]+x[0-9.]+b|b[-_ ]a[0-9.]+b");
  return experts.match(name);
}

} // namespace apc
