// The files of a checkpoint, each written from its begin to its end.
#include "PieceCopier.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

namespace apc {

namespace {

constexpr llvm::StringLiteral acceptedFolder =
    "a folder that does not exist, is empty, or holds nothing but an earlier checkpoint (as its manifest.json says)";

/// The files and folders of the checkpoint in `folder`, as its manifests list them; those of folders end with a slash.
/// Empty where there is none.
llvm::StringSet<> entriesOfCheckpoint(llvm::StringRef folder) {
  llvm::StringSet<> entries;
  llvm::Expected<SavedWeights> saved = readSavedWeights(folder);
  if (!saved) {
    llvm::consumeError(saved.takeError());
    return entries;
  }
  entries.insert("manifest.json");
  for (const SavedStage &stage : saved->stages) {
    std::string prefix = stage.folder.empty() ? "" : stage.folder + "/";
    for (const char *name : {"", "manifest.json", "weights/"})
      entries.insert(prefix + name);
    for (const std::string &file : stage.files)
      entries.insert(prefix + file);
  }
  return entries;
}

/// A stage of the source with the places of all pieces in its files.
struct OpenedStage {
  std::vector<std::string> paths;            ///< of files
  std::vector<std::vector<StoredAt>> pieces; ///< by tensor and shard
};

/// The place of one piece, which must be in the file as the manifest says.
llvm::Expected<StoredAt> findPiece(const SavedStage &stage, const SavedTensor &tensor, std::optional<unsigned> shard,
                                   const llvm::StringMap<FoundTensor> &found, const std::string &path) {
  StoredPiece wanted =
      storedPiece(tensor.name, tensor.dataType, *elementBitsOf(tensor.dataType), stage.layouts[tensor.layout], shard);
  auto entry = found.find(tensor.name);
  if (entry == found.end())
    return inputError("{0}: does not hold '{1}', which the manifest says is in it", path, tensor.name);
  const FoundTensor &piece = entry->second;
  if (piece.type != wanted.entry.type || piece.shape != wanted.entry.shape || piece.bytes != wanted.entry.bytes)
    return inputError("{0}: tensor '{1}' is {2} {3}, the piece of the manifest {4} {5}", path, tensor.name, piece.type,
                      shapeText(piece.shape), wanted.entry.type, shapeText(wanted.entry.shape));
  return StoredAt{&path, piece.offset};
}

llvm::Expected<OpenedStage> openStage(const SavedWeights &saved, const SavedStage &stage) {
  OpenedStage opened;
  for (const std::string &name : stage.files) {
    llvm::SmallString<128> path(saved.path);
    llvm::sys::path::append(path, stage.folder, name);
    opened.paths.push_back(path.str().str());
  }
  for (const SavedTensor &tensor : stage.tensors)
    opened.pieces.emplace_back(tensor.fileOfShard.size());
  for (auto [file, path] : llvm::enumerate(opened.paths)) {
    auto found = readSafetensorsHeader(path);
    if (!found)
      return found.takeError();
    for (auto [tensor, pieces] : llvm::zip_equal(stage.tensors, opened.pieces))
      for (auto [shard, place] : llvm::enumerate(tensor.fileOfShard)) {
        if (place != static_cast<unsigned>(file))
          continue;
        auto piece =
            findPiece(stage, tensor, tensor.isWhole ? std::nullopt : std::optional<unsigned>(shard), *found, path);
        if (!piece)
          return piece.takeError();
        pieces[shard] = *piece;
      }
  }
  return opened;
}

llvm::Expected<std::vector<OpenedStage>> openSource(const SavedWeights &saved) {
  std::vector<OpenedStage> opened;
  for (const SavedStage &stage : saved.stages) {
    auto own = openStage(saved, stage);
    if (!own)
      return own.takeError();
    opened.push_back(std::move(*own));
  }
  return opened;
}

class ReshardWriter {
public:
  ReshardWriter(const ReshardPlan &plan, OutputFolder &out) : plan(plan), out(out) {}

  llvm::Error run();

private:
  llvm::Error writeStage(size_t number);
  llvm::Error writeFile(size_t number, const std::string &name, const WeightFile &file);

  const ReshardPlan &plan;
  OutputFolder &out;
  std::vector<OpenedStage> opened;
  SourcePool pool;
};

llvm::Error ReshardWriter::run() {
  auto source = openSource(plan.from);
  if (!source)
    return source.takeError();
  opened = std::move(*source);
  for (size_t stage = 0; stage < plan.to.stages.size(); ++stage)
    if (llvm::Error error = writeStage(stage))
      return error;
  return plan.to.hasPipeline ? out.write("manifest.json", printSavedStages(plan.to)) : llvm::Error::success();
}

llvm::Error ReshardWriter::writeStage(size_t number) {
  const SavedStage &stage = plan.to.stages[number];
  std::string prefix = stage.folder.empty() ? "" : stage.folder + "/";
  for (auto [name, file] : llvm::zip_equal(stage.files, plan.files[number]))
    if (llvm::Error error = writeFile(number, prefix + name, file))
      return error;
  return out.write(prefix + "manifest.json", printSavedStage(plan.to, stage));
}

llvm::Error ReshardWriter::writeFile(size_t number, const std::string &name, const WeightFile &file) {
  const SavedStage &stage = plan.to.stages[number];
  auto written = out.open(name);
  if (!written)
    return written.takeError();
  std::vector<StoredPiece> pieces;
  for (WeightFile::Piece piece : file.pieces) {
    const SavedTensor &tensor = stage.tensors[piece.tensor];
    pieces.push_back(storedPiece(tensor.name, tensor.dataType, *elementBitsOf(tensor.dataType),
                                 stage.layouts[tensor.layout],
                                 tensor.isWhole ? std::nullopt : std::optional(piece.shard)));
  }
  if (llvm::Error error = (*written)->write(pieceFileHeader(pieces)))
    return error;
  for (WeightFile::Piece piece : file.pieces) {
    if (llvm::Error error = out.checkInterrupt())
      return error;
    const ReshardSource &source = plan.sources[number][piece.tensor];
    PieceCopier copier(plan.maps[source.map], opened[source.stage].pieces[source.tensor], pool, **written);
    if (llvm::Error error = copier.run(stage.tensors[piece.tensor].isWhole ? 0 : piece.shard))
      return error;
  }
  return (*written)->close();
}

} // namespace

llvm::Error checkSource(const ReshardPlan &plan) {
  if (plan.isOfPlans)
    return llvm::Error::success();
  return openSource(plan.from).takeError();
}

llvm::Error writeResharded(const ReshardPlan &plan, llvm::StringRef folder) {
  if (plan.isOfPlans)
    return inputError("{0}: has no weights; 'apc emit PLAN --weights' writes them, and a run of the program saves a "
                      "checkpoint",
                      plan.from.path);
  const llvm::StringSet<> earlier = entriesOfCheckpoint(folder);
  auto judge = [&](llvm::StringRef name) {
    return earlier.contains(name) ? OutputFolder::Entry::Replaced : OutputFolder::Entry::Foreign;
  };
  auto out = OutputFolder::create(folder, judge, acceptedFolder);
  if (!out)
    return out.takeError();
  if (llvm::Error error = ReshardWriter(plan, *out).run())
    return error;
  return out->commit();
}

} // namespace apc
