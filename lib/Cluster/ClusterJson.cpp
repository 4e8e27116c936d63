// Reads the JSON schema of clusters (README.md), in figures, not in trust: every error names key, line and unit.
#include "apc/Cluster/Cluster.h"

#include "JsonLines.h"
#include "Override.h"
#include "apc/Support/Error.h"
#include "apc/Support/JsonText.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace llvm;
using nlohmann::json;

namespace apc {

namespace {

constexpr size_t maxTextBytes = size_t(1) << 20;
/// The schema needs 5: levels, a level, a figure with its source, a curve, a point. What is quoted in messages
/// recurses.
constexpr unsigned maxDepth = 16;

/// What a number must be: `unit` is what the message says is expected.
struct NumberRule {
  const char *unit;
  double maximum;
  bool integer = false;
};

constexpr NumberRule bytesRule{"bytes", 0x1p60, true};
constexpr NumberRule bytesPerSecondRule{"bytes per second", 1e18};
constexpr NumberRule flopsPerSecondRule{"floating-point operations per second", 1e21};
constexpr NumberRule secondsRule{"seconds", 1};
constexpr NumberRule fractionRule{"a fraction", 1};
constexpr NumberRule countRule{"a count", 0x1p20, true};
constexpr NumberRule workRule{"floating-point operations", 1e30};
constexpr NumberRule sizeRule{"bytes", 1e30};

/// One object of the document, with the way to it.
struct Place {
  const json *value = nullptr;
  JsonPath path;

  Place member(StringRef key, const json &value) const {
    Place inner{&value, path};
    inner.path.push_back(key.str());
    return inner;
  }
};

/// Reads figures and keeps the first error; after one, every read leaves its target alone.
class Reader {
public:
  /// Without `text`, errors name `source` alone: a flag that sets one figure of a document that was read before.
  Reader(StringRef text, StringRef source) : text(text), source(source) {}

  Cluster cluster;

  Error takeError() {
    if (problem.empty())
      return Error::success();
    return inputError("{0}", problem);
  }

  void readDocument(const Place &document);

  /// {"levels", "0", "size"} -> "level.node.size"
  std::string figureName(const JsonPath &path) const {
    if (path.size() < 3 || path[0] != "levels")
      return pathText(path);
    return "level." + cluster.levels.back().name + "." + path[2];
  }

  void fail(const Place &place, const Twine &message) {
    if (!problem.empty())
      return;
    problem = text.empty() ? formatv("{0}: {1}", source, message.str()).str()
                           : formatv("{0}:{1}: {2}: {3}", source, lineOfPath(text, place.path), pathText(place.path),
                                     message.str())
                                 .str();
  }

private:
  using KeyList = ArrayRef<StringLiteral>;

  bool expectObject(const Place &place, KeyList keys);
  /// The figure under `key`, out of its `{"value": ..., "source": ...}` when it has one; nothing when it is absent,
  /// which is an error when it is `required` (`what` says what is expected).
  std::optional<Place> figure(const Place &object, StringRef key, const char *what, bool required);
  /// The `source` of a figure that has one, "" for a plain value.
  std::optional<std::string> sourceOf(const Place &place);
  std::optional<double> number(const Place &place, const NumberRule &rule);
  void readNumber(const Place &object, StringRef key, double &target, const NumberRule &rule, bool required);
  void readInteger(const Place &object, StringRef key, int64_t &target, const NumberRule &rule, bool required);
  void readBool(const Place &object, StringRef key, bool &target);
  void readString(const Place &object, StringRef key, std::string &target, bool required);
  void readPeaks(const Place &object, StringRef key, std::map<NumberFormat, double> &target, bool required);
  void readCurve(const Place &object, StringRef key, EfficiencyCurve &target, const NumberRule &sizes);
  std::pair<double, double> readPoint(const Place &place, const NumberRule &sizes);
  void readDevice(const Place &object);
  void readLevel(const Place &object, Level &level);
  void readLevels(const Place &place);
  void readHost(const Place &object);

  StringRef text, source;
  std::string problem;
};

std::string dump(const json &value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string quote(const json &value) {
  std::string text = dump(value);
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

/// 1.04858e+06
std::string shortText(double value) {
  std::string text;
  raw_string_ostream(text) << format("%g", value);
  return text;
}

std::string listKeys(ArrayRef<StringLiteral> keys) {
  std::string list;
  for (StringRef key : keys)
    list += (list.empty() ? "" : ", ") + key.str();
  return list;
}

/// ", did you mean 'size'?" for a key that is at most a third off.
std::string suggestion(StringRef wrong, ArrayRef<StringLiteral> keys) {
  unsigned bestDistance = static_cast<unsigned>(wrong.size()) / 3 + 1;
  StringRef best;
  for (StringRef key : keys) {
    unsigned distance = wrong.edit_distance(key, true, bestDistance);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = key;
    }
  }
  return best.empty() ? "" : formatv(", did you mean '{0}'?", best).str();
}

bool Reader::expectObject(const Place &place, KeyList keys) {
  if (!place.value->is_object()) {
    fail(place, formatv("an object with the keys {0} is expected, not {1}", listKeys(keys), quote(*place.value)).str());
    return false;
  }
  for (const auto &[key, value] : place.value->items())
    if (!is_contained(keys, StringRef(key))) {
      fail(place.member(key, value),
           formatv("unknown key{0} ({1} are known)", suggestion(key, keys), listKeys(keys)).str());
      return false;
    }
  return problem.empty();
}

std::optional<std::string> Reader::sourceOf(const Place &place) {
  if (!place.value->is_object() || !place.value->contains("value"))
    return "";
  static constexpr StringLiteral keys[] = {"value", "source"};
  if (!expectObject(place, keys))
    return std::nullopt;
  auto origin = place.value->find("source");
  if (origin == place.value->end())
    return "";
  if (!origin->is_string() || origin->get_ref<const std::string &>().empty()) {
    fail(place.member("source", *origin), "the name of a document is expected");
    return std::nullopt;
  }
  return origin->get<std::string>();
}

std::optional<Place> Reader::figure(const Place &object, StringRef key, const char *what, bool required) {
  auto found = object.value->find(key.str());
  if (found == object.value->end()) {
    if (required)
      fail(object, formatv("'{0}' is missing ({1} expected)", key, what).str());
    return std::nullopt;
  }
  Place place = object.member(key, *found);
  std::optional<std::string> source = sourceOf(place);
  if (!source)
    return std::nullopt;
  bool isWrapped = found->is_object() && found->contains("value");
  Place inner = isWrapped ? place.member("value", (*found)["value"]) : place;
  // What stands at the root are names and the objects that hold the figures.
  if (!object.path.empty() && key != "name")
    cluster.figures.push_back({figureName(place.path), dump(*inner.value), *source});
  return inner;
}

std::optional<double> Reader::number(const Place &place, const NumberRule &rule) {
  double value = place.value->is_number() ? place.value->get<double>() : -1;
  bool isWhole = !rule.integer || value == std::floor(value);
  // The comparison is written so that NaN fails it.
  if (!place.value->is_number() || !(value > 0 && value <= rule.maximum) || !isWhole) {
    fail(place,
         formatv("a {0} above 0 and at most {1} is expected, in {2}, not {3}", rule.integer ? "whole number" : "number",
                 shortText(rule.maximum), rule.unit, quote(*place.value))
             .str());
    return std::nullopt;
  }
  return value;
}

void Reader::readNumber(const Place &object, StringRef key, double &target, const NumberRule &rule, bool required) {
  if (std::optional<Place> place = figure(object, key, rule.unit, required))
    if (std::optional<double> value = number(*place, rule))
      target = *value;
}

void Reader::readInteger(const Place &object, StringRef key, int64_t &target, const NumberRule &rule, bool required) {
  if (std::optional<Place> place = figure(object, key, rule.unit, required))
    if (std::optional<double> value = number(*place, rule))
      target = static_cast<int64_t>(*value);
}

void Reader::readBool(const Place &object, StringRef key, bool &target) {
  std::optional<Place> place = figure(object, key, "true or false", false);
  if (!place)
    return;
  if (!place->value->is_boolean())
    return fail(*place, formatv("true or false is expected, not {0}", quote(*place->value)).str());
  target = place->value->get<bool>();
}

void Reader::readString(const Place &object, StringRef key, std::string &target, bool required) {
  std::optional<Place> place = figure(object, key, "a text", required);
  if (!place)
    return;
  if (!place->value->is_string() || place->value->get_ref<const std::string &>().empty())
    return fail(*place, formatv("a text is expected, not {0}", quote(*place->value)).str());
  target = place->value->get<std::string>();
}

void Reader::readPeaks(const Place &object, StringRef key, std::map<NumberFormat, double> &target, bool required) {
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

std::pair<double, double> Reader::readPoint(const Place &place, const NumberRule &sizes) {
  if (!place.value->is_array() || place.value->size() != 2) {
    fail(place, formatv("a pair [{0}, fraction] is expected, not {1}", sizes.unit, quote(*place.value)).str());
    return {0, 0};
  }
  std::optional<double> size = number(place.member("0", (*place.value)[0]), sizes);
  std::optional<double> fraction = number(place.member("1", (*place.value)[1]), fractionRule);
  return {size.value_or(0), fraction.value_or(0)};
}

void Reader::readCurve(const Place &object, StringRef key, EfficiencyCurve &target, const NumberRule &sizes) {
  std::optional<Place> place = figure(object, key, "a list of [size, fraction]", false);
  if (!place)
    return;
  if (!place->value->is_array() || place->value->empty())
    return fail(
        *place,
        formatv("a list of pairs [{0}, fraction] is expected, not {1}", sizes.unit, quote(*place->value)).str());
  for (size_t i = 0; i < place->value->size() && problem.empty(); ++i) {
    Place point = place->member(std::to_string(i), (*place->value)[i]);
    target.points.push_back(readPoint(point, sizes));
    if (problem.empty() && i > 0 && target.points[i - 1].first >= target.points[i].first)
      fail(point, formatv("sizes must ascend (in {0})", sizes.unit).str());
    else if (problem.empty() && !target.isMonotoneInTime())
      fail(point, "the fraction rises so steeply that more work would take less time; points further apart in size or "
                  "closer in fraction are expected");
  }
}

void Reader::readDevice(const Place &object) {
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
  if (problem.empty() && !device.peakVectorFlopsPerSecond.count(NumberFormat::F32))
    fail(object.member("peak_vector_flops_per_second", *object.value),
         "'f32' is missing: it stands in for the other formats");
  if (problem.empty() && device.tf32ForF32 && !device.peakFlopsPerSecond.count(NumberFormat::TF32))
    fail(object.member("tf32_for_f32", *object.value), "'peak_flops_per_second' has no 'tf32'");
}

void Reader::readLevel(const Place &object, Level &level) {
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

void Reader::readLevels(const Place &place) {
  if (!place.value->is_array() || place.value->empty() || place.value->size() > 8)
    return fail(place,
                formatv("a list of 1 to 8 levels is expected, outermost first, not {0}", quote(*place.value)).str());
  double devices = 1;
  for (size_t i = 0; i < place.value->size() && problem.empty(); ++i) {
    Place inner = place.member(std::to_string(i), (*place.value)[i]);
    cluster.levels.emplace_back();
    readLevel(inner, cluster.levels.back());
    devices *= static_cast<double>(cluster.levels.back().size);
    if (problem.empty() && devices > countRule.maximum)
      fail(inner, formatv("the sizes multiply to {0} devices; at most {1} are expected", shortText(devices),
                          shortText(countRule.maximum))
                      .str());
  }
}

void Reader::readHost(const Place &object) {
  static constexpr StringLiteral keys[] = {"memory_bytes", "device_bytes_per_second", "storage_bytes",
                                           "storage_bytes_per_second"};
  if (!expectObject(object, keys))
    return;
  readInteger(object, "memory_bytes", cluster.host.memoryBytes, bytesRule, false);
  readNumber(object, "device_bytes_per_second", cluster.host.deviceBytesPerSecond, bytesPerSecondRule, false);
  readInteger(object, "storage_bytes", cluster.host.storageBytes, bytesRule, false);
  readNumber(object, "storage_bytes_per_second", cluster.host.storageBytesPerSecond, bytesPerSecondRule, false);
}

void Reader::readDocument(const Place &document) {
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

/// The number that nlohmann could not hold, from its message: "number overflow parsing '1e999'".
size_t offsetOfOverflow(StringRef text, StringRef message) {
  StringRef number = message.rsplit(" '").second.rtrim('\'');
  size_t offset = number.empty() ? StringRef::npos : text.find(number);
  return offset == StringRef::npos ? 0 : offset;
}

/// The parsed text; an error with the line for syntax errors, numbers out of range and keys that are given twice.
Expected<json> parseText(StringRef text, StringRef source) {
  try {
    json document = json::parse(text.begin(), text.end());
    if (std::optional<size_t> repeated = offsetOfRepeatedKey(text))
      return inputError("{0}:{1}: key {2} is given twice in one object", source, lineOfOffset(text, *repeated),
                        text.substr(*repeated).take_until([](char c) { return c == ':'; }).rtrim());
    if (std::optional<size_t> deep = offsetOfDepth(text, maxDepth))
      return inputError("{0}:{1}: brackets are nested more than {2} deep", source, lineOfOffset(text, *deep), maxDepth);
    return document;
  } catch (const json::parse_error &error) {
    return inputError("{0}:{1}: this is not JSON: {2}", source, lineOfOffset(text, error.byte),
                      jsonSyntaxProblem(text, error.byte));
  } catch (const json::exception &error) {
    return inputError("{0}:{1}: a number is too large; at most 1.79e308 is accepted", source,
                      lineOfOffset(text, offsetOfOverflow(text, error.what())));
  }
}

Expected<Cluster> readCluster(const json &document, StringRef text, StringRef source) {
  Reader reader(text, source);
  reader.readDocument({&document, {}});
  if (Error error = reader.takeError())
    return error;
  return std::move(reader.cluster);
}

/// A list is written as in a file: [[1e6, 0.4], [1e8, 0.8]].
json valueJson(const std::string &text) {
  if (!StringRef(text).starts_with("["))
    return text;
  json list = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return list.is_discarded() || offsetOfDepth(text, maxDepth) ? json(text) : list;
}

json &unwrap(json &figure) { return figure.is_object() && figure.contains("value") ? figure["value"] : figure; }

json wrap(json value, const std::string &source) {
  json figure = json::object();
  figure["value"] = std::move(value);
  figure["source"] = source;
  return figure;
}

/// Sets the figure in its document, as if the file said so; its source is the flag.
Error setFigure(json &document, const Override &setting, StringRef flag) {
  json *object = &document;
  for (const std::string &step : setting.object) {
    json &member = object->is_array() ? (*object)[std::stoul(step)] : (*object)[step];
    if (member.is_null())
      member = json::object();
    object = &unwrap(member);
  }
  json value = std::visit([](const auto &item) { return json(item); }, setting.value);
  if (value.is_string())
    value = valueJson(value.get<std::string>());
  json &figure = (*object)[setting.key];
  if (setting.part.empty()) {
    figure = wrap(value, "--cluster-set");
    return Error::success();
  }
  json whole = unwrap(figure);
  if (!whole.is_object())
    return inputError("{0}: '{1}' has no parts such as '{2}'", flag, setting.key, setting.part);
  std::string source = figure.value("source", "");
  whole[setting.part] = value;
  figure = wrap(whole, source + (source.empty() ? "" : "; ") + setting.part + ": --cluster-set");
  return Error::success();
}

} // namespace

Expected<Cluster> parseCluster(StringRef text, StringRef source, ArrayRef<std::string> overrides) {
  if (text.size() > maxTextBytes)
    return inputError("{0}: a cluster file of at most {1} bytes is expected, not {2}", source, maxTextBytes,
                      text.size());
  Expected<json> document = parseText(text, source);
  if (!document)
    return document.takeError();
  Expected<Cluster> cluster = readCluster(*document, text, source);
  for (const std::string &setting : overrides) {
    if (!cluster)
      break;
    std::string flag = "--cluster-set " + setting;
    Expected<Override> entry = readOverride(setting, *cluster);
    if (!entry)
      return entry.takeError();
    if (Error error = setFigure(*document, *entry, flag))
      return error;
    cluster = readCluster(*document, "", flag);
  }
  return cluster;
}

} // namespace apc
