// The part of the parameters that each rank reads.
#pragma once

#include "apc/Checkpoint/PieceFiles.h"
#include "apc/Emit/Emit.h"
#include "apc/Support/Json/JsonWriter.h"

namespace apc {

/// A parameter of the program.
struct ManifestParameter {
  std::string name;
  std::string elementType; ///< "f32"
  size_t layout = 0;       ///< index into Manifest::layouts
  ParameterData data;
  int64_t shardBytes = 0; ///< of the piece of one rank, padding included
  /// The files (Manifest::weightFiles) that hold the pieces, by shard; none for shards of padding alone. One file,
  /// which holds the whole tensor, where pieces are no boxes (`isStoredWhole`).
  std::vector<std::optional<unsigned>> fileOfShard = {};
  bool isStoredWhole = false;
};

/// An input or output of the program: the piece of each rank, so that a loader reads no more than its own.
struct ManifestValue {
  std::string name;
  std::string elementType; ///< "i64"
  size_t layout = 0;       ///< index into Manifest::layouts
  /// Of an input that has the batch: the dim that carries it.
  std::optional<int64_t> batchDim = {};
  std::string number = {}; ///< of an input that is a number of the step: which (`numberAttribute`)
};

/// A value that a stage receives from another one, or sends.
struct ManifestTransfer {
  ManifestValue value;
  bool isOfStep = false; ///< once a step, not with every micro-batch
};

/// All of manifest.json, or of one stage of it.
struct Manifest {
  Mesh mesh;
  int64_t microBatches = 1; ///< runs of what stands above `micro_batch_end`, each with inputs of its own
  int64_t copies = 1;       ///< so many runs in a row are copies of one micro-batch, which take turns
  std::vector<ByteLayout> layouts;
  std::vector<ManifestParameter> parameters;
  std::vector<ManifestValue> inputs, outputs; ///< in the order of `main`
  std::vector<ManifestTransfer> receives, sends;
  std::vector<WeightFile> weightFiles;
};

/// Reads parameters off a stage. Errors (input): a parameter whose data has another length than its shape says.
llvm::Expected<Manifest> makeManifest(const EmitRequest &request);

/// The lines of a manifest that are not of its stage.
struct ManifestHead {
  std::string format, modelPath, modelSha256;
};

/// The keys that every manifest begins with.
void writeHead(JsonWriter &json, JsonObjectWriter &object, const ManifestHead &head);

/// JSON with a line for each parameter and layout. `axes` are those of the plan's stage.
std::string printManifest(const Manifest &manifest, const ManifestHead &head, llvm::ArrayRef<PlanAxis> axes,
                          bool hasWeights);

/// The manifest of a program with a pipeline: the stages of inputs and outputs, ranks, actions, values between stages.
std::string printPipeline(const Program &program, const ManifestHead &head);

} // namespace apc
