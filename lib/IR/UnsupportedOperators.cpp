// The table of operators that are left out for what they are.
#include "apc/IR/UnsupportedOperators.h"

namespace apc {

namespace {

struct Row {
  llvm::StringLiteral prefix; ///< of the name
  llvm::StringLiteral kind;
};

constexpr Row rows[] = {
    {"Sequence", "sequences"},
    {"ConcatFromSequence", "sequences"},
    {"SplitToSequence", "sequences"},
    {"Optional", "optionals"},
    {"String", "strings"},
    {"RegexFullMatch", "strings"},
    {"Loop", "control flow"},
    {"Scan", "control flow"},
    {"If", "control flow"},
    {"GRU", "recurrent"},
    {"LSTM", "recurrent"},
    {"RNN", "recurrent"},
    {"RandomUniform", "random"},
    {"RandomNormal", "random"},
    {"Bernoulli", "random"},
    {"Multinomial", "random"},
    {"Dropout", "random"}, // in training; elsewhere it is the identity
    // A picture is a stream of bytes whose dims stand in it, behind a codec of its own for each format.
    {"ImageDecoder", "image formats"},
    // Only where graphs in its attributes change scores or probabilities; without them it is attention.
    {"ai.onnx.preview.FlexAttention", "graphs as attributes"},
    // Names a subgraph whose derivative it is.
    {"ai.onnx.preview.training.Gradient", "differentiation"},
};

} // namespace

llvm::StringRef unsupportedKind(llvm::StringRef onnxName) {
  for (const Row &row : rows)
    if (onnxName.starts_with(row.prefix))
      return row.kind;
  return {};
}

} // namespace apc
