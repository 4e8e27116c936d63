// Emissions known by the format in their manifests.
#include "EarlierEmission.h"

#include "apc/Emit/Emit.h"
#include "apc/Support/File.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

namespace apc {

EarlierEmission::EarlierEmission(llvm::StringRef folder) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "manifest.json");
  llvm::Expected<std::string> text = readFile(path);
  llvm::Expected<JsonDocument> document = text ? JsonDocument::parse(*text, path) : text.takeError();
  if (!document) {
    llvm::consumeError(document.takeError());
    return;
  }
  const JsonValue *format = document->getRoot().find("format");
  auto isFormat = [&](const Emitter &emitter) { return format->text() == emitter.name; };
  if (format && format->isText() && llvm::any_of(allEmitters(), isFormat))
    manifest = std::move(*document);
}

bool EarlierEmission::holds(llvm::StringRef name) const {
  if (!manifest)
    return false;
  if (name == "weights")
    return manifest->getRoot().find("weights") != nullptr;
  if (!name.starts_with("stage-"))
    return true;
  const JsonValue *stages = manifest->getRoot().find("stages");
  return stages && stages->isList() && llvm::any_of(stages->list(), [&](const JsonValue &stage) {
           const JsonValue *folder = stage.find("folder");
           return folder && folder->isText() && folder->text() == name;
         });
}

} // namespace apc
