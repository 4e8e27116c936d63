// Bytes -> protobuf message.
#include "Parse.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

#include <google/protobuf/io/coded_stream.h>

#include <limits>

namespace apc::onnx {

namespace {

constexpr int maxNesting = 100;

/// The most likely kind of a file that is no model, such as "it is text"; empty when nothing is recognised.
llvm::StringRef guessKind(llvm::StringRef bytes) {
  if (bytes.starts_with("version https://git-lfs"))
    return "it is a Git LFS pointer: fetch the file itself with `git lfs pull`";
  if (bytes.starts_with("PK\x03\x04"))
    return "it is a zip archive, such as a PyTorch checkpoint: export it to ONNX first";
  if (bytes.starts_with("\x89HDF"))
    return "it is an HDF5 file, such as a Keras checkpoint: convert it to ONNX first";
  if (bytes.starts_with("\x1f\x8b"))
    return "it is compressed with gzip: unpack it first";
  constexpr size_t flatbufferMark = 4;
  if (bytes.drop_front(std::min(flatbufferMark, bytes.size())).starts_with("ORTM"))
    return "it is a model in ONNX Runtime's own format (.ort): take the .onnx file that it was made from";
  if (llvm::all_of(bytes.take_front(256), [](char c) { return llvm::isPrint(c) || llvm::isSpace(c); }))
    return "it is text";
  return "";
}

llvm::Error notModel(llvm::StringRef bytes, llvm::StringRef source) {
  llvm::StringRef kind = guessKind(bytes);
  if (!kind.empty())
    return inputError("{0}: not an ONNX model: {1}", source, kind);
  // Every exporter writes field 1 (ir_version) first, as a varint.
  if (bytes.starts_with("\x08"))
    return inputError(
        "{0}: the model is cut off or damaged: its {1} bytes begin like an ONNX model, but do not parse to "
        "the end as a ModelProto (nested at most {2} deep)",
        source, bytes.size(), maxNesting);
  return inputError("{0}: not an ONNX model: its {1} bytes do not parse as a ModelProto", source, bytes.size());
}

} // namespace

llvm::Expected<std::unique_ptr<ModelProto>> parseModel(llvm::StringRef bytes, llvm::StringRef source) {
  if (bytes.empty())
    return inputError("{0}: the file is empty, an ONNX model is expected", source);
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return inputError(
        "{0}: the file has {1} bytes; protobuf ends at 2 GiB, so larger models keep weights in external data", source,
        bytes.size());
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(maxNesting);
  auto model = std::make_unique<ModelProto>();
  if (!model->ParsePartialFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return notModel(bytes, source);
  if (!model->has_graph()) {
    if (!model->has_ir_version() && model->opset_import_size() == 0)
      return notModel(bytes, source);
    return inputError("{0}: the model has no graph", source);
  }
  const GraphProto &graph = model->graph();
  if (graph.node_size() == 0 && graph.output_size() == 0)
    return inputError("{0}: the model's graph has neither nodes nor outputs", source);
  return model;
}

} // namespace apc::onnx
