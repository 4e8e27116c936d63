// Clusters and runtimes with their figures and sources, for people and for scripts.
#pragma once

#include "apc/Cluster/RuntimeDocument.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// One line for each cluster.
void printClusterTable(llvm::ArrayRef<Cluster> clusters, llvm::raw_ostream &os);
/// Every figure of a cluster, and where it comes from.
void printCluster(const Cluster &cluster, llvm::raw_ostream &os);
/// Keys `name`, `description`, `device`, `memory_bytes`, `memory_bytes_per_second`, `peak_flops_per_second`, `levels`,
/// `figures` {name: {value, source}}.
std::string printClustersJson(llvm::ArrayRef<Cluster> clusters);

/// One line for each runtime.
void printRuntimeTable(llvm::ArrayRef<RuntimeDocument> runtimes, llvm::raw_ostream &os);
/// Every figure of a runtime, and where it comes from.
void printRuntime(const RuntimeDocument &document, llvm::raw_ostream &os);
/// Keys `name`, `description`, `figures` {name: {value, source}}.
std::string printRuntimesJson(llvm::ArrayRef<RuntimeDocument> runtimes);

} // namespace apc
