// The clusters and runtimes that `apc clusters` describes.
#pragma once

#include "apc/Cluster/RuntimeDocument.h"

namespace apc {

/// The cluster called `nameOrEmpty` (or the file of that path), or all presets. `overrides` are those of `loadCluster`.
/// Errors (input): those of `loadCluster`; overrides without a name.
llvm::Expected<std::vector<Cluster>> loadClusters(llvm::StringRef nameOrEmpty, llvm::ArrayRef<std::string> overrides);

/// The runtime called `nameOrEmpty`, or all embedded ones.
llvm::Expected<std::vector<RuntimeDocument>> loadRuntimes(llvm::StringRef nameOrEmpty);

} // namespace apc
