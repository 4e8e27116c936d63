// MLIR's diagnostics as text for the errors of a room.
#pragma once

#include "mlir/IR/Diagnostics.h"

#include <string>
#include <vector>

namespace apc {

/// Keeps diagnostics of a context from being printed while it lives, and collects their texts.
///
///   DiagnosticCapture diagnostics(module.getContext());
///   if (mlir::failed(mlir::verify(module)))
///     return internalError("the program does not verify: {0}", diagnostics.take());
class DiagnosticCapture {
public:
  explicit DiagnosticCapture(mlir::MLIRContext *context);

  /// All texts since the last call, joined by "; ". Empty when there were none.
  std::string take();
  /// The first error since the last call. Empty when there was none.
  std::string takeFirstError();

private:
  std::vector<std::string> texts;
  std::string firstError;
  mlir::ScopedDiagnosticHandler scope;
};

} // namespace apc
