// Pieces by file, and the headers of these files.
#include "apc/Checkpoint/PieceFiles.h"

#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

PieceFiles assignPieces(llvm::ArrayRef<PlacedTensor> tensors, llvm::ArrayRef<ByteLayout> layouts, int64_t numRanks) {
  PieceFiles assigned;
  for (const PlacedTensor &tensor : tensors)
    assigned.fileOfShard.emplace_back(tensor.isWhole ? 1 : layouts[tensor.layout].shards.size());
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    WeightFile file{rank, {}};
    for (auto [index, tensor] : llvm::enumerate(tensors)) {
      const ByteLayout &layout = layouts[tensor.layout];
      unsigned shard = layout.shardOfRank[static_cast<size_t>(rank)];
      bool isEmpty = llvm::is_contained(layout.shards[shard].count, 0) && !tensor.isWhole;
      std::optional<unsigned> &place = assigned.fileOfShard[index][tensor.isWhole ? 0 : shard];
      if (place || isEmpty || !tensor.isInFiles)
        continue;
      place = static_cast<unsigned>(assigned.files.size());
      file.pieces.push_back({static_cast<unsigned>(index), shard});
    }
    if (!file.pieces.empty())
      assigned.files.push_back(std::move(file));
  }
  return assigned;
}

bool isStoredInPieces(const ByteLayout &layout, unsigned elementBits, llvm::StringRef type) {
  bool hasParts = llvm::any_of(layout.shards, [](const Shard &shard) {
    return llvm::any_of(shard.runs, [](const auto &runs) { return runs.size() > 1; });
  });
  return !hasParts && elementBits >= 8 && !safetensorsType(type).empty();
}

std::string shapeText(llvm::ArrayRef<int64_t> dims) {
  return "[" + llvm::join(llvm::map_range(dims, [](int64_t size) { return std::to_string(size); }), ", ") + "]";
}

std::string weightFileName(size_t file) {
  return llvm::formatv("weights/shard-{0,0+5}-model-00001-of-00001.safetensors", file + 1).str();
}

std::string stageFolderName(size_t stage) { return llvm::formatv("stage-{0,0+4}", stage).str(); }

StoredPiece storedPiece(llvm::StringRef name, llvm::StringRef type, unsigned elementBits, const ByteLayout &layout,
                        std::optional<unsigned> shard) {
  TensorShape shape{layout.shape.dims, elementBits};
  StoredPiece piece{{name.str(), safetensorsType(type), {}, 0}, {}};
  if (shard) {
    shape.dims = layout.shards[*shard].count;
    piece.begin = layout.shards[*shard].begin;
  } else if (piece.entry.type.empty() || elementBits < 8) {
    piece.entry.type = "U8";
    shape = {{shape.bytes()}, 8};
    piece.begin = {0};
  } else {
    piece.begin.assign(shape.dims.size(), 0);
  }
  piece.entry.shape.assign(shape.dims.begin(), shape.dims.end());
  piece.entry.bytes = shape.bytes();
  return piece;
}

std::string pieceFileHeader(llvm::ArrayRef<StoredPiece> pieces) {
  std::vector<SafetensorsEntry> entries;
  JsonWriter offsets(0);
  offsets.object([&](JsonObjectWriter &object) {
    for (const StoredPiece &piece : pieces) {
      entries.push_back(piece.entry);
      object.object(piece.entry.name, [&](JsonObjectWriter &entry) { entry("saved_offsets", piece.begin); });
    }
  });
  return safetensorsHeader(entries, {{"DCP_SHARDING_INFO", offsets.take()}, {"DCP_VERSION", "1.0"}, {"format", "pt"}});
}

} // namespace apc
