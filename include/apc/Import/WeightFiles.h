// Where the bytes of a model's weights are, without reading them.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace apc {

/// One tensor of the file: its elements row-major and little-endian, `length` bytes at `offset`.
struct WeightLocation {
  std::string file; ///< from the folder of the model: "model.onnx" itself, or the external file
  int64_t offset = 0;
  std::optional<int64_t> length; ///< external data need not say: as much as the shape needs
  std::string absent;            ///< why there is no such range; "" when there is
};

/// The initializers and the values of Constant nodes of the main graph, by name; the first of a name stands. Walks the
/// protobuf wire format of `path` from field to field with a buffer of 64 KiB: neither memory nor time depends on the
/// size of the weights.
///
/// Data has no range of bytes, and `absent` says so, where it is not there, is stored as varints (`int32_data`,
/// `int64_data`, `uint64_data`) or element by element, is sparse, or where its external location leaves the model's
/// folder. `float_data` and `double_data` are ranges. Errors (input): a file that cannot be read or is damaged.
llvm::Expected<llvm::StringMap<WeightLocation>> locateWeights(llvm::StringRef path);

} // namespace apc
