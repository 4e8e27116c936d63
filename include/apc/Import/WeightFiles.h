// Finds the bytes of a model's weights in its files, without reading them.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace apc {

/// One tensor of the file: its elements row-major and little-endian, `length` bytes at `offset`. With `isVarints`,
/// these bytes are protobuf's varints, and the low bytes of each varint are one element (two of 4 bits, four of 2
/// bits).
struct WeightLocation {
  std::string file; ///< from the folder of the model: "model.onnx" itself, or the external file
  int64_t offset = 0;
  std::optional<int64_t> length; ///< external data need not say: as much as the shape needs
  std::string absent;            ///< why there is no such range; "" when there is
  bool isVarints = false;        ///< the field is `int32_data`, `int64_data` or `uint64_data`
};

/// The initializers and the values of Constant nodes of the main graph, by name; the first of a name stands. Walks the
/// protobuf wire format of `path` from field to field with a buffer of 64 KiB: neither memory nor time depends on the
/// size of the weights.
///
/// A tensor has no range of bytes, and `absent` gives the reason, when its data is missing, is stored element by
/// element with a tag each or as a sparse tensor, or has an external location outside the model's folder. `float_data`
/// and `double_data` are ranges of elements, `int32_data` and the like of varints. Errors (input): a file that cannot
/// be read or is damaged, external data whose offset or length is no number.
llvm::Expected<llvm::StringMap<WeightLocation>> locateWeights(llvm::StringRef path);

} // namespace apc
