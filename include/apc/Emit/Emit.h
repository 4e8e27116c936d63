// A program of one device -> files: the program in a format, and what each rank reads of the parameters.
#pragma once

#include "apc/Plan/Plan.h"
#include "apc/Support/OutputFolder.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringMap.h"

namespace apc {

/// Where the data of a parameter is: `length` bytes at `offset` of `file`, row-major and little-endian as ONNX stores
/// it; or varints that it is the low bytes of.
struct ParameterData {
  std::string file; ///< as the manifest names it, from the folder of the model: "model.onnx.data"
  std::string path; ///< where it is on this machine
  int64_t offset = 0;
  int64_t length = 0;
  std::string absent; ///< why there is none ("declared without data"); "" when there is
  bool isVarints = false;
};

struct EmitOptions {
  std::vector<int64_t> ranks; ///< for which a program of their own is wanted
  bool weights = false;       ///< write the shards, too
  std::string modelPath;      ///< as the manifest names it
  llvm::StringMap<ParameterData> data;
};

struct EmittedFile {
  std::string name; ///< in the folder: "weights/0000.bin"
  int64_t bytes = 0;
};

/// What was written.
struct Emission {
  std::string folder;
  std::vector<EmittedFile> files;
  size_t numParameters = 0;
  std::vector<std::string> absent; ///< parameters without data
  int64_t parameterBytesPerRank = 0;
};

/// What an emitter works with.
struct EmitRequest {
  mlir::ModuleOp program; ///< of one device (apc/Partition/Partition.h)
  const Plan &plan;
  const EmitOptions &options;
};
/// Adds a file to the emission.
using AddFile = llvm::function_ref<llvm::Error(llvm::StringRef name, llvm::StringRef content)>;

/// A format. The table is what the flag, the help and the tests read; the next format is a row and a file.
struct Emitter {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  bool takesRanks; ///< has programs of single ranks
  llvm::Error (*emit)(const EmitRequest &request, AddFile addFile);
};
llvm::ArrayRef<Emitter> allEmitters();
/// An error that lists the formats otherwise.
llvm::Expected<const Emitter *> findEmitter(llvm::StringRef name);

/// Writes `program` and `manifest.json` (lib/Emit/README.md) to `folder`, whole or not at all. The same input gives the
/// same bytes. A folder that exists must be empty or hold nothing but an earlier emission, which is replaced; a
/// plan.json in it is kept.
///
/// Errors (input) name what is wrong: an unknown format; ranks that are not there, or that the format has no programs
/// of; with `weights`: parameters without data, files that are absent or short (file, parameter, bytes needed and
/// found); a folder that may not be replaced; files that cannot be written. Ctrl-C is an error, too.
llvm::Expected<Emission> emit(mlir::ModuleOp program, const Plan &plan, llvm::StringRef format, llvm::StringRef folder,
                              const EmitOptions &options);

} // namespace apc
