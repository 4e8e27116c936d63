// manifest.json of a checkpoint.
#include "apc/Checkpoint/SavedWeights.h"

#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

void writeHead(JsonWriter &json, JsonObjectWriter &object, const SavedWeights &saved) {
  object("version", 1);
  object("format", "checkpoint");
  object.key("model");
  json.oneLine([&] {
    json.object([&](JsonObjectWriter &model) {
      model("path", saved.modelPath);
      model("sha256", saved.modelSha256);
    });
  });
  if (saved.steps > 0)
    object("steps", saved.steps);
}

void writeTensor(JsonObjectWriter &object, const SavedStage &stage, const SavedTensor &tensor) {
  const ByteLayout &layout = stage.layouts[tensor.layout];
  object("name", tensor.name);
  object("shape", layout.shape.dims);
  object("element_type", tensor.dataType);
  object("sharding", tensor.sharding);
  object("local_shape", layout.localShape.dims);
  object("layout", tensor.layout);
  if (tensor.isState())
    object("begins", tensor.begins);
  if (tensor.isWhole)
    return object("whole_in_file", *tensor.fileOfShard.front());
  std::vector<int64_t> files;
  for (std::optional<unsigned> file : tensor.fileOfShard)
    files.push_back(file ? static_cast<int64_t>(*file) : -1);
  object("file_of_shard", files);
}

} // namespace

std::string printSavedStage(const SavedWeights &saved, const SavedStage &stage) {
  JsonWriter json;
  auto objectInOneLine = [&](llvm::function_ref<void(JsonObjectWriter &)> write) {
    json.oneLine([&] { json.object(write); });
  };
  json.object([&](JsonObjectWriter &object) {
    writeHead(json, object, saved);
    object("devices", stage.mesh.numDevices());
    object.key("mesh");
    json.oneLine([&] {
      json.list([&] {
        for (const MeshAxis &axis : stage.mesh.getAxes())
          json.object([&](JsonObjectWriter &entry) {
            entry("name", axis.name);
            entry("size", axis.size);
          });
      });
    });
    object.key("weights");
    objectInOneLine([&](JsonObjectWriter &weights) { weights("files", stage.files); });
    object.list("parameters", [&] {
      for (const SavedTensor &tensor : stage.tensors)
        if (tensor.isInFiles)
          objectInOneLine([&](JsonObjectWriter &entry) { writeTensor(entry, stage, tensor); });
    });
    object.list("layouts", [&] {
      for (const ByteLayout &layout : stage.layouts)
        objectInOneLine([&](JsonObjectWriter &entry) {
          entry("local_shape", layout.localShape.dims);
          entry("shard_of_rank", layout.shardOfRank);
        });
    });
  });
  return json.take() + "\n";
}

std::string printSavedStages(const SavedWeights &saved) {
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    writeHead(json, object, saved);
    object("devices", saved.numRanks());
    object.list("stages", [&] {
      for (const SavedStage &stage : saved.stages)
        json.oneLine([&] {
          json.object([&](JsonObjectWriter &entry) {
            entry("folder", stage.folder);
            entry("first_rank", stage.firstRank);
            entry("devices", stage.mesh.numDevices());
          });
        });
    });
  });
  return json.take() + "\n";
}

} // namespace apc
