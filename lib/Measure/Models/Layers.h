// Pieces of transformers as nodes of an ONNX model.
#pragma once

#include "apc/Import/WriteOnnx.h"
#include "apc/Measure/Transformer.h"

namespace apc {

/// ONNX's number of the type of 32-bit floats.
constexpr int64_t floatType = 1;
/// Keeps the dim, among the sizes of a reshape.
constexpr int64_t sameDim = 0;

/// Writes the layers of one model. Values are their names; nodes are called by their place, "/h.3/attn/scores".
class LayerWriter {
public:
  explicit LayerWriter(const TransformerShape &shape);

  std::string tokens(llvm::StringRef name, int64_t sequence);
  /// Rows of the table for each token, and of the learned positions where there are any.
  std::string embed(const std::string &at, const std::string &tokens, int64_t sequence);
  /// A mask of [sequence, sequence] in which no position sees a later one.
  std::string causalMask(const std::string &at, int64_t sequence);
  /// A layer before whose parts rows are normalised: attention, attention to `memory` where there is one, and what
  /// stands behind.
  std::string layer(const std::string &at, std::string x, const std::string &mask, int64_t sequence,
                    const std::string &memory = "", int64_t memorySequence = 0);
  std::string norm(const std::string &at, const std::string &x);
  /// Rows of logits.
  std::string head(const std::string &at, const std::string &x);
  /// The layer in front of BERT's logits.
  std::string transform(const std::string &at, const std::string &x);
  void output(const std::string &x) { onnx.output(x); }
  std::string take() { return onnx.take(); }

private:
  struct Rotation {
    std::string cosines, sines;
  };
  /// The experts that each token chose, and their shares in its result: [.., positions, chosen].
  struct Choices {
    std::string experts, shares;
  };

  /// 0, 1, .. as integers, and as floats that are no parameter.
  std::string countUp(const std::string &name, int64_t size);
  std::string numbers(const std::string &at, int64_t size);
  std::string linear(const std::string &at, const std::string &x, int64_t rows, int64_t columns);
  std::string reshape(const std::string &name, const std::string &x, const std::vector<int64_t> &sizes);
  std::string add(const std::string &at, const std::string &a, const std::string &b);
  std::string multiply(const std::string &at, const std::string &a, const std::string &b);
  std::string rmsNorm(const std::string &at, const std::string &x);
  std::string activate(const std::string &at, const std::string &x);
  std::string apart(const std::string &at, const std::string &x, int64_t sequence, int64_t heads);
  std::string repeated(const std::string &at, const std::string &x, int64_t sequence);
  Rotation rotation(int64_t sequence);
  std::string rotate(const std::string &at, const std::string &x, const Rotation &by);
  std::string attention(const std::string &at, const std::string &x, const std::string &mask, int64_t sequence,
                        const std::string &memory, int64_t memorySequence);
  std::string attend(const std::string &at, const std::string &q, const std::string &k, const std::string &v,
                     const std::string &mask, int64_t sequence);
  std::string dense(const std::string &at, const std::string &x, int64_t inner);
  std::string experts(const std::string &at, const std::string &x);
  Choices choose(const std::string &at, const std::string &x);
  std::string expertOf(const std::string &at, const std::string &seated, const std::string &dims);
  std::string combineWeights(const std::string &at, const Choices &choices);
  std::string expertsByOneHot(const std::string &at, const std::string &x);
  std::string orderOf(const std::string &name, const std::string &x, int64_t size);
  std::string takeRows(const std::string &name, const std::string &rows, const std::string &index);
  std::string tokensOfSeats(const std::string &at, const std::string &order, int64_t empty);
  std::string expertsByIndex(const std::string &at, const std::string &x);

  const TransformerShape &shape;
  OnnxWriter onnx;
  Rotation known; ///< of the first layer that asked
};

} // namespace apc
