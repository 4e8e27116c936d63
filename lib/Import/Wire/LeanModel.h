// A large model file without the data of its weights.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace apc::onnx {

struct LeanModel {
  std::string bytes;  ///< a ModelProto that parses like the file, without the data left out
  std::string sha256; ///< of the file
};

/// Reads the model without the `raw_data` of at least `minBytes` bytes of the graph's initializers, which get the
/// `data_location` `dataLeftOut` instead: memory does not grow with the weights. Positions (`positionsIn`) stay. Empty
/// for files below 16 MiB, files that cannot be read or are damaged, and files beyond protobuf's 2 GiB: the reader of
/// whole files reports their fault.
std::optional<LeanModel> readLeanModel(llvm::StringRef path, int64_t minBytes);

} // namespace apc::onnx
