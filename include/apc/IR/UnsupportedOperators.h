// Kinds of ONNX operators that the dialect leaves out as a whole.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace apc {

/// Why an operator of ONNX (its name with the domain, "Loop", "ai.onnx.ml.ZipMap") is in no program, or cannot be
/// evaluated: it works on "strings", "maps", "sequences", "optionals" or "image formats", takes "graphs as attributes",
/// is "control flow", "random" or "differentiation". Empty for all others.
llvm::StringRef unsupportedKind(llvm::StringRef onnxName);

} // namespace apc
