// Transformers by their sizes, as models that an exporter could have written.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace apc {

enum class TransformerKind : uint8_t {
  Decoder,       ///< GPT, Llama and their like: one output of logits, no position sees a later one
  Encoder,       ///< BERT: every position sees all, and a head with a layer of its own
  EncoderDecoder ///< T5
};

enum class TransformerActivation : uint8_t { Gelu, GatedSwish, SquaredRelu };
enum class TransformerPositions : uint8_t { Learned, Rotary, None };

/// The way of tokens to the experts that they chose, each of which has seats for an equal part of all choices.
enum class ExpertDispatch : uint8_t {
  ByIndex, ///< choices are sorted by expert, and the rows of their tokens gathered (Gale et al., "MegaBlocks", 2022)
  OneHot   ///< products with tensors that say which token sits where (Lepikhin et al., "GShard", 2020, algorithm 1)
};

/// The sizes of one model. GPT-3 175B: 96 layers, hidden 12288, 96 heads of 128, inner 49152, vocabulary 51200,
/// sequence 2048.
struct TransformerShape {
  TransformerKind kind = TransformerKind::Decoder;
  int64_t layers = 1;        ///< of an encoder and decoder: of the encoder
  int64_t decoderLayers = 0; ///< of an encoder and decoder
  int64_t hidden = 0, heads = 1, keyHeads = 1, headSize = 0;
  int64_t inner = 0; ///< columns of the first product behind an attention, of each of two where they are gated
  int64_t vocabulary = 0;
  int64_t sequence = 0;
  int64_t decoderSequence = 0; ///< of an encoder and decoder
  int64_t experts = 0;         ///< 0: dense layers
  int64_t chosenExperts = 0;   ///< by each token
  int64_t sharedInner = 0;     ///< inner size of an expert that all tokens pass; 0: none
  int64_t routedParts = 1;     ///< parts of a sequence whose tokens are dispatched each for itself, by index alone
  ExpertDispatch dispatch = ExpertDispatch::ByIndex;
  TransformerActivation activation = TransformerActivation::Gelu;
  TransformerPositions positions = TransformerPositions::Learned;
  bool hasRmsNorm = false;
  bool hasBias = true;
  bool isTied = true; ///< logits from the table of the embedding

  bool isGated() const { return activation == TransformerActivation::GatedSwish; }

  auto operator<=>(const TransformerShape &) const = default;
};

/// Numbers in the weights of a model, and of these in tables of tokens and positions. GPT-3 175B: 174.6e9 and 0.65e9.
struct ParameterCount {
  double all = 0, ofTables = 0;
};

/// Those of the model that `writeTransformer` writes.
ParameterCount countParameters(const TransformerShape &shape);

/// The model as the bytes of an ONNX file: inputs of tokens [batch, sequence] with a symbolic batch, one output
/// "logits"; weights are shapes alone. Attention, normalisations, rotations and activations stand op by op, as
/// exporters of PyTorch write them.
std::string writeTransformer(const TransformerShape &shape);

} // namespace apc
