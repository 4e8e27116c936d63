// From KEY=VALUE on a command line to a figure of the cluster and a value for it.
#include "Override.h"

#include "ReadFigure.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;

namespace apc {

namespace {

std::string levelNames(const Cluster &cluster) {
  std::vector<std::string> names;
  for (const Level &level : cluster.pool.levels)
    names.push_back(level.name);
  return join(names, ", ");
}

Error unknownKey(StringRef key, const Cluster &cluster) {
  return inputError("--cluster-set {0}: accepted are device.KEY, host.KEY and level.NAME.KEY, NAME one of {1}, for "
                    "instance device.memory_bytes or level.{2}.bytes_per_second",
                    key, levelNames(cluster), cluster.pool.levels.front().name);
}

/// `rest` is "node.bytes_per_second"; a level's name may contain dots, a key does not.
Error readLevelKey(StringRef key, StringRef rest, const Cluster &cluster, Override &setting) {
  auto [name, figure] = rest.rsplit('.');
  auto found = find_if(cluster.pool.levels, [name = name](const Level &level) { return level.name == name; });
  if (found == cluster.pool.levels.end() || figure.empty())
    return unknownKey(key, cluster);
  setting.section = FigurePlace::Section::Level;
  setting.level = static_cast<size_t>(found - cluster.pool.levels.begin());
  setting.key = figure.str();
  return Error::success();
}

Error readKey(StringRef key, const Cluster &cluster, Override &setting) {
  auto [section, rest] = key.split('.');
  if (section == "level")
    return readLevelKey(key, rest, cluster, setting);
  auto [figure, part] = rest.split('.');
  if ((section != "device" && section != "host") || figure.empty() || key.ends_with("."))
    return unknownKey(key, cluster);
  setting.section = section == "device" ? FigurePlace::Section::Device : FigurePlace::Section::Host;
  setting.key = figure.str();
  setting.part = part.str();
  return Error::success();
}

template <typename T>
JsonValue valueOf(T content) {
  JsonValue value;
  value.content = std::move(content);
  return value;
}

/// A list as in a file: [[1e6, 0.4], [1e8, 0.8]]; the text itself where it is none.
JsonValue listOrText(StringRef text) {
  Expected<JsonDocument> document = JsonDocument::parse(text, "");
  if (document)
    return document->getRoot();
  consumeError(document.takeError());
  return valueOf(text.str());
}

/// 25 for 25 GB/s is a slip.
Error checkPlausible(StringRef key, StringRef text, double number) {
  constexpr double least = 1e6;
  if (!key.ends_with("bytes_per_second") || number <= 0 || number >= least)
    return Error::success();
  return inputError(
      "--cluster-set {0}={1}: {2} bytes per second are implausibly few; write for instance 25e9 or 25GB/s", key, text,
      shortText(number));
}

Expected<JsonValue> readValue(StringRef key, StringRef text) {
  text = text.trim();
  if (text == "true" || text == "false")
    return valueOf(text == "true");
  double number = 0;
  if (!text.getAsDouble(number) && std::isfinite(number)) {
    if (Error error = checkPlausible(key, text, number))
      return error;
    return valueOf(number);
  }
  bool isRate = key.ends_with("bytes_per_second");
  if (!isRate && !key.ends_with("bytes"))
    return text.starts_with("[") ? listOrText(text) : valueOf(text.str());
  std::string what = ("--cluster-set " + key).str();
  if (isRate) {
    Expected<double> rate = parseBytesPerSecond(text, what);
    if (!rate)
      return rate.takeError();
    if (Error error = checkPlausible(key, text, *rate))
      return error;
    return valueOf(*rate);
  }
  Expected<int64_t> bytes = parseBytes(text, what);
  if (!bytes)
    return bytes.takeError();
  return valueOf(static_cast<double>(*bytes));
}

} // namespace

Expected<Override> readOverride(StringRef text, const Cluster &cluster) {
  auto [key, value] = text.split('=');
  if (key.empty() || value.empty())
    return inputError("--cluster-set {0}: accepted is KEY=VALUE, for instance device.memory_bytes=40GiB", text);
  Override setting;
  if (Error error = readKey(key, cluster, setting))
    return error;
  setting.flag = ("--cluster-set " + text).str();
  Expected<JsonValue> read = readValue(key, value);
  if (!read)
    return read.takeError();
  setting.value = std::move(*read);
  return setting;
}

} // namespace apc
