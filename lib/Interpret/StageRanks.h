// The ranks of one stage of a program, and the modules that they run.
#pragma once

#include "Pieces.h"
#include "RankRun.h"

#include "apc/Interpret/Run.h"

namespace apc {

/// One stage: a mesh of ranks that run one module, or one each. A module without a mesh is for one rank, which has
/// everything whole.
class StageRanks {
public:
  /// Errors (input): a mesh that cannot be read, no `main`, as many modules as there are no ranks for.
  static llvm::Expected<StageRanks> make(unsigned number, llvm::ArrayRef<mlir::ModuleOp> modules, int64_t firstRank);

  unsigned getNumber() const { return number; }
  const Mesh &getMesh() const { return mesh; }
  MeshAttr getMeshAttr() const { return meshAttr; }
  int64_t numRanks() const { return mesh.numDevices(); }
  /// Of the first of the stage's ranks among those of the program.
  int64_t getFirstRank() const { return firstRank; }
  const ProgramText &textOf(int64_t rank) const { return *texts[texts.size() == 1 ? 0 : static_cast<size_t>(rank)]; }
  mlir::func::FuncOp main() const { return texts.front()->main(); }

  /// The whole inputs of the stage, for each micro-batch, from those of the model, which have these names. Errors
  /// (input): as many as there are not; an argument of the stage that is none of them.
  llvm::Expected<std::vector<const Tensor *>> inputsOf(llvm::ArrayRef<std::string> names,
                                                       llvm::ArrayRef<Tensor> inputs) const;
  /// The pieces that `rank` takes of whole inputs of all micro-batches. Integers are padded with `padding`.
  llvm::Expected<std::vector<TensorRef>> inputPieces(int64_t rank, llvm::ArrayRef<const Tensor *> inputs,
                                                     int64_t padding) const;
  /// The result with this number, put together from the pieces of all ranks.
  llvm::Expected<Tensor> result(unsigned index, llvm::ArrayRef<const RankRun *> runs) const;

private:
  StageRanks() = default;

  unsigned number = 0;
  int64_t firstRank = 0;
  MeshAttr meshAttr; ///< null where the module has none
  Mesh mesh;
  std::vector<std::unique_ptr<ProgramText>> texts;
};

} // namespace apc
