// Finds weights that a file holds twice.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace apc {

/// A parameter by its name in the file. Row-major, `elementBytes` for each element.
struct WeightShape {
  std::string name;
  std::string element; ///< type of the elements; only weights of one type can be equal
  std::vector<int64_t> dims;
  int64_t elementBytes = 0;
};

/// `second` holds the numbers of `first`, or of its transpose.
struct EqualWeights {
  std::string first, second;
  bool isTransposed = false;
};

/// Pairs among `weights` whose bytes in the files of the model agree one by one, in the order of `second`; where three
/// are equal, the first of them stands in both pairs. Weights of two dims are also compared with transposes:
///
///   embedding [101, 24], head [24, 101]     {embedding, head, transposed}
///
/// Left out are weights whose numbers are all the same (fresh zeros say nothing), those without a range of bytes
/// (`locateWeights`), and those whose file is absent or too short. A few elements of each weight tell most of them
/// apart; the others are read once for each pair, with buffers of 2 MiB at most. Errors (input) are those of
/// `locateWeights`.
llvm::Expected<std::vector<EqualWeights>> findEqualWeights(llvm::StringRef modelPath,
                                                           llvm::ArrayRef<WeightShape> weights);

} // namespace apc
