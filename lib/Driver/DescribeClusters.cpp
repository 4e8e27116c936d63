// Clusters and runtimes by name, for `apc clusters`.
#include "apc/Driver/DescribeClusters.h"

#include "apc/Support/Error.h"

namespace apc {

llvm::Expected<std::vector<Cluster>> loadClusters(llvm::StringRef nameOrEmpty, llvm::ArrayRef<std::string> overrides) {
  std::vector<std::string> names = presetNames();
  if (!nameOrEmpty.empty())
    names = {nameOrEmpty.str()};
  else if (!overrides.empty())
    return inputError("--cluster-set {0}: the cluster whose figure it sets must be named: apc clusters NAME",
                      overrides.front());
  std::vector<Cluster> clusters;
  for (const std::string &name : names) {
    llvm::Expected<Cluster> cluster = loadCluster(name, overrides);
    if (!cluster)
      return cluster.takeError();
    clusters.push_back(std::move(*cluster));
  }
  return clusters;
}

llvm::Expected<std::vector<RuntimeDocument>> loadRuntimes(llvm::StringRef nameOrEmpty) {
  std::vector<RuntimeDocument> runtimes;
  for (const std::string &name : nameOrEmpty.empty() ? runtimeNames() : std::vector{nameOrEmpty.str()}) {
    llvm::Expected<RuntimeDocument> runtime = loadRuntimeDocument(name);
    if (!runtime)
      return runtime.takeError();
    runtimes.push_back(std::move(*runtime));
  }
  return runtimes;
}

} // namespace apc
