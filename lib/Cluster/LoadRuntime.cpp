// Finds a runtime by name or path, and reads its text.
#include "Presets.h"
#include "ReadFigure.h"
#include "apc/Cluster/Runtime.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace apc {

namespace {

void readFigures(JsonReader document, Runtime &runtime) {
  auto rows = figureRows<Runtime>();
  if (!document.expectKeys(map_to_vector(rows, [](const FigureRow<Runtime> &row) -> StringRef { return row.key; })))
    return;
  for (const FigureRow<Runtime> &row : rows) {
    std::optional<JsonReader> figure = document.find(row.key);
    if (!figure && row.isRequired)
      return document.fail("'" + row.key + "' is missing (" + row.unit.name + " expected)");
    if (!figure)
      continue;
    SourcedFigure sourced(*figure);
    if (!document.hasFailed())
      readFigure(sourced.value, row, runtime);
    if (document.hasFailed())
      return;
  }
}

} // namespace

std::vector<std::string> runtimeNames() {
  std::vector<std::string> names;
  for (const EmbeddedText &runtime : embeddedRuntimes())
    names.push_back(runtime.name.str());
  return names;
}

Expected<Runtime> parseRuntime(StringRef text, StringRef source) {
  Expected<JsonDocument> document = JsonDocument::parse(text, source);
  if (!document)
    return document.takeError();
  Runtime runtime;
  readFigures(document->root(), runtime);
  if (Error error = document->takeError())
    return error;
  return runtime;
}

Expected<Runtime> loadRuntime(StringRef nameOrPath) {
  if (nameOrPath.contains('/') || nameOrPath.ends_with(".json")) {
    Expected<std::string> text = readFile(nameOrPath);
    if (!text)
      return text.takeError();
    return parseRuntime(*text, nameOrPath);
  }
  for (const EmbeddedText &runtime : embeddedRuntimes())
    if (runtime.name == nameOrPath)
      return parseRuntime(runtime.text, (nameOrPath + ".json").str());
  return inputError("unknown runtime '{0}': one of {1} is expected, or the path of a .json file", nameOrPath,
                    join(runtimeNames(), ", "));
}

} // namespace apc
