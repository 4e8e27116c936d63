// apc clusters [NAME|FILE]
#include "Commands.h"
#include "Flags.h"
#include "Terminal.h"

#include "apc/Driver/DescribeClusters.h"
#include "apc/Report/PrintClusters.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

struct ClusterFlags {
  std::string name;
  std::vector<std::string> overrides;
  bool runtimes = false;
  bool json = false;
};

llvm::Error showRuntimes(const ClusterFlags &flags) {
  if (!flags.overrides.empty())
    return inputError("--cluster-set {0}: it sets a figure of a cluster, and runtimes are asked for",
                      flags.overrides.front());
  llvm::Expected<std::vector<RuntimeDocument>> runtimes = loadRuntimes(flags.name);
  if (!runtimes)
    return runtimes.takeError();
  Terminal terminal;
  if (flags.json)
    llvm::outs() << printRuntimesJson(*runtimes);
  else if (flags.name.empty())
    printRuntimeTable(*runtimes, terminal);
  else
    printRuntime(runtimes->front(), terminal);
  return llvm::Error::success();
}

llvm::Error showClusters(const ClusterFlags &flags) {
  llvm::Expected<std::vector<Cluster>> clusters = loadClusters(flags.name, flags.overrides);
  if (!clusters)
    return clusters.takeError();
  if (flags.json) {
    llvm::outs() << printClustersJson(*clusters);
    return llvm::Error::success();
  }
  Terminal terminal;
  if (!flags.name.empty()) {
    printCluster(clusters->front(), terminal);
    return llvm::Error::success();
  }
  printClusterTable(*clusters, terminal);
  llvm::Expected<std::vector<RuntimeDocument>> runtimes = loadRuntimes("");
  if (!runtimes)
    return runtimes.takeError();
  terminal << "\n";
  printRuntimeTable(*runtimes, terminal);
  return llvm::Error::success();
}

} // namespace

Command addClusters(CLI::App &app) {
  auto flags = std::make_shared<ClusterFlags>();
  CLI::App *verb = app.add_subcommand("clusters", "The presets of clusters and runtimes, with figures and sources");
  verb->add_option("name", flags->name,
                   "A preset, the name of a runtime or a cluster file: all its figures, and where each comes from")
      ->type_name("NAME|FILE")
      ->check(notEmpty());
  addClusterSet(*verb, flags->overrides);
  verb->add_flag("--runtimes", flags->runtimes, "Runtimes alone; NAME|FILE is then one of them");
  verb->add_flag("--json", flags->json, "Print one JSON document on stdout and nothing else there");
  verb->footer("Example: apc clusters dgx-h100 --cluster-set device.memory_bytes=40GiB");
  return {verb, [flags]() -> llvm::Error {
            bool isRuntime = flags->runtimes || llvm::is_contained(runtimeNames(), flags->name);
            return isRuntime ? showRuntimes(*flags) : showClusters(*flags);
          }};
}

} // namespace apc
