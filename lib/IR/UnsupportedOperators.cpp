// The table of operators that are left out because of their kind.
#include "apc/IR/UnsupportedOperators.h"

namespace apc {

namespace {

struct Row {
  llvm::StringLiteral prefix; ///< of the name
  llvm::StringLiteral kind;
};

constexpr Row rows[] = {
    // Left out only where data decides how many elements there are, or which of them are read.
    {"Sequence", "sequences"},
    {"ConcatFromSequence", "sequences"},
    {"SplitToSequence", "sequences"},
    {"Optional", "optionals"},
    {"String", "strings"},
    {"RegexFullMatch", "strings"},
    {"ai.onnx.ml.ZipMap", "maps"},
    {"ai.onnx.ml.CastMap", "maps"},
    {"ai.onnx.ml.DictVectorizer", "maps"},
    {"ai.onnx.ml.CategoryMapper", "strings"},
    {"Loop", "control flow"},
    {"Scan", "control flow"},
    {"If", "control flow"},
    // The dims of a picture stand inside its stream of bytes, and each format needs its own codec.
    {"ImageDecoder", "image formats"},
    // Left out only with graphs as attributes, which change scores or probabilities; it is attention without them.
    {"ai.onnx.preview.FlexAttention", "graphs as attributes"},
};

} // namespace

llvm::StringRef unsupportedKind(llvm::StringRef onnxName) {
  for (const Row &row : rows)
    if (onnxName.starts_with(row.prefix))
      return row.kind;
  return {};
}

} // namespace apc
