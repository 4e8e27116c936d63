// The mesh as an attribute of the module.
#include "ProgramMesh.h"

#include "apc/IR/Diagnostics.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Support/Error.h"

namespace apc {

llvm::Expected<Mesh> meshOfProgram(mlir::ModuleOp program) {
  DiagnosticCapture diagnostics(program.getContext());
  mlir::FailureOr<MeshAttr> mesh = meshOf(program);
  if (mlir::failed(mesh))
    return internalError("the program has no mesh: {0}", diagnostics.take());
  return mesh->getValue();
}

} // namespace apc
