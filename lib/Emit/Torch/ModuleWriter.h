// A stage as a Python module of plain functions on the pieces that a rank holds.
#pragma once

#include "Statements.h"

#include "apc/Plan/Plan.h"

namespace apc {

/// A run of ops of `main` that a Python function holds.
struct MainPart {
  std::string name;
  bool isUpdate = false; ///< behind all micro-batches
  std::vector<mlir::Operation *> ops;
};

class ModuleWriter {
public:
  /// \p plan: the predictions; may be null.
  ModuleWriter(mlir::ModuleOp program, const TorchFunctions &functions, const Mesh &mesh, const StagePlan *plan);

  /// program.py. Errors (input): ops without a form in PyTorch.
  llvm::Expected<std::string> write(llvm::StringRef title);
  const TorchText &getText() const { return text; }
  /// Those that stand in a file of their own.
  std::vector<std::pair<std::string, mlir::DenseElementsAttr>> largeConstants() const;

private:
  void addCollectiveSeconds(const StagePlan &plan);
  llvm::Error writeLayer(mlir::func::FuncOp function);
  llvm::Error writeMain(mlir::func::FuncOp main);
  std::vector<std::string> argumentsOfMain(mlir::func::FuncOp main) const;
  std::string argumentName(mlir::func::FuncOp function, unsigned index, llvm::ArrayRef<mlir::func::CallOp> calls) const;
  std::vector<MainPart> partsOf(mlir::func::FuncOp main) const;
  std::vector<MainPart> splitByPass(llvm::ArrayRef<mlir::Operation *> ops) const;
  void writeFunction(llvm::StringRef name, llvm::ArrayRef<std::string> parameters, llvm::ArrayRef<std::string> lines);
  std::string printHead(llvm::StringRef title) const;
  std::string printConstants() const;

  mlir::ModuleOp program;
  TorchText text;
  std::string body;
  std::vector<std::string> partNames, updateNames;
};

} // namespace apc
