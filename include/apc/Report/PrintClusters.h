// Clusters with their figures and sources, for people and for scripts.
#pragma once

#include "apc/Cluster/Cluster.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// One line for each cluster.
void printClusterTable(llvm::ArrayRef<Cluster> clusters, llvm::raw_ostream &os);
/// Every figure of a cluster, and where it comes from.
void printCluster(const Cluster &cluster, llvm::raw_ostream &os);
/// Keys `name`, `description`, `device`, `memory_bytes`, `memory_bytes_per_second`, `peak_flops_per_second`, `levels`,
/// `figures` {name: {value, source}}.
std::string printClustersJson(llvm::ArrayRef<Cluster> clusters);

} // namespace apc
