// Any bytes into the importer: a module that verifies or an error, never a crash, a hang or memory without bound.
#include "apc/Import/Import.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler silence(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  apc::ImportOptions options;
  options.maxUnrolled = 1 << 12; // sanitizers watch each node
  options.dims = {{"N", 2}, {"batch", 2}, {"seq", 4}};
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  llvm::Expected<apc::ImportedModel> model = apc::importOnnxBytes(bytes, "fuzz.onnx", options, context);
  if (!model) {
    llvm::consumeError(model.takeError());
    return 0;
  }
  if (!model->module || failed(mlir::verify(*model->module)))
    std::abort();
  return 0;
}
