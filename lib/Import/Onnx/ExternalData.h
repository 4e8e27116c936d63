// The place of a tensor's data in a file beside the model, as `external_data` says it entry by entry.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace apc::onnx {

/// Location, offset and length as far as they are given.
struct ExternalData {
  std::string location;
  std::optional<int64_t> offset, length;
  std::string fault; ///< of the first entry that cannot be read, with what is accepted; "" where all can

  /// Enters an entry; one of another key says nothing of the place.
  void add(llvm::StringRef key, llvm::StringRef value);
  /// Is the location absolute, or does it climb out of the model's folder?
  bool leavesFolder() const;
};

} // namespace apc::onnx
