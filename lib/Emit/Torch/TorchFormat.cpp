// Python for PyTorch.
#include "../Formats.h"
#include "../ProgramMesh.h"
#include "../Safetensors.h"
#include "ModuleWriter.h"

#include "apc/IR/RuleBuilder.h"
#include "apc/Support/EmbeddedText.h"

namespace apc {

llvm::ArrayRef<EmbeddedText> torchRuntime(); ///< generated from Runtime/*.py

/// Places of pieces that are asked for twice in a function are computed once.
static void mergeOffsets(mlir::ModuleOp program) {
  for (auto function : program.getOps<mlir::func::FuncOp>()) {
    llvm::SmallVector<ShardOffsetOp> known;
    for (ShardOffsetOp op : llvm::make_early_inc_range(function.getOps<ShardOffsetOp>())) {
      auto *same = llvm::find_if(known, [&](ShardOffsetOp other) {
        return other->getAttrDictionary() == op->getAttrDictionary() && other.getType() == op.getType();
      });
      if (same == known.end()) {
        known.push_back(op);
        continue;
      }
      op.getResult().replaceAllUsesWith(same->getResult());
      op.erase();
    }
  }
}

/// program.py, ops.py and constants.safetensors in a folder.
static llvm::Error writeProgram(mlir::ModuleOp given, const Mesh &mesh, llvm::StringRef title,
                                const std::string &folder, const StagePlan *plan, AddFile addFile) {
  mlir::OwningOpRef<mlir::ModuleOp> program = given.clone();
  mergeOffsets(*program);
  auto functions = TorchFunctions::read();
  if (!functions)
    return functions.takeError();
  ModuleWriter writer(*program, *functions, mesh, plan);
  auto text = writer.write(title);
  if (!text)
    return text.takeError();
  if (llvm::Error error = addFile(folder + "program.py", *text))
    return error;
  if (!writer.getText().used.empty()) {
    if (llvm::Error error = addFile(folder + "ops.py", functions->printModule(writer.getText().used)))
      return error;
  }
  auto large = writer.largeConstants();
  return large.empty() ? llvm::Error::success() : addFile(folder + "constants.safetensors", printSafetensors(large));
}

llvm::Error emitTorch(const EmitRequest &request, AddFile addFile) {
  mlir::ModuleOp program = *request.stage.module;
  llvm::Expected<Mesh> mesh = meshOfProgram(program);
  if (!mesh)
    return mesh.takeError();
  return writeProgram(program, *mesh, "The program of each rank, on the pieces that it holds.", "", request.plan,
                      addFile);
}

llvm::Error emitTorchRuntime(const EmitOptions &options, AddFile addFile) {
  for (const EmbeddedText &file : torchRuntime())
    if (llvm::Error error = addFile((file.name + ".py").str(), file.text))
      return error;
  if (!options.original)
    return llvm::Error::success();
  return writeProgram(options.original, Mesh(), "The same on one device, to check the program with.", "one_device/",
                      nullptr, addFile);
}

} // namespace apc
