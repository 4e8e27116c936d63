// Finds a cluster by name or path.
#include "apc/Cluster/Cluster.h"

#include "Presets.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace apc {

std::vector<std::string> presetNames() {
  std::vector<std::string> names;
  for (const EmbeddedPreset &preset : embeddedPresets())
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
  for (const EmbeddedPreset &preset : embeddedPresets())
    if (preset.name == nameOrPath)
      return parseCluster(preset.text, (nameOrPath + ".json").str(), overrides);
  return inputError("unknown cluster '{0}': one of {1} is expected, or the path of a .json file", nameOrPath,
                    join(presetNames(), ", "));
}

} // namespace apc
