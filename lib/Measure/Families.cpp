// Families of models, and the settings that each decides.
#include "Families.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

TransformerShape gpt() { return {}; }

TransformerShape mpt() {
  TransformerShape shape;
  shape.hasBias = false;
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
  llvm::StringRef word; ///< in lower case, anywhere in the name
  TransformerShape (*shape)();
};

constexpr Family families[] = {{"t5", t5},          {"bert", bert},     {"nemotron", nemotron}, {"mpt", mpt},
                               {"llama", llama},    {"mixtral", llama}, {"mistral", llama},     {"qwen", llama},
                               {"baichuan", llama}, {"maxtext", llama}, {"gpt", gpt},           {"bloom", gpt},
                               {"moe", gpt}};

/// Models that are trained in part, or hold more than a transformer.
constexpr llvm::StringLiteral others[] = {"lora",   "finetune",   "sft", "gpt-oss", "deepseek", "multimodal",
                                          "hybrid", "nemotron-h", "vl",  "wide",    "next"};

} // namespace

std::optional<TransformerShape> shapeOfFamily(llvm::StringRef name) {
  std::string lower = name.lower();
  if (llvm::any_of(others, [&](llvm::StringRef word) { return llvm::StringRef(lower).contains(word); }))
    return std::nullopt;
  for (const Family &family : families)
    if (llvm::StringRef(lower).contains(family.word))
      return family.shape();
  return std::nullopt;
}

} // namespace apc
