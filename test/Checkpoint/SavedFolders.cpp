// Elements by number, boxes by loops.
#include "SavedFolders.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <nlohmann/json.hpp>

using Json = nlohmann::json;

namespace apc::test {

namespace {

int64_t bytesOf(const std::vector<int64_t> &dims, unsigned bits) {
  int64_t elements = 1;
  for (int64_t size : dims)
    elements *= size;
  return (elements * bits + 7) / 8;
}

/// Calls `visit` with the number in the whole tensor of each element of a box, row-major.
template <typename List>
void eachElement(const std::vector<int64_t> &dims, const List &begin, const List &count,
                 llvm::function_ref<void(int64_t)> visit, size_t dim = 0, int64_t number = 0) {
  if (dim == dims.size())
    return visit(number);
  for (int64_t i = 0; i < static_cast<int64_t>(count[dim]); ++i)
    eachElement(dims, begin, count, visit, dim + 1, number * dims[dim] + static_cast<int64_t>(begin[dim]) + i);
}

Json manifestOf(const StageText &stage, const std::string &sha) {
  Json manifest = {{"version", 1}, {"format", "mlir"}, {"model", {{"path", "m.onnx"}, {"sha256", sha}}}};
  manifest["mesh"] = Json::array();
  for (size_t axis = 0; axis < stage.mesh.size(); ++axis)
    manifest["mesh"].push_back({{"name", "x" + std::to_string(axis)}, {"size", stage.mesh[axis]}});
  manifest["parameters"] = Json::array();
  for (const TensorText &tensor : stage.tensors) {
    Json entry = {{"name", tensor.name}, {"shape", tensor.dims}, {"element_type", tensor.type}};
    entry["sharding"] = tensor.sharding;
    if (!tensor.begins.empty())
      entry["begins"] = tensor.begins;
    manifest["parameters"].push_back(entry);
  }
  return manifest;
}

std::string dataOf(const SavedStage &stage, const WeightFile &file) {
  std::string data;
  for (WeightFile::Piece piece : file.pieces) {
    const SavedTensor &tensor = stage.tensors[piece.tensor];
    const ByteLayout &layout = stage.layouts[tensor.layout];
    std::vector<int64_t> dims(layout.shape.dims.begin(), layout.shape.dims.end());
    unsigned bits = *elementBitsOf(tensor.dataType);
    if (tensor.isWhole) {
      for (int64_t byte = 0; byte < bytesOf(dims, bits); ++byte)
        data += byteOf(tensor.name, byte);
      continue;
    }
    const Shard &shard = layout.shards[piece.shard];
    eachElement(dims, shard.begin, shard.count, [&](int64_t element) {
      for (int64_t byte = 0; byte < bits / 8; ++byte)
        data += byteOf(tensor.name, element * (bits / 8) + byte);
    });
  }
  return data;
}

std::string headerOf(const SavedStage &stage, const WeightFile &file) {
  std::vector<StoredPiece> pieces;
  for (WeightFile::Piece piece : file.pieces) {
    const SavedTensor &tensor = stage.tensors[piece.tensor];
    pieces.push_back(storedPiece(tensor.name, tensor.dataType, *elementBitsOf(tensor.dataType),
                                 stage.layouts[tensor.layout],
                                 tensor.isWhole ? std::nullopt : std::optional(piece.shard)));
  }
  return pieceFileHeader(pieces);
}

/// Counts, by tensor, how often each byte has been found in the files.
class ElementCounter {
public:
  explicit ElementCounter(const StageText &stage) {
    for (const TensorText &tensor : stage.tensors) {
      texts[tensor.name] = tensor;
      times[tensor.name].resize(static_cast<size_t>(bytesOf(tensor.dims, *elementBitsOf(tensor.type))));
    }
  }

  void readFile(const std::string &path) {
    std::string content = valueOf(apc::readFile(path));
    size_t length = 0;
    for (size_t byte = 8; byte-- > 0;)
      length = length << 8 | static_cast<unsigned char>(content[byte]);
    Json header = Json::parse(content.substr(8, length));
    Json info = Json::parse(header["__metadata__"]["DCP_SHARDING_INFO"].get<std::string>());
    for (const auto &[name, entry] : header.items())
      if (name != "__metadata__")
        readPiece(name, entry, info[name]["saved_offsets"], content.substr(8 + length));
  }

  void checkOnce() const {
    for (const auto &[name, counts] : times) {
      INFO(name);
      CHECK(llvm::all_of(counts, [](unsigned count) { return count == 1; }));
    }
  }

private:
  void readPiece(const std::string &name, const Json &entry, const Json &begin, const std::string &data) {
    INFO(name);
    REQUIRE(texts.count(name) == 1);
    std::vector<int64_t> dims = texts[name].dims, count = entry["shape"];
    int64_t bytes = *elementBitsOf(texts[name].type) / 8;
    if (bytes == 0) { // a row of bytes
      bytes = 1;
      dims = {static_cast<int64_t>(times[name].size())};
    }
    size_t at = entry["data_offsets"][0];
    bool agrees = true;
    eachElement(dims, begin.get<std::vector<int64_t>>(), count, [&](int64_t element) {
      for (int64_t byte = element * bytes; byte < (element + 1) * bytes; ++byte) {
        agrees &= data.at(at++) == byteOf(name, byte);
        ++times[name].at(static_cast<size_t>(byte));
      }
    });
    CHECK(agrees);
    CHECK(at == entry["data_offsets"][1].get<size_t>());
  }

  std::map<std::string, TensorText> texts;
  std::map<std::string, std::vector<unsigned>> times;
};

std::string folderOf(const std::string &folder, size_t stage, size_t numStages) {
  return numStages == 1 ? folder : folder + "/" + stageFolderName(stage);
}

} // namespace

char byteOf(const std::string &name, int64_t number) {
  uint64_t mixed = static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15 + name.size() * 977;
  for (char c : name)
    mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<char>(mixed >> 29);
}

void writeProgram(const std::string &folder, const std::vector<StageText> &stages, const std::string &sha) {
  Json above = manifestOf(stages.front(), sha);
  above["stages"] = Json::array();
  int64_t first = 0;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    Json manifest = manifestOf(stages[stage], sha);
    require(writeFileAtomically(folderOf(folder, stage, stages.size()) + "/manifest.json", manifest.dump()));
    above["stages"].push_back({{"folder", stageFolderName(stage)}, {"first_rank", first}});
    int64_t devices = 1;
    for (int64_t size : stages[stage].mesh)
      devices *= size;
    first += devices;
  }
  if (stages.size() > 1)
    require(writeFileAtomically(folder + "/manifest.json", above.dump()));
}

void writeCheckpoint(const std::string &folder, const std::vector<StageText> &stages, int64_t steps) {
  writeProgram(folder, stages);
  SavedWeights saved = valueOf(readSavedWeights(folder));
  saved.steps = steps;
  for (SavedStage &stage : saved.stages) {
    for (SavedTensor &tensor : stage.tensors)
      tensor.isInFiles = true;
    std::string prefix = folder + "/" + (stage.folder.empty() ? "" : stage.folder + "/");
    for (auto [number, file] : llvm::enumerate(assignFiles(stage)))
      require(writeFileAtomically(prefix + stage.files[number], headerOf(stage, file) + dataOf(stage, file)));
    require(writeFileAtomically(prefix + "manifest.json", printSavedStage(saved, stage)));
  }
  if (saved.hasPipeline)
    require(writeFileAtomically(folder + "/manifest.json", printSavedStages(saved)));
}

void checkElements(const std::string &folder, const std::vector<StageText> &stages) {
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    ElementCounter counter(stages[stage]);
    std::string weights = folderOf(folder, stage, stages.size()) + "/weights";
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(weights, code), end; !code && it != end; it.increment(code))
      counter.readFile(it->path());
    counter.checkOnce();
  }
}

std::map<std::string, std::string> hashesOf(const std::string &folder) {
  std::map<std::string, std::string> hashes;
  std::error_code code;
  for (llvm::sys::fs::recursive_directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
    if (!llvm::sys::fs::is_directory(it->path()))
      hashes[it->path().substr(folder.size())] = sha256Hex(valueOf(readFile(it->path())));
  return hashes;
}

ReshardPlan planOf(const std::string &from, const std::string &to) {
  return valueOf(planReshard(valueOf(readSavedWeights(from)), valueOf(readSavedWeights(to))));
}

void reshard(const std::string &from, const std::string &to, const std::string &folder) {
  require(writeResharded(planOf(from, to), folder));
}

} // namespace apc::test
