// The emission that a folder holds already.
#pragma once

#include "apc/Support/Json/JsonDocument.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace apc {

/// The manifest of a folder tells emissions, which a new one may replace, from checkpoints and from other people's
/// files of the same names.
///
///   EarlierEmission("program").holds("run.py")     true where program/manifest.json has a format of `allEmitters`
class EarlierEmission {
public:
  /// \p folder: need not exist.
  explicit EarlierEmission(llvm::StringRef folder);

  /// True where the folder is an emission, and an entry can be part of it: by its name, and files of weights and
  /// folders of stages only where the manifest lists them. Names go from the folder; those of folders end with a slash.
  bool holds(llvm::StringRef name) const;

private:
  void readWeights(const JsonValue &manifest, llvm::StringRef prefix);

  bool isEmission = false;
  llvm::StringSet<> stages;  ///< their folders: "stage-0003/"
  llvm::StringSet<> weights; ///< folders and files of weights: "weights/", "stage-0003/weights/shard-..."
};

} // namespace apc
