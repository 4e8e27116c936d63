// The presets with figures and sources, for `apc clusters`.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace apc {

/// One line for each preset; with a name (or file), every figure of it and where it comes from. `overrides` are those
/// of `loadCluster` and need a name.
llvm::Error printClusters(llvm::StringRef nameOrEmpty, llvm::ArrayRef<std::string> overrides, llvm::raw_ostream &os);
llvm::Expected<std::string> printClustersJson(llvm::StringRef nameOrEmpty, llvm::ArrayRef<std::string> overrides);

} // namespace apc
