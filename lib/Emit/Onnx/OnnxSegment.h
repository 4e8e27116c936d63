// Runs of ops between collectives as ONNX models.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace apc {

namespace onnx {
class ModelProto;
} // namespace onnx

/// A run of ops of one function that need no other rank, with the values that come in and those that others read.
struct OnnxSegment {
  std::vector<mlir::Operation *> ops; ///< in order, constants left out
  llvm::SetVector<mlir::Value> inputs, outputs;
};

/// The segment as an ONNX model (opset `onnxFormOpset`); its values have the names of `names`. Constants
/// are initializers. Errors (input): an element type that ONNX has not, an attribute of an opset before it.
llvm::Expected<onnx::ModelProto> modelOf(const OnnxSegment &segment,
                                         const llvm::DenseMap<mlir::Value, std::string> &names, llvm::StringRef title);
void addInitializer(onnx::ModelProto &model, llvm::StringRef name, mlir::DenseElementsAttr value);
/// Its bytes.
llvm::Expected<std::string> printSegment(const OnnxSegment &segment,
                                         const llvm::DenseMap<mlir::Value, std::string> &names, llvm::StringRef title);

} // namespace apc
