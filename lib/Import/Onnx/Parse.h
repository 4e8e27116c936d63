// Bytes -> protobuf message. Errors describe the file that was found instead.
#pragma once

#include "OnnxModel.pb.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace apc::onnx {

/// Parses a model. `source` names the bytes in messages. Errors: no bytes, more than 2 GiB, not protobuf, cut off,
/// nested deeper than protobuf's limit of 100, no graph.
llvm::Expected<std::unique_ptr<ModelProto>> parseModel(llvm::StringRef bytes, llvm::StringRef source);

} // namespace apc::onnx
