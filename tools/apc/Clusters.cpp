// apc clusters [NAME|FILE]
#include "Commands.h"
#include "Flags.h"
#include "Terminal.h"

#include "apc/Driver/DescribeClusters.h"
#include "apc/Report/PrintClusters.h"

namespace apc {

Command addClusters(CLI::App &app) {
  struct Flags {
    std::string name;
    std::vector<std::string> overrides;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *verb = app.add_subcommand("clusters", "The cluster presets, with figures and sources");
  verb->add_option("name", flags->name, "A preset or a cluster file: all its figures, and where each comes from")
      ->type_name("NAME|FILE")
      ->check(notEmpty());
  addClusterSet(*verb, flags->overrides);
  verb->add_flag("--json", flags->json, "Print one JSON document on stdout and nothing else there");
  verb->footer("Example: apc clusters dgx-h100 --cluster-set device.memory_bytes=40GiB");
  return {verb, [flags]() -> llvm::Error {
            llvm::Expected<std::vector<Cluster>> clusters = loadClusters(flags->name, flags->overrides);
            if (!clusters)
              return clusters.takeError();
            Terminal terminal;
            if (flags->json)
              llvm::outs() << printClustersJson(*clusters);
            else if (flags->name.empty())
              printClusterTable(*clusters, terminal);
            else
              printCluster(clusters->front(), terminal);
            return llvm::Error::success();
          }};
}

} // namespace apc
