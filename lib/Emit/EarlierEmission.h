// The emission that a folder holds already.
#pragma once

#include "apc/Support/Json/JsonDocument.h"

#include <optional>

namespace apc {

/// The manifest of a folder tells emissions, which a new one may replace, from checkpoints and from other people's
/// files of the same names.
///
///   EarlierEmission("program").holds("run.py")     true where program/manifest.json has a format of `allEmitters`
class EarlierEmission {
public:
  /// \p folder: need not exist.
  explicit EarlierEmission(llvm::StringRef folder);

  /// True where the folder is an emission, and an entry of that name can be part of it: `weights` and folders of stages
  /// only where the manifest lists them.
  bool holds(llvm::StringRef name) const;

private:
  std::optional<JsonDocument> manifest; ///< of an emission; none otherwise
};

} // namespace apc
