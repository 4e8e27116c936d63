// Weights and states of one layout, cut anew for another.
#pragma once

#include "apc/Checkpoint/SavedWeights.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// How each piece of one layout of a tensor is put together from pieces of another, dim by dim: pieces are products of
/// slices of dims, and so are the boxes that two pieces have in common.
///
///   f32 [6, 4], rows cut in 3, to rows cut in 2: dims[0].runs = {{0, 0, 0, 2}, {0, 1, 2, 1}, {1, 1, 3, 1}, {1, 2, 4,
///   2}} piece 1 is made of the box [3, 4) x [0, 4) of piece 1 and the box [4, 6) x [0, 4) of piece 2
struct PieceMap {
  /// The elements [begin, begin + count) of a dim, which the slice number `from` of the source and `to` of the target
  /// have in common.
  struct Run {
    unsigned to = 0, from = 0;
    int64_t begin = 0, count = 0;
  };
  struct Slice {
    int64_t begin = 0, count = 0;
  };
  struct Dim {
    int64_t size = 0;
    std::vector<Slice> from, to; ///< the slices of the source's and of the target's pieces
    std::vector<Run> runs;       ///< by slice of the target, then by `begin`
  };
  std::vector<Dim> dims;
  int64_t elementBytes = 1;

  /// Slices of the dims of piece number `shard` of the target.
  llvm::SmallVector<unsigned, 4> slicesOf(unsigned shard) const;
  /// Boxes of which piece number `shard` of the target is made.
  int64_t numBoxes(unsigned shard) const;
};

/// A tensor that is stored whole is one piece. With both whole, the tensor is a row of bytes.
PieceMap mapPieces(const ByteLayout &from, bool isFromWhole, const ByteLayout &to, bool isToWhole,
                   unsigned elementBits);

/// Where a tensor of the target comes from.
struct ReshardSource {
  size_t stage = 0;
  size_t tensor = 0;
  size_t map = 0; ///< index into ReshardPlan::maps
};

/// Which bytes go where. The target's stages list what the files will hold; tensors that the source does not have are
/// not `isInFiles` there.
struct ReshardPlan {
  SavedWeights from, to;
  std::vector<PieceMap> maps;                      ///< equal ones once
  std::vector<std::vector<ReshardSource>> sources; ///< by stage and tensor of the target; without meaning for others
  std::vector<std::vector<WeightFile>> files;      ///< by stage of the target
  std::vector<std::string> leftOut;                ///< tensors of the source that the target does not take
  std::vector<std::string> begun;                  ///< states of the target that begin anew
  bool isOfPlans = false; ///< the source has no files yet: the plan is that of a checkpoint of it
};

/// `takes` says how `to` cuts its tensors; its own weights, if it has some, are not looked at. Errors (input) name both
/// folders: another model; weights that `from` does not have; other shapes or types.
llvm::Expected<ReshardPlan> planReshard(SavedWeights from, SavedWeights to);

struct ReshardedFile {
  std::string name; ///< "stage-0001/weights/shard-00001-model-00001-of-00001.safetensors"
  int64_t bytes = 0, boxes = 0;
  size_t pieces = 0;
};
/// Sizes by file, in the order of writing.
std::vector<ReshardedFile> describeFiles(const ReshardPlan &plan);

/// The errors of `writeResharded` that files of the source have: absent, short, or without the pieces that the manifest
/// says. Only their headers are read. Success for a source without files.
llvm::Error checkSource(const ReshardPlan &plan);

/// Writes the checkpoint to `folder`, whole or not at all: manifest.json and weights, of each stage in its own folder.
/// A folder that exists must be empty or hold a checkpoint, which is replaced. Each file is written from its begin to
/// its end and sources are read where its pieces need them: memory does not depend on sizes (buffers of 32 MiB in all).
/// Errors (input): a source without files; files that are absent, short or do not hold the pieces that the manifest
/// says; a folder that may not be replaced; Ctrl-C.
llvm::Error writeResharded(const ReshardPlan &plan, llvm::StringRef folder);

/// Tables for people: both sides, the first files of the target, what is left out.
void printReshard(const ReshardPlan &plan, llvm::StringRef folder, llvm::raw_ostream &os);
/// Keys `from`, `to`, `written` (the folder or null), `steps`, `bytes`, `boxes`, `files` [{name, bytes, pieces,
/// boxes}], `maps` [{element_bytes, dims [{size, from_slices, to_slices, runs [[to, from, begin, count]]}]}],
/// `parameters` [{name, map, from_stage, from_files, to_stage, to_files}], `left_out`, `begin_anew`.
std::string printReshardJson(const ReshardPlan &plan, llvm::StringRef folder);

} // namespace apc
