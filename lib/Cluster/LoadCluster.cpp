// Finds a cluster by name or path, and reads its text.
#include "apc/Cluster/Cluster.h"

#include "ClusterReader.h"
#include "Presets.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace apc {

namespace {

constexpr size_t maxTextBytes = size_t(1) << 20;

} // namespace

std::vector<std::string> presetNames() {
  std::vector<std::string> names;
  for (const EmbeddedText &preset : embeddedPresets())
    names.push_back(preset.name.str());
  return names;
}

Expected<Cluster> loadCluster(StringRef nameOrPath, ArrayRef<std::string> overrides) {
  if (nameOrPath.contains('/') || nameOrPath.ends_with(".json")) {
    Expected<std::string> text = readFile(nameOrPath);
    if (!text)
      return text.takeError();
    return parseCluster(*text, nameOrPath, overrides);
  }
  for (const EmbeddedText &preset : embeddedPresets())
    if (preset.name == nameOrPath)
      return parseCluster(preset.text, (nameOrPath + ".json").str(), overrides);
  return inputError("unknown cluster '{0}': one of {1} is expected, or the path of a .json file", nameOrPath,
                    join(presetNames(), ", "));
}

Expected<Cluster> parseCluster(StringRef text, StringRef source, ArrayRef<std::string> overrides) {
  if (text.size() > maxTextBytes)
    return inputError("{0}: a cluster file of at most {1} bytes is expected, not {2}", source, maxTextBytes,
                      text.size());
  Expected<JsonDocument> document = JsonDocument::parse(text, source);
  if (!document)
    return document.takeError();
  ClusterReader reader;
  reader.readDocument(document->root());
  if (Error error = document->takeError())
    return error;
  for (const std::string &text : overrides) {
    Expected<Override> setting = readOverride(text, reader.getCluster());
    if (!setting)
      return setting.takeError();
    if (Error error = reader.apply(*setting))
      return error;
  }
  return reader.take();
}

} // namespace apc
