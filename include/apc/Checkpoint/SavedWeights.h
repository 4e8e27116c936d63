// Weights and states of the optimizer in files, as manifest.json describes them: of an emitted program, or a
// checkpoint.
#pragma once

#include "apc/Checkpoint/PieceFiles.h"

namespace apc {

/// A parameter or state of a stage.
struct SavedTensor {
  std::string name;
  std::string elementType;                          ///< of the program: "bf16"
  std::string dataType;                             ///< of the data, which the program may round: "f32"
  std::string sharding;                             ///< "[x0, -]"
  std::string begins;                               ///< of states: "zeros" or "copy of W"; empty for weights
  size_t layout = 0;                                ///< index into SavedStage::layouts
  bool isWhole = false;                             ///< stored whole, in one file
  std::vector<std::optional<unsigned>> fileOfShard; ///< as PieceFiles has it; of no file where it is not in any
  bool isInFiles = false;

  bool isState() const { return !begins.empty(); }
};

/// A folder with a manifest of its own: all of a program, or a stage of a pipeline.
struct SavedStage {
  std::string folder; ///< "stage-0003", "" where there is no pipeline
  int64_t firstRank = 0;
  Mesh mesh;
  std::vector<ByteLayout> layouts; ///< with elements of a byte: sizes in bytes are those of tensors
  std::vector<SavedTensor> tensors;
  std::vector<std::string> files; ///< from the folder: "weights/..."
};

/// All of it.
struct SavedWeights {
  std::string path; ///< of the folder
  std::string modelPath, modelSha256;
  int64_t steps = 0; ///< of training that states and weights have behind them
  bool hasPipeline = false;
  bool hasFiles = false; ///< false for a program that was emitted without its weights
  std::vector<SavedStage> stages;

  int64_t numRanks() const;
};

/// Bits of an element as files have it: 32 of "f32", 8 of "i1"; none for text that names no type.
std::optional<unsigned> elementBitsOf(llvm::StringRef type);

/// Reads `folder`/manifest.json and those of stages; no file of weights is opened. Errors (input) name file and place:
/// a manifest that is absent, of another version, or inconsistent (a sharding that does not fit mesh and shape, a file
/// that is not listed).
llvm::Expected<SavedWeights> readSavedWeights(llvm::StringRef folder);

/// Assigns files to all tensors of a stage that are `isInFiles`, as `apc emit --weights` does; `files` gets their
/// names.
std::vector<WeightFile> assignFiles(SavedStage &stage);

/// The manifest of a stage as a checkpoint has it: the places of all tensors that are in files.
std::string printSavedStage(const SavedWeights &saved, const SavedStage &stage);
/// The manifest above the folders of a pipeline's stages.
std::string printSavedStages(const SavedWeights &saved);

} // namespace apc
