// Runtimes with the figures that their documents give, for people who ask where each comes from.
#pragma once

#include "apc/Cluster/Cluster.h"

namespace apc {

/// A runtime and its document. Figures have the names of their keys: "dispatch_seconds", 8e-5, and the source.
struct RuntimeDocument {
  Runtime runtime;
  std::vector<Figure> figures; ///< those that the document gives, in the order of the schema
};

/// The document of a runtime, by name or by path as `loadRuntime` takes it, with the same errors.
llvm::Expected<RuntimeDocument> loadRuntimeDocument(llvm::StringRef nameOrPath);

} // namespace apc
