// Format `mlir`: the program as it is, and the programs of single ranks.
#include "Formats.h"
#include "ProgramMesh.h"
#include "RankPrograms.h"

#include "apc/IR/Diagnostics.h"
#include "apc/Support/Error.h"

#include "mlir/IR/Diagnostics.h"

namespace apc {

namespace {

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  return text;
}

} // namespace

llvm::Error emitMlir(const EmitRequest &request, AddFile addFile) {
  mlir::ModuleOp program = *request.stage.module;
  if (llvm::Error error = addFile("program.mlir", print(program)))
    return error;
  if (request.ranks.empty())
    return llvm::Error::success();
  llvm::Expected<Mesh> mesh = meshOfProgram(program);
  if (!mesh)
    return mesh.takeError();
  DiagnosticCapture diagnostics(program.getContext());
  RankPrograms programs(program, *mesh);
  for (int64_t rank : request.ranks) {
    auto text = programs.print(rank);
    if (mlir::failed(text))
      return internalError("the program of rank {0} does not verify: {1}", rank, diagnostics.take());
    if (llvm::Error error = addFile(llvm::formatv("rank-{0,0+4}.mlir", rank).str(), *text))
      return error;
  }
  return llvm::Error::success();
}

} // namespace apc
