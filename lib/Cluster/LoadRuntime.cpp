// Finds a runtime by name or path, and reads its text.
#include "Presets.h"
#include "ReadFigure.h"
#include "apc/Cluster/RuntimeDocument.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"
#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace apc {

namespace {

void readFigures(JsonReader document, RuntimeDocument &into) {
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
      readFigure(sourced.value, row, into.runtime);
    if (document.hasFailed())
      return;
    if (!row.isName())
      into.figures.push_back({row.key.str(), printJson(sourced.value.value(), 0), sourced.source});
  }
}

Expected<RuntimeDocument> parseDocument(StringRef text, StringRef source) {
  Expected<JsonDocument> document = JsonDocument::parse(text, source);
  if (!document)
    return document.takeError();
  RuntimeDocument runtime;
  readFigures(document->root(), runtime);
  if (Error error = document->takeError())
    return error;
  return runtime;
}

Expected<Runtime> runtimeOf(Expected<RuntimeDocument> document) {
  if (!document)
    return document.takeError();
  return std::move(document->runtime);
}

} // namespace

std::vector<std::string> runtimeNames() {
  std::vector<std::string> names;
  for (const EmbeddedText &runtime : embeddedRuntimes())
    names.push_back(runtime.name.str());
  return names;
}

Expected<Runtime> parseRuntime(StringRef text, StringRef source) { return runtimeOf(parseDocument(text, source)); }

Expected<RuntimeDocument> loadRuntimeDocument(StringRef nameOrPath) {
  if (nameOrPath.contains('/') || nameOrPath.ends_with(".json")) {
    Expected<std::string> text = readFile(nameOrPath);
    if (!text)
      return text.takeError();
    return parseDocument(*text, nameOrPath);
  }
  for (const EmbeddedText &runtime : embeddedRuntimes())
    if (runtime.name == nameOrPath)
      return parseDocument(runtime.text, (nameOrPath + ".json").str());
  return inputError("unknown runtime '{0}': one of {1} is expected, or the path of a .json file", nameOrPath,
                    join(runtimeNames(), ", "));
}

Expected<Runtime> loadRuntime(StringRef nameOrPath) { return runtimeOf(loadRuntimeDocument(nameOrPath)); }

} // namespace apc
