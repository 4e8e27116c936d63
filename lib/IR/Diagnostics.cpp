// Collects diagnostics.
#include "apc/IR/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

DiagnosticCapture::DiagnosticCapture(mlir::MLIRContext *context)
    : scope(context, [this](mlir::Diagnostic &diagnostic) {
        texts.push_back(diagnostic.str());
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && firstError.empty())
          firstError = texts.back();
        return mlir::success();
      }) {}

std::string DiagnosticCapture::take() {
  firstError.clear();
  return llvm::join(std::exchange(texts, {}), "; ");
}

std::string DiagnosticCapture::takeFirstError() {
  texts.clear();
  return std::exchange(firstError, {});
}

} // namespace apc
