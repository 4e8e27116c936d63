// Emissions known by the format in their manifests, and their files by name.
#include "EarlierEmission.h"

#include "apc/Emit/Emit.h"
#include "apc/Support/File.h"
#include "apc/Support/Pattern.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

#include <optional>

namespace apc {

namespace {

/// The manifest of `folder`; none where there is none that can be read.
std::optional<JsonDocument> readManifest(llvm::StringRef folder) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "manifest.json");
  llvm::Expected<std::string> text = readFile(path);
  llvm::Expected<JsonDocument> document = text ? JsonDocument::parse(*text, path) : text.takeError();
  if (document)
    return std::move(*document);
  llvm::consumeError(document.takeError());
  return std::nullopt;
}

/// The texts of a list; empty where `value` is no list.
std::vector<llvm::StringRef> textsOf(const JsonValue *value) {
  std::vector<llvm::StringRef> texts;
  if (value && value->isList())
    for (const JsonValue &entry : value->list())
      if (entry.isText())
        texts.push_back(entry.text());
  return texts;
}

/// True for a file or folder that formats write to the folder of a program or of a stage, weights aside, and for the
/// files that Python puts beside programs that it has run.
bool isNameOfProgram(llvm::StringRef name) {
  auto whole = [](llvm::StringRef text) { return Pattern(("^(" + text + ")$").str(), Letters::AsWritten); };
  static const Pattern names[] = {
      whole("manifest\\.json|program\\.mlir|constants\\.safetensors|parts\\.json|steps\\.json"),
      whole("rank-[0-9]+\\.(mlir|onnx)"),
      whole("(program|ops|run|collectives|loading|manifest|saving|transfers|with_weights)\\.py"),
      whole("(forward|input_gradients|backward|weight_gradients|micro_batch|update)\\.mlir"),
      whole("segments/([^/]+-[0-9]+\\.onnx)?"),
      whole("one_device/((program|ops)\\.py|constants\\.safetensors)?"),
      whole("(one_device/)?__pycache__/([^/]+\\.pyc(\\.[0-9]+)?)?")};
  return llvm::any_of(names, [&](const Pattern &pattern) { return pattern.match(name); });
}

} // namespace

EarlierEmission::EarlierEmission(llvm::StringRef folder) {
  std::optional<JsonDocument> manifest = readManifest(folder);
  const JsonValue *format = manifest ? manifest->getRoot().find("format") : nullptr;
  auto isFormat = [&](const Emitter &emitter) { return format->text() == emitter.name; };
  isEmission = format && format->isText() && llvm::any_of(allEmitters(), isFormat);
  if (!isEmission)
    return;
  readWeights(manifest->getRoot(), "");
  static const Pattern ofStage("^stage-[0-9]+$", Letters::AsWritten);
  const JsonValue *listed = manifest->getRoot().find("stages");
  if (!listed || !listed->isList())
    return;
  for (const JsonValue &stage : listed->list()) {
    const JsonValue *name = stage.find("folder");
    if (!name || !name->isText() || !ofStage.match(name->text()))
      continue;
    stages.insert(name->text() + "/");
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name->text());
    if (std::optional<JsonDocument> own = readManifest(path))
      readWeights(own->getRoot(), name->text() + "/");
  }
}

void EarlierEmission::readWeights(const JsonValue &manifest, llvm::StringRef prefix) {
  const JsonValue *listed = manifest.find("weights");
  if (!listed)
    return;
  static const Pattern ofWeights("^weights/[^/]+$", Letters::AsWritten);
  weights.insert((prefix + "weights/").str());
  for (llvm::StringRef file : textsOf(listed->find("files")))
    if (ofWeights.match(file))
      weights.insert((prefix + file).str());
}

bool EarlierEmission::holds(llvm::StringRef name) const {
  if (!isEmission)
    return false;
  if (weights.contains(name) || stages.contains(name))
    return true;
  llvm::StringRef folder = name.take_front(name.find('/') + 1); // "" where there is none
  return isNameOfProgram(stages.contains(folder) ? name.drop_front(folder.size()) : name);
}

} // namespace apc
