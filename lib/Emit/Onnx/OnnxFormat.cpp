// Format `onnx`: models of what ranks run between collectives, the steps, and a runner.
#include "../Formats.h"
#include "OnnxSteps.h"

#include "apc/IR/Diagnostics.h"
#include "apc/IR/OnnxForms.h"
#include "apc/Support/EmbeddedText.h"

namespace apc {

llvm::ArrayRef<EmbeddedText> onnxRuntime(); ///< generated from Runtime/*.py

llvm::Error emitOnnx(const EmitRequest &request, AddFile addFile) {
  mlir::ModuleOp stage = *request.stage.module;
  mlir::OwningOpRef<mlir::ModuleOp> program = stage.clone();
  DiagnosticCapture diagnostics(program->getContext());
  if (llvm::Error error = makeOnnxForms(*program))
    return error;
  llvm::Error error = llvm::Error::success();
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("version", 1);
    object("opset", onnxFormOpset);
    object.object("functions", [&](JsonObjectWriter &functions) {
      for (auto function : program->getOps<mlir::func::FuncOp>()) {
        if (function.isExternal() || error)
          continue;
        OnnxFunction steps = cutIntoSteps(function);
        for (const OnnxStep &step : steps.steps) {
          if (step.op || error)
            continue;
          auto bytes = printSegment(step.segment, steps.names, step.file);
          error = bytes ? addFile(step.file, *bytes) : bytes.takeError();
        }
        writeSteps(json, functions, steps);
      }
    });
  });
  if (error)
    return error;
  return addFile("steps.json", json.take() + "\n");
}

llvm::Error emitOnnxRuntime(const EmitOptions &, AddFile addFile) {
  for (const EmbeddedText &file : onnxRuntime())
    if (llvm::Error error = addFile((file.name + ".py").str(), file.text))
      return error;
  return llvm::Error::success();
}

} // namespace apc
