// Reads a file of weights in runs, with one buffer.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace apc {

/// One file at a time. Runs that stand close together come out of one read.
class WeightSource {
public:
  static constexpr int64_t windowBytes = 4 << 20;

  /// `mostAhead` bytes are read in one call where runs stand close together.
  explicit WeightSource(int64_t mostAhead = windowBytes) : mostAhead(mostAhead) {}
  ~WeightSource();
  WeightSource(const WeightSource &) = delete;
  WeightSource &operator=(const WeightSource &) = delete;

  /// Nothing happens when it is the file that is open.
  llvm::Error open(llvm::StringRef wanted);
  /// `length` <= mostAhead bytes from `offset` on, valid until the next call. `gap` is the distance to the run that
  /// will be asked for next: where it is small, the buffer is filled beyond `length`.
  llvm::Expected<llvm::StringRef> read(int64_t offset, int64_t length, int64_t gap);
  /// True when the file has a hole there: zeros that need not be read.
  bool isHole(int64_t offset, int64_t length);

private:
  int64_t mostAhead;
  std::string path;
  int descriptor = -1;
  std::string window;
  int64_t windowStart = 0;
  struct Extent {
    int64_t begin = 0, end = 0;
  };
  Extent hole, data; ///< those found last
};

} // namespace apc
