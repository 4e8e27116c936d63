// Tables and JSON of the cluster presets.
#include "apc/Driver/DescribeClusters.h"

#include "apc/Cluster/Cluster.h"
#include "apc/Support/Error.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "llvm/Support/JSON.h"

namespace apc {

namespace {

std::string rate(double perSecond) { return formatFlops(perSecond) + "/s"; }

llvm::Expected<std::vector<Cluster>> load(llvm::StringRef nameOrEmpty) {
  std::vector<std::string> names = presetNames();
  if (!nameOrEmpty.empty())
    names = {nameOrEmpty.str()};
  std::vector<Cluster> clusters;
  for (const std::string &name : names) {
    llvm::Expected<Cluster> cluster = loadCluster(name);
    if (!cluster)
      return cluster.takeError();
    clusters.push_back(std::move(*cluster));
  }
  return clusters;
}

void printOverview(const std::vector<Cluster> &clusters, llvm::raw_ostream &os) {
  TextTable table;
  table.addColumn("cluster");
  table.addColumn("device");
  table.addColumn("memory", TextTable::Align::Right);
  table.addColumn("bf16 or f16 peak", TextTable::Align::Right);
  table.addColumn("levels, outermost first");
  for (const Cluster &cluster : clusters) {
    const auto &peaks = cluster.device.peakFlopsPerSecond;
    auto peak = peaks.find(NumberFormat::BF16);
    if (peak == peaks.end())
      peak = peaks.find(NumberFormat::F16);
    std::string levels;
    for (const Level &level : cluster.levels)
      levels += (levels.empty() ? "" : ", ") + level.name + " x " + std::to_string(level.size) + " at " +
                formatBytes(level.bytesPerSecond) + "/s";
    table.addRow({cluster.name, cluster.device.name, formatBytes(double(cluster.device.memoryBytes)),
                  peak == peaks.end() ? "-" : rate(peak->second), levels});
  }
  table.print(os);
}

void printFigures(const Cluster &cluster, llvm::raw_ostream &os) {
  os << cluster.name << ": " << cluster.description << "\n\n";
  printOverview({cluster}, os);
  os << "\n";
  TextTable table;
  table.addColumn("figure");
  table.addColumn("source");
  for (const FigureSource &source : cluster.sources)
    table.addRow({source.figure, source.source});
  table.print(os);
}

llvm::json::Value clusterJson(const Cluster &cluster) {
  llvm::json::Object peaks;
  for (auto [format, flops] : cluster.device.peakFlopsPerSecond)
    peaks[numberFormatName(format)] = flops;
  llvm::json::Array levels;
  for (const Level &level : cluster.levels)
    levels.push_back(llvm::json::Object{{"name", level.name},
                                        {"size", level.size},
                                        {"bytes_per_second", level.bytesPerSecond},
                                        {"latency_seconds", level.latencySeconds}});
  llvm::json::Object sources;
  for (const FigureSource &source : cluster.sources)
    sources[source.figure] = source.source;
  return llvm::json::Object{{"name", cluster.name},
                            {"description", cluster.description},
                            {"device", cluster.device.name},
                            {"memory_bytes", cluster.device.memoryBytes},
                            {"memory_bytes_per_second", cluster.device.memoryBytesPerSecond},
                            {"peak_flops_per_second", std::move(peaks)},
                            {"levels", std::move(levels)},
                            {"sources", std::move(sources)}};
}

} // namespace

llvm::Error printClusters(llvm::StringRef nameOrEmpty, llvm::raw_ostream &os) {
  llvm::Expected<std::vector<Cluster>> clusters = load(nameOrEmpty);
  if (!clusters)
    return clusters.takeError();
  if (nameOrEmpty.empty())
    printOverview(*clusters, os);
  else
    printFigures(clusters->front(), os);
  return llvm::Error::success();
}

llvm::Expected<std::string> printClustersJson(llvm::StringRef nameOrEmpty) {
  llvm::Expected<std::vector<Cluster>> clusters = load(nameOrEmpty);
  if (!clusters)
    return clusters.takeError();
  llvm::json::Array array;
  for (const Cluster &cluster : *clusters)
    array.push_back(clusterJson(cluster));
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(array))).str();
}

} // namespace apc
