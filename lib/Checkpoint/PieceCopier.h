// One piece of a tensor, put together from pieces of others and written from its begin to its end.
#pragma once

#include "apc/Checkpoint/Reshard.h"
#include "apc/Checkpoint/WeightSource.h"
#include "apc/Support/OutputFolder.h"

#include <memory>

namespace apc {

/// Where a piece of the source stands.
struct StoredAt {
  const std::string *path = nullptr;
  int64_t offset = 0;
};

/// Files that are open for reading, each with a window. The same source is asked for again and again while rows of the
/// target are put together, so there is one for each of the pieces that take part in a row.
class SourcePool {
public:
  /// For rows of `numSources` pieces. Windows share 32 MiB.
  void fitTo(size_t numSources);
  /// `length` bytes at `offset` of `path`; `gap` as WeightSource has it. `use` is given the bytes, in runs, or the
  /// number of zeros where the file has a hole.
  llvm::Error read(size_t source, const std::string &path, int64_t offset, int64_t length, int64_t gap,
                   OutputFile &out);

private:
  std::vector<std::unique_ptr<WeightSource>> sources;
  int64_t window = 0;
  bool isCrowded = false; ///< more pieces than windows: runs are read as they are, not ahead
};

/// Copies piece number `shard` of the target.
class PieceCopier {
public:
  PieceCopier(const PieceMap &map, llvm::ArrayRef<StoredAt> pieces, SourcePool &pool, OutputFile &out)
      : map(map), pieces(pieces), pool(pool), out(out) {}

  llvm::Error run(unsigned shard);

private:
  llvm::Error copyDim(size_t dim);
  llvm::Error copyRuns();

  const PieceMap &map;
  llvm::ArrayRef<StoredAt> pieces; ///< of the source, by number
  SourcePool &pool;
  OutputFile &out;
  std::vector<llvm::ArrayRef<PieceMap::Run>> runs; ///< of each dim, those of the piece
  llvm::SmallVector<int64_t, 4> at;                ///< of dims before the innermost: the element at hand
  llvm::SmallVector<unsigned, 4> slice;            ///< and the source's slice that has it
  size_t innermost = 0;                            ///< the dims after it are whole on both sides
  int64_t block = 1;                               ///< bytes of one element of that dim, with all behind it
};

} // namespace apc
