// A program -> files: the program in a format, and the part of the parameters that each rank reads.
#pragma once

#include "apc/IR/Program/Program.h"
#include "apc/Plan/Plan.h"
#include "apc/Support/OutputFolder.h"

#include "llvm/ADT/StringMap.h"

namespace apc {

/// The place of a parameter's data: `length` bytes at `offset` of `file`, row-major and little-endian as ONNX stores
/// it; or varints whose low bytes are the elements.
struct ParameterData {
  std::string file; ///< as the manifest names it, from the folder of the model: "model.onnx.data"
  std::string path; ///< of the file on this machine
  int64_t offset = 0;
  int64_t length = 0;
  std::string absent; ///< the reason when no file has it ("declared without data"), else ""
  bool isVarints = false;
  std::string bytes = {}; ///< the data, where it was computed when the model was read; no file has it then
  /// Of a state of the optimizer, which no file has: "zeros", or "copy of W" of a master. Empty for weights.
  std::string begins = {};
  /// Of data in another type than the program's parameter, which is rounded from them: "f32" and 32. "" and 0
  /// otherwise.
  std::string storedType = {};
  int64_t storedBits = 0;
};

struct EmitOptions {
  std::vector<int64_t> ranks; ///< ranks that get a program of their own
  bool weights = false;       ///< write the shards, too
  std::string modelPath;      ///< as the manifest names it
  llvm::StringMap<ParameterData> data;
  mlir::ModuleOp original = {}; ///< the model on one device, for formats that write it beside the program; may be null
};

struct EmittedFile {
  std::string name; ///< in the folder: "weights/shard-00001-model-00001-of-00001.safetensors"
  int64_t bytes = 0;
};

/// The files written, with numbers for a summary.
struct Emission {
  std::string folder;
  std::vector<EmittedFile> files;
  size_t numParameters = 0;
  std::vector<std::string> absent; ///< parameters without data
  std::vector<std::string> opaque; ///< operators that nobody knows: the program names them and cannot run
  int64_t parameterBytesPerRank = 0;
};

/// The input of an emitter: one stage of a program, and the ranks of the stage that get a program of their own,
/// counted from its first.
struct EmitRequest {
  const StageProgram &stage;
  llvm::ArrayRef<int64_t> ranks;
  const EmitOptions &options;
  const StagePlan *plan = nullptr; ///< of the stage; null where nobody asks for predictions
};
/// Adds a file to the emission.
using AddFile = llvm::function_ref<llvm::Error(llvm::StringRef name, llvm::StringRef content)>;

/// A format. The flag, the help and the tests read the table; the next format is a row and a file.
struct Emitter {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  bool takesRanks; ///< has programs of single ranks
  llvm::Error (*emit)(const EmitRequest &request, AddFile addFile);
  /// Files beside those of stages, in the folder above them; null: none.
  llvm::Error (*emitShared)(const EmitOptions &options, AddFile addFile) = nullptr;
};
llvm::ArrayRef<Emitter> allEmitters();
/// An error that lists the formats otherwise.
llvm::Expected<const Emitter *> findEmitter(llvm::StringRef name);

/// Writes `program` and `manifest.json` (lib/Emit/README.md) to `folder`, whole or not at all. The same input gives the
/// same bytes. A folder that exists must be empty or hold nothing but an earlier emission, which is replaced; a
/// plan.json in it is kept.
///
/// A program with a pipeline has a folder "stage-NNNN" for each stage, which holds what the folder of a program of one
/// stage does; `manifest.json` says which ranks hold which stages, the actions of each worker, and the stages between
/// which values go.
///
/// Errors (input) name the fault: an unknown format; ranks that are not there, or a format without programs of single
/// ranks; with `weights`: parameters without data, files that are absent or short (file,
/// parameter, bytes needed and found); a folder that may not be replaced; files that cannot be written. Ctrl-C is an
/// error, too.
llvm::Expected<Emission> emit(const Program &program, const Plan &plan, llvm::StringRef format, llvm::StringRef folder,
                              const EmitOptions &options);

/// A table for people: the first files, the parameters, the folder.
void printEmission(const Emission &emission, llvm::raw_ostream &os);
/// Keys `folder`, `files` [{name, bytes}], `parameters`, `absent_parameters` [names], `parameter_bytes_per_rank`.
std::string printEmissionJson(const Emission &emission);

} // namespace apc
