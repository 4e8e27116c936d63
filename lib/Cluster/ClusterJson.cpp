// The JSON schema of clusters (README.md): which figures there are, in which units, and where each goes.
#include "apc/Cluster/Cluster.h"

#include "FigureReader.h"
#include "SetFigure.h"
#include "apc/Support/Error.h"

using namespace llvm;
using nlohmann::json;

namespace apc {

namespace {

constexpr size_t maxTextBytes = size_t(1) << 20;

constexpr NumberRule bytesRule{"bytes", 0x1p60, true};
constexpr NumberRule bytesPerSecondRule{"bytes per second", 1e18};
constexpr NumberRule flopsPerSecondRule{"floating-point operations per second", 1e21};
constexpr NumberRule secondsRule{"seconds", 1};
constexpr NumberRule fractionRule{"a fraction", 1};
constexpr NumberRule countRule{"a count", 0x1p20, true};
constexpr NumberRule workRule{"floating-point operations", 1e30};
constexpr NumberRule sizeRule{"bytes", 1e30};

/// Reads a document of the schema into a cluster.
class ClusterReader : FigureReader {
public:
  using FigureReader::FigureReader;

  Expected<Cluster> read(const json &document);

private:
  void readPeaks(const Place &object, StringRef key, std::map<NumberFormat, double> &target, bool required);
  void readCurve(const Place &object, StringRef key, EfficiencyCurve &target, const NumberRule &sizes);
  std::pair<double, double> readPoint(const Place &place, const NumberRule &sizes);
  void readDevice(const Place &object);
  void readLevel(const Place &object, Level &level);
  void readLevels(const Place &place);
  void readHost(const Place &object);
  void readDocument(const Place &document);
  /// {"levels", "0", "size"} -> "level.node.size"
  std::string figureName(const JsonPath &path) const;

  Cluster cluster;
};

void ClusterReader::readPeaks(const Place &object, StringRef key, std::map<NumberFormat, double> &target,
                              bool required) {
  static constexpr StringLiteral formats[] = {"f64", "f32", "tf32", "bf16", "f16", "f8", "f4", "i8", "i4"};
  std::optional<Place> place = figure(object, key, "an object of number formats", required);
  if (!place || !expectObject(*place, formats))
    return;
  if (place->value->empty())
    return fail(*place, "at least one number format is expected, such as {\"f32\": 19.5e12}");
  for (const auto &[name, value] : place->value->items())
    if (std::optional<double> peak = number(place->member(name, value), flopsPerSecondRule))
      target[*parseNumberFormat(name)] = *peak;
}

std::pair<double, double> ClusterReader::readPoint(const Place &place, const NumberRule &sizes) {
  if (!place.value->is_array() || place.value->size() != 2) {
    fail(place, formatv("a pair [{0}, fraction] is expected, not {1}", sizes.unit, quote(*place.value)).str());
    return {0, 0};
  }
  std::optional<double> size = number(place.member("0", (*place.value)[0]), sizes);
  std::optional<double> fraction = number(place.member("1", (*place.value)[1]), fractionRule);
  return {size.value_or(0), fraction.value_or(0)};
}

void ClusterReader::readCurve(const Place &object, StringRef key, EfficiencyCurve &target, const NumberRule &sizes) {
  std::optional<Place> place = figure(object, key, "a list of [size, fraction]", false);
  if (!place)
    return;
  if (!place->value->is_array() || place->value->empty())
    return fail(
        *place,
        formatv("a list of pairs [{0}, fraction] is expected, not {1}", sizes.unit, quote(*place->value)).str());
  for (size_t i = 0; i < place->value->size() && !hasFailed(); ++i) {
    Place point = place->member(std::to_string(i), (*place->value)[i]);
    target.points.push_back(readPoint(point, sizes));
    if (!hasFailed() && i > 0 && target.points[i - 1].first >= target.points[i].first)
      fail(point, formatv("sizes must ascend (in {0})", sizes.unit).str());
    else if (!hasFailed() && !target.isMonotoneInTime())
      fail(point, "the fraction rises so steeply that more work would take less time; points further apart in size or "
                  "closer in fraction are expected");
  }
}

void ClusterReader::readDevice(const Place &object) {
  static constexpr StringLiteral keys[] = {"name",
                                           "peak_flops_per_second",
                                           "peak_vector_flops_per_second",
                                           "memory_bytes",
                                           "memory_bytes_per_second",
                                           "launch_seconds",
                                           "collective_launch_seconds",
                                           "workspace_bytes",
                                           "contraction_efficiency",
                                           "memory_efficiency",
                                           "tf32_for_f32"};
  if (!expectObject(object, keys))
    return;
  Device &device = cluster.device;
  readString(object, "name", device.name, true);
  readPeaks(object, "peak_flops_per_second", device.peakFlopsPerSecond, true);
  readPeaks(object, "peak_vector_flops_per_second", device.peakVectorFlopsPerSecond, true);
  readInteger(object, "memory_bytes", device.memoryBytes, bytesRule, true);
  readNumber(object, "memory_bytes_per_second", device.memoryBytesPerSecond, bytesPerSecondRule, true);
  readNumber(object, "launch_seconds", device.launchSeconds, secondsRule, true);
  device.collectiveLaunchSeconds = device.launchSeconds;
  readNumber(object, "collective_launch_seconds", device.collectiveLaunchSeconds, secondsRule, false);
  readInteger(object, "workspace_bytes", device.workspaceBytes, bytesRule, false);
  readCurve(object, "contraction_efficiency", device.contractionEfficiency, workRule);
  readCurve(object, "memory_efficiency", device.memoryEfficiency, sizeRule);
  readBool(object, "tf32_for_f32", device.tf32ForF32);
  if (!hasFailed() && !device.peakVectorFlopsPerSecond.count(NumberFormat::F32))
    fail(object.member("peak_vector_flops_per_second", *object.value),
         "'f32' is missing: it stands in for the other formats");
  if (!hasFailed() && device.tf32ForF32 && !device.peakFlopsPerSecond.count(NumberFormat::TF32))
    fail(object.member("tf32_for_f32", *object.value), "'peak_flops_per_second' has no 'tf32'");
}

void ClusterReader::readLevel(const Place &object, Level &level) {
  static constexpr StringLiteral keys[] = {"name",
                                           "size",
                                           "bytes_per_second",
                                           "latency_seconds",
                                           "bulk_latency_seconds",
                                           "efficiency",
                                           "shared",
                                           "topology",
                                           "switch_reduction_efficiency",
                                           "switch_reduction_latency_seconds"};
  if (!expectObject(object, keys))
    return;
  readString(object, "name", level.name, true);
  readInteger(object, "size", level.size, countRule, true);
  readNumber(object, "bytes_per_second", level.bytesPerSecond, bytesPerSecondRule, true);
  readNumber(object, "latency_seconds", level.latencySeconds, secondsRule, true);
  level.bulkLatencySeconds = level.latencySeconds;
  readNumber(object, "bulk_latency_seconds", level.bulkLatencySeconds, secondsRule, false);
  readNumber(object, "efficiency", level.efficiency, fractionRule, false);
  readBool(object, "shared", level.shared);
  readNumber(object, "switch_reduction_efficiency", level.switchReductionEfficiency, fractionRule, false);
  level.switchReductionLatencySeconds = level.bulkLatencySeconds;
  readNumber(object, "switch_reduction_latency_seconds", level.switchReductionLatencySeconds, secondsRule, false);
  std::string topology = "switch";
  readString(object, "topology", topology, false);
  if (std::optional<Topology> known = parseTopology(topology))
    level.topology = *known;
  else
    fail(object.member("topology", *object.value),
         formatv("switch, mesh or torus is expected, not '{0}'", topology).str());
  level.peers = level.topology == Topology::Mesh ? level.size - 1 : 0;
}

void ClusterReader::readLevels(const Place &place) {
  if (!place.value->is_array() || place.value->empty() || place.value->size() > 8)
    return fail(place,
                formatv("a list of 1 to 8 levels is expected, outermost first, not {0}", quote(*place.value)).str());
  double devices = 1;
  for (size_t i = 0; i < place.value->size() && !hasFailed(); ++i) {
    Place inner = place.member(std::to_string(i), (*place.value)[i]);
    cluster.levels.emplace_back();
    readLevel(inner, cluster.levels.back());
    devices *= static_cast<double>(cluster.levels.back().size);
    if (!hasFailed() && devices > countRule.maximum)
      fail(inner, formatv("the sizes multiply to {0} devices; at most {1} are expected", shortText(devices),
                          shortText(countRule.maximum))
                      .str());
  }
}

void ClusterReader::readHost(const Place &object) {
  static constexpr StringLiteral keys[] = {"memory_bytes", "device_bytes_per_second", "storage_bytes",
                                           "storage_bytes_per_second"};
  if (!expectObject(object, keys))
    return;
  readInteger(object, "memory_bytes", cluster.host.memoryBytes, bytesRule, false);
  readNumber(object, "device_bytes_per_second", cluster.host.deviceBytesPerSecond, bytesPerSecondRule, false);
  readInteger(object, "storage_bytes", cluster.host.storageBytes, bytesRule, false);
  readNumber(object, "storage_bytes_per_second", cluster.host.storageBytesPerSecond, bytesPerSecondRule, false);
}

void ClusterReader::readDocument(const Place &document) {
  static constexpr StringLiteral keys[] = {"name", "description", "device", "levels", "host"};
  if (!expectObject(document, keys))
    return;
  readString(document, "name", cluster.name, true);
  readString(document, "description", cluster.description, false);
  if (std::optional<Place> device = figure(document, "device", "an object", true))
    readDevice(*device);
  if (std::optional<Place> levels = figure(document, "levels", "a list of levels", true))
    readLevels(*levels);
  if (std::optional<Place> host = figure(document, "host", "an object", false))
    readHost(*host);
}

std::string ClusterReader::figureName(const JsonPath &path) const {
  if (path.size() < 3 || path[0] != "levels")
    return pathText(path);
  return "level." + cluster.levels[std::stoul(path[1])].name + "." + path[2];
}

Expected<Cluster> ClusterReader::read(const json &document) {
  readDocument({&document, {}});
  if (Error error = takeError())
    return error;
  for (const GivenFigure &figure : given)
    cluster.figures.push_back({figureName(figure.path), figure.value, figure.source});
  return std::move(cluster);
}

} // namespace

Expected<Cluster> parseCluster(StringRef text, StringRef source, ArrayRef<std::string> overrides) {
  if (text.size() > maxTextBytes)
    return inputError("{0}: a cluster file of at most {1} bytes is expected, not {2}", source, maxTextBytes,
                      text.size());
  Expected<json> document = parseJson(text, source);
  if (!document)
    return document.takeError();
  Expected<Cluster> cluster = ClusterReader(text, source).read(*document);
  for (const std::string &setting : overrides) {
    if (!cluster)
      break;
    std::string flag = "--cluster-set " + setting;
    Expected<Override> entry = readOverride(setting, *cluster);
    if (!entry)
      return entry.takeError();
    if (Error error = setFigure(*document, *entry, flag))
      return error;
    cluster = ClusterReader("", flag).read(*document);
  }
  return cluster;
}

} // namespace apc
