// Transformers of any shape as text of the dialect, for figures that papers give.
#pragma once

#include <cstdint>
#include <string>

namespace apc {

/// Sizes as the papers name them: b, s, h, a, L, V.
struct GptSizes {
  int64_t batch = 1, length = 1, hidden = 1, heads = 1, layers = 1;
  int64_t vocabulary = 0; ///< 0: the last layer's result is the model's
  std::string element = "f16";
  int64_t keyHeads = 0;      ///< heads of keys and values under one op of attention; 0: `heads`, op by op
  bool hasBiases = false;    ///< of all products but the head
  bool hasEmbedding = false; ///< tokens [b, s] for "x", a table [V, h], and a norm in front of the head
  bool hasPositions = false; ///< behind the embedding a table [s, h] is added
  bool isTied = false;       ///< the head is the embedding's table, transposed
  bool hasDropout = false;   ///< of probabilities, op by op, and of what is added to both sums of a layer
};

/// `main` of a GPT: in each layer, "l0_" and so on, a norm, queries, keys and values,
/// scores, softmax, their product with the values, the projection "out", a norm, "up" to 4 h, gelu and "down" back;
/// sums "joined" and "end". The head multiplies by [h, V]. The result is "y". Embeddings, biases, fewer heads of
/// keys and dropout are there where the sizes say so.
std::string gptText(const GptSizes &sizes);

} // namespace apc
