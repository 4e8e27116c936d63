// Weights cut anew for another layout: seconds and peak memory of the plan and of the copy, in real size. Each row runs
// in a process of its own, so that its peak memory is its own.
//
//   bench-ReshardBench FROM TO [DIR]      FROM, TO: folders of emitted programs of one model
//
// With DIR, a checkpoint of FROM with random elements is written there, cut for TO, its elements are looked at one by
// one, and it is cut for FROM again, whose files must be the first ones (SHA-256). The first checkpoint goes before the
// last is written: DIR needs twice the bytes of the weights.
#include "OwnProcess.h"

#include "apc/Checkpoint/Reshard.h"
#include "apc/Checkpoint/WeightSource.h"
#include "apc/Support/Error.h"
#include "apc/Support/OutputFolder.h"
#include "apc/Support/TextTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

#include <chrono>

using namespace apc;

namespace {

using Cells = std::vector<std::string>;

uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// The elements of a box, row by row of the last dim: `visit` gets the number of the first in the tensor, and how many.
llvm::Error eachRow(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> begin, llvm::ArrayRef<int64_t> count,
                    llvm::function_ref<llvm::Error(int64_t, int64_t)> visit, size_t dim = 0, int64_t number = 0) {
  if (dims.empty())
    return visit(0, 1);
  if (dim + 1 == dims.size())
    return visit(number * dims[dim] + begin[dim], count[dim]);
  for (int64_t i = 0; i < count[dim]; ++i)
    if (llvm::Error error = eachRow(dims, begin, count, visit, dim + 1, number * dims[dim] + begin[dim] + i))
      return error;
  return llvm::Error::success();
}

/// The bytes of elements [first, first + count) of a tensor.
void fill(std::string &row, const SavedTensor &tensor, int64_t first, int64_t count) {
  size_t bytes = *elementBitsOf(tensor.dataType) / 8;
  uint64_t seed = mixed(llvm::hash_value(llvm::StringRef(tensor.name)));
  row.resize(static_cast<size_t>(count) * bytes);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    uint64_t word = mixed(seed + static_cast<uint64_t>(first) + i);
    std::memcpy(row.data() + i * bytes, &word, bytes);
  }
}

llvm::Error writeRandom(SavedWeights saved, const std::string &folder) {
  auto out = OutputFolder::create(folder, [](llvm::StringRef) { return OutputFolder::Entry::Foreign; }, "a new folder");
  if (!out)
    return out.takeError();
  std::string row;
  for (SavedStage &stage : saved.stages) {
    for (SavedTensor &tensor : stage.tensors)
      tensor.isInFiles = true;
    std::string prefix = stage.folder.empty() ? "" : stage.folder + "/";
    for (auto [number, file] : llvm::enumerate(assignFiles(stage))) {
      auto written = out->open(prefix + stage.files[number]);
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
      for (auto [piece, stored] : llvm::zip_equal(file.pieces, pieces)) {
        const SavedTensor &tensor = stage.tensors[piece.tensor];
        if (llvm::Error error = eachRow(stage.layouts[tensor.layout].shape.dims, stored.begin, stored.entry.shape,
                                        [&](int64_t first, int64_t count) {
                                          fill(row, tensor, first, count);
                                          return (*written)->write(row);
                                        }))
          return error;
      }
      if (llvm::Error error = (*written)->close())
        return error;
    }
    if (llvm::Error error = out->write(prefix + "manifest.json", printSavedStage(saved, stage)))
      return error;
  }
  if (saved.hasPipeline)
    if (llvm::Error error = out->write("manifest.json", printSavedStages(saved)))
      return error;
  return out->commit();
}

/// Calls `visit` with each file of weights, in order: its path below `folder`, and its bytes.
llvm::Error eachFile(const SavedWeights &saved,
                     llvm::function_ref<llvm::Error(const SavedStage &, size_t, const std::string &)> visit) {
  for (const SavedStage &stage : saved.stages)
    for (auto [number, name] : llvm::enumerate(stage.files))
      if (llvm::Error error = visit(stage, number, saved.path + "/" + stage.folder + "/" + name))
        return error;
  return llvm::Error::success();
}

/// Elements that differ from those of `writeRandom`.
llvm::Error checkElements(const SavedWeights &saved) {
  std::string row;
  return eachFile(saved, [&](const SavedStage &stage, size_t number, const std::string &path) -> llvm::Error {
    auto found = readSafetensorsHeader(path);
    if (!found)
      return found.takeError();
    WeightSource source;
    if (llvm::Error error = source.open(path))
      return error;
    for (const SavedTensor &tensor : stage.tensors)
      for (auto [shard, file] : llvm::enumerate(tensor.fileOfShard)) {
        if (file != static_cast<unsigned>(number))
          continue;
        const ByteLayout &layout = stage.layouts[tensor.layout];
        const FoundTensor &piece = found->find(tensor.name)->second;
        int64_t at = piece.offset;
        llvm::SmallVector<int64_t> begin(layout.shape.dims.size(), 0);
        if (!tensor.isWhole)
          begin.assign(layout.shards[shard].begin.begin(), layout.shards[shard].begin.end());
        if (llvm::Error error = eachRow(layout.shape.dims, begin, piece.shape, [&](int64_t first, int64_t count) {
              fill(row, tensor, first, count);
              auto text = source.read(at, static_cast<int64_t>(row.size()), 0);
              if (!text)
                return text.takeError();
              at += static_cast<int64_t>(row.size());
              return *text == row ? llvm::Error::success()
                                  : inputError("{0}: '{1}' has other elements from {2} on", path, tensor.name, first);
            }))
          return error;
      }
    return llvm::Error::success();
  });
}

/// One hash of all files of weights.
llvm::Expected<std::string> hashOf(llvm::StringRef folder) {
  auto saved = readSavedWeights(folder);
  if (!saved)
    return saved.takeError();
  llvm::SHA256 hash;
  if (llvm::Error error = eachFile(*saved, [&](const SavedStage &, size_t, const std::string &path) -> llvm::Error {
        uint64_t size = 0;
        if (std::error_code code = llvm::sys::fs::file_size(path, size))
          return llvm::errorCodeToError(code);
        WeightSource source;
        if (llvm::Error error = source.open(path))
          return error;
        for (int64_t at = 0, end = static_cast<int64_t>(size); at < end; at += WeightSource::windowBytes) {
          auto text = source.read(at, std::min(WeightSource::windowBytes, end - at), 0);
          if (!text)
            return text.takeError();
          hash.update(*text);
        }
        return llvm::Error::success();
      }))
    return error;
  return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 16);
}

llvm::Expected<std::string> planned(const std::string &from, const std::string &to, const std::string &folder) {
  auto source = readSavedWeights(from), target = readSavedWeights(to);
  if (!source)
    return source.takeError();
  if (!target)
    return target.takeError();
  auto plan = planReshard(std::move(*source), std::move(*target));
  if (!plan)
    return plan.takeError();
  int64_t bytes = 0, boxes = 0;
  for (const ReshardedFile &file : describeFiles(*plan)) {
    bytes += file.bytes;
    boxes += file.boxes;
  }
  if (!folder.empty())
    if (llvm::Error error = writeResharded(*plan, folder))
      return error;
  return formatBytes(static_cast<double>(bytes)) + " in " + std::to_string(boxes) + " boxes, " +
         std::to_string(plan->maps.size()) + " maps";
}

/// A row: the text that `work` gives, or its error; seconds, processor seconds, peak memory.
Cells measure(llvm::StringRef title, llvm::function_ref<llvm::Expected<std::string>()> work) {
  return inOwnProcess([&] {
    auto start = std::chrono::steady_clock::now();
    llvm::Expected<std::string> text = work();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::string said = text ? *text : "error: " + takeMessage(text.takeError()).second;
    return Cells{title.str(), said, formatSeconds(seconds), formatSeconds(processorSeconds()), peakMemory()};
  });
}

llvm::Expected<std::string> done(llvm::Error error, llvm::StringRef text) {
  if (error)
    return std::move(error);
  return text.str();
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    llvm::errs() << "bench-ReshardBench FROM TO [DIR]\n";
    return 2;
  }
  std::string from = argv[1], to = argv[2], folder = argc > 3 ? argv[3] : "";
  TextTable table;
  for (const char *title : {"what", "result"})
    table.addColumn(title);
  for (const char *title : {"time", "processor", "peak memory"})
    table.addColumn(title, TextTable::Align::Right);
  table.addRow(measure("plan", [&] { return planned(from, to, ""); }));
  if (!folder.empty()) {
    std::string first = folder + "/from", there = folder + "/there", back = folder + "/back";
    table.addRow(measure("write random weights", [&]() -> llvm::Expected<std::string> {
      auto saved = readSavedWeights(from);
      return saved ? done(writeRandom(std::move(*saved), first), "written") : saved.takeError();
    }));
    table.addRow(measure("SHA-256", [&] { return hashOf(first); }));
    table.addRow(measure("reshard", [&] { return planned(first, to, there); }));
    table.addRow(measure("look at each element", [&]() -> llvm::Expected<std::string> {
      auto saved = readSavedWeights(there);
      return saved ? done(checkElements(*saved), "as written") : saved.takeError();
    }));
    (void)llvm::sys::fs::remove_directories(first);
    table.addRow(measure("reshard back", [&] { return planned(there, from, back); }));
    table.addRow(measure("SHA-256", [&] { return hashOf(back); }));
    for (const std::string &made : {there, back})
      (void)llvm::sys::fs::remove_directories(made);
  }
  table.print(llvm::outs());
  return 0;
}
