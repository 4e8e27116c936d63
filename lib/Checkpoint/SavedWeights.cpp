// manifest.json, read.
#include "apc/Checkpoint/SavedWeights.h"

#include "apc/Support/Error.h"
#include "apc/Support/File.h"
#include "apc/Support/Json/JsonReader.h"
#include "apc/Support/Pattern.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <map>

namespace apc {

namespace {

constexpr int64_t manifestVersion = 1;
constexpr int64_t mostDevices = 1 << 24;

std::string pathOf(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// One manifest on its way to a stage.
class StageReader {
public:
  StageReader(SavedStage &stage, SavedWeights &saved) : stage(stage), saved(saved) {}

  void read(JsonReader root) {
    readMesh(root);
    if (std::optional<JsonReader> weights = root.find("weights")) {
      static const Pattern ofFolder("^weights/[^/]+$", Letters::AsWritten);
      saved.hasFiles = true;
      weights->at("files").into(stage.files);
      for (llvm::StringRef file : stage.files)
        if (!ofFolder.match(file))
          weights->at("files").fail("'" + file + "' is no file of the folder 'weights'");
    }
    root.at("parameters").forEach([&](JsonReader entry) { readTensor(entry); });
  }

private:
  void readMesh(JsonReader root) {
    std::vector<MeshAxis> axes;
    int64_t devices = 1;
    root.at("mesh").forEach([&](JsonReader entry) {
      MeshAxis &axis = axes.emplace_back();
      entry.at("name").into(axis.name);
      entry.at("size").intoWithin<int64_t>(axis.size, 1, mostDevices / devices);
      devices *= std::max<int64_t>(axis.size, 1);
    });
    stage.mesh = Mesh(std::move(axes));
  }

  void readTensor(JsonReader entry);
  /// The file of each shard, from `file_of_shard` or `whole_in_file`.
  void readPlaces(JsonReader entry, SavedTensor &tensor);
  std::optional<unsigned> fileWithin(JsonReader place, int64_t number) {
    if (number >= static_cast<int64_t>(stage.files.size()))
      place.fail("there are " + llvm::Twine(stage.files.size()) + " files, not one with number " + llvm::Twine(number));
    return number < 0 ? std::nullopt : std::optional(static_cast<unsigned>(number));
  }

  SavedStage &stage;
  SavedWeights &saved;
  std::map<std::pair<std::vector<int64_t>, std::string>, size_t> known; ///< layouts by shape and sharding
};

void StageReader::readTensor(JsonReader entry) {
  SavedTensor tensor;
  std::vector<int64_t> dims;
  entry.at("name").into(tensor.name);
  entry.at("shape").into(dims);
  entry.at("element_type").into(tensor.elementType);
  tensor.dataType = tensor.elementType;
  for (auto [key, text] : {std::pair("stored_type", &tensor.dataType), std::pair("begins", &tensor.begins)})
    if (std::optional<JsonReader> member = entry.find(key))
      member->into(*text);
  entry.at("sharding").into(tensor.sharding);
  if (entry.hasFailed())
    return;
  if (!elementBitsOf(tensor.dataType))
    return entry.fail("'" + tensor.dataType + "' is no element type");
  auto [found, isNew] = known.try_emplace({dims, tensor.sharding}, stage.layouts.size());
  tensor.layout = found->second;
  if (isNew) {
    TensorShape shape{{dims.begin(), dims.end()}, 8};
    if (llvm::any_of(dims, [](int64_t size) { return size < 0; }))
      return entry.at("shape").failExpecting("a list of sizes");
    auto sharding = Sharding::parse(tensor.sharding, stage.mesh);
    llvm::Error error = sharding ? check(*sharding, shape, stage.mesh) : sharding.takeError();
    if (error)
      return entry.at("sharding").fail(takeMessage(std::move(error)).second);
    stage.layouts.push_back(layoutOf(shape, *sharding, stage.mesh));
  }
  tensor.isWhole = !isStoredInPieces(stage.layouts[tensor.layout], *elementBitsOf(tensor.dataType), tensor.dataType);
  readPlaces(entry, tensor);
  stage.tensors.push_back(std::move(tensor));
}

void StageReader::readPlaces(JsonReader entry, SavedTensor &tensor) {
  if (std::optional<JsonReader> whole = entry.find("whole_in_file")) {
    tensor.isInFiles = tensor.isWhole = true;
    tensor.fileOfShard = {fileWithin(*whole, whole->get<int64_t>())};
  }
  std::optional<JsonReader> places = entry.find("file_of_shard");
  if (!places)
    return;
  tensor.isInFiles = true;
  places->forEach([&](JsonReader place) {
    tensor.fileOfShard.push_back(fileWithin(place, std::max<int64_t>(place.get<int64_t>(), -1)));
  });
  const ByteLayout &layout = stage.layouts[tensor.layout];
  if (tensor.isWhole || tensor.fileOfShard.size() != layout.shards.size())
    return places->fail("sharding '" + tensor.sharding + "' has " + llvm::Twine(layout.shards.size()) +
                        " pieces, files are given for " + llvm::Twine(tensor.fileOfShard.size()));
  for (auto [shard, file] : llvm::zip_equal(layout.shards, tensor.fileOfShard))
    if (!file && !llvm::is_contained(shard.count, 0))
      return places->fail("a piece that is not empty is in no file");
}

void readHead(JsonReader root, SavedWeights &saved) {
  int64_t version = 0;
  root.at("version").into(version);
  if (version != manifestVersion && !root.hasFailed())
    root.at("version").failExpecting("version " + llvm::Twine(manifestVersion));
  root.at("model").at("path").into(saved.modelPath);
  root.at("model").at("sha256").into(saved.modelSha256);
  if (std::optional<JsonReader> steps = root.find("steps"))
    steps->intoWithin<int64_t>(saved.steps, 0, INT64_MAX);
}

llvm::Error readStage(llvm::StringRef folder, SavedWeights &saved, SavedStage &stage) {
  std::string path = pathOf(pathOf(folder, stage.folder), "manifest.json");
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  auto document = JsonDocument::parse(*text, path);
  if (!document)
    return document.takeError();
  readHead(document->root(), saved);
  StageReader(stage, saved).read(document->root());
  return document->takeError();
}

} // namespace

int64_t SavedWeights::numRanks() const {
  int64_t ranks = 0;
  for (const SavedStage &stage : stages)
    ranks = std::max(ranks, stage.firstRank + stage.mesh.numDevices());
  return ranks;
}

std::optional<unsigned> elementBitsOf(llvm::StringRef type) {
  unsigned bits = 0;
  llvm::StringRef number = type.drop_while([](char c) { return llvm::isAlpha(c); });
  if (number.size() == type.size() || number.take_while([](char c) { return llvm::isDigit(c); }).getAsInteger(10, bits))
    return std::nullopt;
  return type == "i1" ? 8 : bits; // a byte holds a bool
}

llvm::Expected<SavedWeights> readSavedWeights(llvm::StringRef folder) {
  SavedWeights saved;
  saved.path = folder.str();
  std::string path = pathOf(folder, "manifest.json");
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  auto document = JsonDocument::parse(*text, path);
  if (!document)
    return document.takeError();
  readHead(document->root(), saved);
  if (std::optional<JsonReader> stages = document->root().find("stages")) {
    saved.hasPipeline = true;
    stages->forEach([&](JsonReader entry) {
      SavedStage &stage = saved.stages.emplace_back();
      entry.at("folder").into(stage.folder);
      entry.at("first_rank").intoWithin<int64_t>(stage.firstRank, 0, mostDevices);
      if (stage.folder != stageFolderName(saved.stages.size() - 1))
        entry.at("folder").failExpecting(stageFolderName(saved.stages.size() - 1));
    });
  } else {
    StageReader(saved.stages.emplace_back(), saved).read(document->root());
  }
  if (llvm::Error error = document->takeError())
    return error;
  for (SavedStage &stage : saved.stages)
    if (llvm::Error error = saved.hasPipeline ? readStage(folder, saved, stage) : llvm::Error::success())
      return error;
  return saved;
}

std::vector<WeightFile> assignFiles(SavedStage &stage) {
  std::vector<PlacedTensor> placed;
  for (const SavedTensor &tensor : stage.tensors)
    placed.push_back({tensor.layout, tensor.isWhole, tensor.isInFiles});
  PieceFiles assigned = assignPieces(placed, stage.layouts, stage.mesh.numDevices());
  for (auto [tensor, files] : llvm::zip_equal(stage.tensors, assigned.fileOfShard))
    tensor.fileOfShard = std::move(files);
  stage.files.clear();
  for (size_t file = 0; file < assigned.files.size(); ++file)
    stage.files.push_back(weightFileName(file));
  return std::move(assigned.files);
}

} // namespace apc
