// Tables and JSON of clusters.
#include "apc/Report/PrintClusters.h"

#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

namespace apc {

namespace {

std::string rate(double perSecond) { return formatFlops(perSecond) + "/s"; }

/// "node x 128 at 12.5 GB/s per node": a shared link serves all devices of a node together.
std::string levelText(const Level &level) {
  return level.name + " x " + std::to_string(level.size) + " at " + formatBytesPerSecond(level.bytesPerSecond) +
         " per " + (level.shared ? level.name : "device");
}

void printOverview(llvm::ArrayRef<Cluster> clusters, llvm::raw_ostream &os) {
  TextTable table;
  table.addColumn("cluster");
  table.addColumn("device");
  table.addColumn("memory", TextTable::Align::Right);
  table.addColumn("bf16 or f16 peak", TextTable::Align::Right);
  table.addColumn("levels, outermost first");
  for (const Cluster &cluster : clusters) {
    const auto &peaks = cluster.pool.device.peakFlopsPerSecond;
    auto peak = peaks.find(NumberFormat::BF16);
    if (peak == peaks.end())
      peak = peaks.find(NumberFormat::F16);
    std::string levels;
    for (const Level &level : cluster.pool.levels)
      levels += (levels.empty() ? "" : ", ") + levelText(level);
    table.addRow({cluster.name, cluster.pool.device.name, formatBytes(double(cluster.pool.device.memoryBytes)),
                  peak == peaks.end() ? "-" : rate(peak->second), levels});
  }
  table.print(os);
}

/// The value of a figure, which the cluster has as JSON.
JsonDocument valueOf(const Figure &figure) { return llvm::cantFail(JsonDocument::parse(figure.value, figure.name)); }

/// 8e+10; "bf16 3.12e+14, f16 3.12e+14"; the ends of a curve: "0.13 at 1.8e+08 to 0.803 at 4.5e+12".
std::string valueText(const JsonValue &value) {
  if (value.isNumber()) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.6g", value.number());
    return text;
  }
  if (value.isObject()) {
    std::vector<std::string> texts;
    for (const JsonMember &part : value.members())
      texts.push_back(part.key + " " + valueText(part.value));
    llvm::sort(texts);
    return llvm::join(texts, ", ");
  }
  if (value.isList()) {
    auto point = [](const JsonValue &pair) { return valueText(pair.list()[1]) + " at " + valueText(pair.list()[0]); };
    llvm::ArrayRef<JsonValue> points = value.list();
    return point(points.front()) + (points.size() > 1 ? " to " + point(points.back()) : "");
  }
  if (value.kind() == JsonValue::Kind::Bool)
    return value.boolean() ? "true" : "false";
  return value.isText() ? value.text() : "";
}

void printFigures(llvm::ArrayRef<Figure> figures, llvm::raw_ostream &os) {
  TextTable table;
  table.addColumn("figure");
  table.addColumn("value");
  table.addColumn("source");
  for (const Figure &figure : figures)
    table.addRow({figure.name, valueText(valueOf(figure).getRoot()), figure.source.empty() ? "-" : figure.source});
  table.print(os);
}

void writeFigures(JsonObjectWriter &object, llvm::ArrayRef<Figure> figures) {
  object.object("figures", [&](JsonObjectWriter &all) {
    for (const Figure &figure : figures)
      all.object(figure.name, [&](JsonObjectWriter &entry) {
        entry("value", valueOf(figure).getRoot());
        entry("source", figure.source);
      });
  });
}

void writeCluster(JsonWriter &json, JsonObjectWriter &object, const Cluster &cluster) {
  object("name", cluster.name);
  object("description", cluster.description);
  object("device", cluster.pool.device.name);
  object("memory_bytes", cluster.pool.device.memoryBytes);
  object("memory_bytes_per_second", cluster.pool.device.memoryBytesPerSecond);
  object.object("peak_flops_per_second", [&](JsonObjectWriter &peaks) {
    for (auto [format, flops] : cluster.pool.device.peakFlopsPerSecond)
      peaks(numberFormatName(format), flops);
  });
  object.list("levels", [&] {
    for (const Level &level : cluster.pool.levels)
      json.object([&](JsonObjectWriter &entry) {
        entry("name", level.name);
        entry("size", level.size);
        entry("bytes_per_second", level.bytesPerSecond);
        entry("latency_seconds", level.latencySeconds);
      });
  });
  writeFigures(object, cluster.figures);
}

} // namespace

void printClusterTable(llvm::ArrayRef<Cluster> clusters, llvm::raw_ostream &os) { printOverview(clusters, os); }

void printCluster(const Cluster &cluster, llvm::raw_ostream &os) {
  os << cluster.name << ": " << cluster.description << "\n\n";
  printOverview(cluster, os);
  os << "\n";
  printFigures(cluster.figures, os);
}

std::string printClustersJson(llvm::ArrayRef<Cluster> clusters) {
  JsonWriter json;
  json.list([&] {
    for (const Cluster &cluster : clusters)
      json.object([&](JsonObjectWriter &object) { writeCluster(json, object, cluster); });
  });
  return json.take() + "\n";
}

void printRuntimeTable(llvm::ArrayRef<RuntimeDocument> runtimes, llvm::raw_ostream &os) {
  TextTable table;
  table.addColumn("runtime");
  table.addColumn("what it is");
  for (const RuntimeDocument &document : runtimes)
    table.addRow({document.runtime.name, document.runtime.description});
  table.print(os);
}

void printRuntime(const RuntimeDocument &document, llvm::raw_ostream &os) {
  os << document.runtime.name << ": " << document.runtime.description << "\n\n";
  printFigures(document.figures, os);
}

std::string printRuntimesJson(llvm::ArrayRef<RuntimeDocument> runtimes) {
  JsonWriter json;
  json.list([&] {
    for (const RuntimeDocument &document : runtimes)
      json.object([&](JsonObjectWriter &object) {
        object("name", document.runtime.name);
        object("description", document.runtime.description);
        writeFigures(object, document.figures);
      });
  });
  return json.take() + "\n";
}

} // namespace apc
