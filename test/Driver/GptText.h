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
};

/// `main` of a GPT without embeddings and dropout: in each layer, "l0_" and so on, a norm, queries, keys and values,
/// scores, softmax, their product with the values, the projection "out", a norm, "up" to 4 h, gelu and "down" back;
/// sums "joined" and "end". The head multiplies by [h, V]. The result is "y".
std::string gptText(const GptSizes &sizes);

} // namespace apc
