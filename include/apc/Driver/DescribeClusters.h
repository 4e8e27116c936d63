// The presets with figures and sources, for `apc clusters`.
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace apc {

/// One line for each preset; with a name (or file), every figure of it and where it comes from.
llvm::Error printClusters(llvm::StringRef nameOrEmpty, llvm::raw_ostream &os);
llvm::Expected<std::string> printClustersJson(llvm::StringRef nameOrEmpty);

} // namespace apc
