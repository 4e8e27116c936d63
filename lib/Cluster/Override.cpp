// From KEY=VALUE on a command line to a figure of the cluster and a value for it.
#include "Override.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

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
  std::optional<size_t> found;
  for (size_t i = 0; i < cluster.pool.levels.size(); ++i) {
    if (cluster.pool.levels[i].name != name)
      continue;
    if (found)
      return inputError("--cluster-set {0}: cluster '{1}' has two levels '{2}'; give them names of their own", key,
                        cluster.name, name);
    found = i;
  }
  if (!found || figure.empty())
    return unknownKey(key, cluster);
  setting.section = FigurePlace::Section::Level;
  setting.level = *found;
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

Expected<JsonValue> readValue(StringRef key, StringRef text) {
  if (text == "true" || text == "false")
    return valueOf(text == "true");
  double number = 0;
  if (!text.getAsDouble(number) && std::isfinite(number))
    return valueOf(number);
  bool isRate = key.ends_with("bytes_per_second");
  if (!isRate && !key.ends_with("bytes"))
    return text.starts_with("[") ? listOrText(text) : valueOf(text.str());
  std::string what = ("--cluster-set " + key).str();
  if (isRate) {
    Expected<double> rate = parseBytesPerSecond(text, what);
    return rate ? Expected<JsonValue>(valueOf(*rate)) : rate.takeError();
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
