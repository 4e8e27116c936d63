// The files that hold the pieces of tensors: which piece is in which file, and how a file begins.
#pragma once

#include "apc/Checkpoint/ByteRanges.h"
#include "apc/Checkpoint/Safetensors.h"

#include <optional>

namespace apc {

/// A file of weights: the pieces that a rank holds and no rank before it.
struct WeightFile {
  struct Piece {
    unsigned tensor = 0;
    unsigned shard = 0;
  };
  int64_t rank = 0;
  std::vector<Piece> pieces;
};

/// A tensor that files are to hold.
struct PlacedTensor {
  size_t layout = 0;
  bool isWhole = false;  ///< in one file, whole
  bool isInFiles = true; ///< false: it is in no file, as states that begin with zeros
};

/// Files, and for each tensor those of its pieces, by shard: none for shards of padding alone. A tensor that is whole
/// in one file has one entry.
struct PieceFiles {
  std::vector<WeightFile> files;
  std::vector<std::vector<std::optional<unsigned>>> fileOfShard;
};

/// Each piece in the file of the first rank that holds it. On 2 devices a tensor cut in halves and one that both hold:
/// file 0 has the first half and the other tensor, file 1 the second half.
PieceFiles assignPieces(llvm::ArrayRef<PlacedTensor> tensors, llvm::ArrayRef<ByteLayout> layouts, int64_t numRanks);

/// True where each piece is one box of whole bytes that the format has a type for ("f32"). Others are stored whole.
bool isStoredInPieces(const ByteLayout &layout, unsigned elementBits, llvm::StringRef type);

/// "[24, 96]"
std::string shapeText(llvm::ArrayRef<int64_t> dims);

/// "weights/shard-00003-model-00001-of-00001.safetensors" of the file with number 2: PyTorch's distributed checkpoint
/// reads such names as pieces of one model.
std::string weightFileName(size_t file);

/// "stage-0003": the folder of a pipeline's stage.
std::string stageFolderName(size_t stage);

/// A piece as a file describes it: its box without padding, and where that begins in the tensor.
struct StoredPiece {
  SafetensorsEntry entry;
  llvm::SmallVector<int64_t, 4> begin;
};

/// `shard` is none for a tensor that is stored whole; without a type of the format, or with elements smaller than a
/// byte, such a tensor is a row of bytes.
StoredPiece storedPiece(llvm::StringRef name, llvm::StringRef type, unsigned elementBits, const ByteLayout &layout,
                        std::optional<unsigned> shard);

/// Everything before the data. The metadata `DCP_SHARDING_INFO` say where pieces begin.
std::string pieceFileHeader(llvm::ArrayRef<StoredPiece> pieces);

} // namespace apc
