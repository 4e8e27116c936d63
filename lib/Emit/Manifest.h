// The part of the parameters that each rank reads.
#pragma once

#include "apc/Emit/ByteRanges.h"
#include "apc/Emit/Emit.h"

namespace apc {

/// A parameter of the program.
struct ManifestParameter {
  std::string name;
  std::string elementType; ///< "f32"
  size_t layout = 0;       ///< index into Manifest::layouts
  ParameterData data;
  int64_t shardBytes = 0;  ///< of the piece of one rank, padding included
  int64_t shardOffset = 0; ///< in the rank's weight file
};

/// An input or output of the program: the piece of each rank, so that a loader reads no more than its own.
struct ManifestValue {
  std::string name;
  std::string elementType; ///< "i64"
  size_t layout = 0;       ///< index into Manifest::layouts
};

/// All of manifest.json.
struct Manifest {
  std::string format;
  Mesh mesh;
  int64_t microBatches = 1; ///< runs of what stands above `micro_batch_end`, each with inputs of its own
  std::vector<ByteLayout> layouts;
  std::vector<ManifestParameter> parameters;
  std::vector<ManifestValue> inputs, outputs; ///< in the order of `main`
  /// Ranks that hold the same shards share a weight file; all have one size, as all pieces do.
  std::vector<unsigned> fileOfRank;
  std::vector<int64_t> rankOfFile; ///< the first rank of each
  int64_t fileBytes = 0;
};

/// "weights/0003.bin".
std::string weightFileName(size_t file);

/// Reads parameters off the program. Errors (input): a parameter whose data has another length than its shape says.
llvm::Expected<Manifest> makeManifest(const EmitRequest &request, llvm::StringRef format);

/// JSON with a line for each parameter and layout.
std::string printManifest(const Manifest &manifest, const EmitRequest &request);

} // namespace apc
