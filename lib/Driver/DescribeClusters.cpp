// Tables and JSON of the cluster presets.
#include "apc/Driver/DescribeClusters.h"

#include "apc/Cluster/Cluster.h"
#include "apc/Support/Error.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace apc {

namespace {

std::string rate(double perSecond) { return formatFlops(perSecond) + "/s"; }

llvm::Expected<std::vector<Cluster>> load(llvm::StringRef nameOrEmpty, llvm::ArrayRef<std::string> overrides) {
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

llvm::json::Value valueOf(const Figure &figure) { return llvm::cantFail(llvm::json::parse(figure.value)); }

/// 8e+10; "bf16 3.12e+14, f16 3.12e+14"; the ends of a curve: "0.13 at 1.8e+08 to 0.803 at 4.5e+12".
std::string valueText(const llvm::json::Value &value) {
  if (std::optional<double> number = value.getAsNumber()) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.6g", *number);
    return text;
  }
  if (const llvm::json::Object *parts = value.getAsObject()) {
    std::vector<std::string> texts;
    for (const auto &[name, part] : *parts)
      texts.push_back(name.str() + " " + valueText(part));
    llvm::sort(texts);
    return llvm::join(texts, ", ");
  }
  if (const llvm::json::Array *points = value.getAsArray()) {
    auto point = [](const llvm::json::Value &pair) {
      return valueText((*pair.getAsArray())[1]) + " at " + valueText((*pair.getAsArray())[0]);
    };
    return point(points->front()) + (points->size() > 1 ? " to " + point(points->back()) : "");
  }
  if (std::optional<bool> flag = value.getAsBoolean())
    return *flag ? "true" : "false";
  return value.getAsString().value_or("").str();
}

void printFigures(const Cluster &cluster, llvm::raw_ostream &os) {
  os << cluster.name << ": " << cluster.description << "\n\n";
  printOverview({cluster}, os);
  os << "\n";
  TextTable table;
  table.addColumn("figure");
  table.addColumn("value");
  table.addColumn("source");
  for (const Figure &figure : cluster.figures)
    table.addRow({figure.name, valueText(valueOf(figure)), figure.source.empty() ? "-" : figure.source});
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
  llvm::json::Object figures;
  for (const Figure &figure : cluster.figures)
    figures[figure.name] = llvm::json::Object{{"value", valueOf(figure)}, {"source", figure.source}};
  return llvm::json::Object{{"name", cluster.name},
                            {"description", cluster.description},
                            {"device", cluster.device.name},
                            {"memory_bytes", cluster.device.memoryBytes},
                            {"memory_bytes_per_second", cluster.device.memoryBytesPerSecond},
                            {"peak_flops_per_second", std::move(peaks)},
                            {"levels", std::move(levels)},
                            {"figures", std::move(figures)}};
}

} // namespace

llvm::Error printClusters(llvm::StringRef nameOrEmpty, llvm::ArrayRef<std::string> overrides, llvm::raw_ostream &os) {
  llvm::Expected<std::vector<Cluster>> clusters = load(nameOrEmpty, overrides);
  if (!clusters)
    return clusters.takeError();
  if (nameOrEmpty.empty())
    printOverview(*clusters, os);
  else
    printFigures(clusters->front(), os);
  return llvm::Error::success();
}

llvm::Expected<std::string> printClustersJson(llvm::StringRef nameOrEmpty, llvm::ArrayRef<std::string> overrides) {
  llvm::Expected<std::vector<Cluster>> clusters = load(nameOrEmpty, overrides);
  if (!clusters)
    return clusters.takeError();
  llvm::json::Array array;
  for (const Cluster &cluster : *clusters)
    array.push_back(clusterJson(cluster));
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(array))).str();
}

} // namespace apc
