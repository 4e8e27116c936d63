// Operators of ONNX that ops of the dialect stand for together.
#pragma once

#include "mlir/IR/Builders.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace apc {

/// A node of such an operator in a model.
struct CompositeNode {
  std::string onnxName;                    ///< "ai.onnx.ml.Scaler"
  std::string name;                        ///< unique in the module
  llvm::SmallVector<mlir::Value> operands; ///< of type `none` where they are absent
  mlir::NamedAttrList attributes;
  size_t numResults = 1; ///< up to the last that the model names
};

/// The values that stand for a node, and attributes of the node that the operator has not.
struct CompositeResults {
  llvm::SmallVector<mlir::Value, 2> values;
  std::vector<std::string> unknownAttributes;
};

bool isComposite(llvm::StringRef onnxName);

/// Makes the ops that compute the node at the insertion point of `builder`. The op of result 0 is called like the node,
/// further ops NAME/sub, NAME/mul, ...
///
///   Scaler, offset 1.0, scale 2.0 -> mul(sub(x, 1.0), 2.0)
///
/// Errors (input), which do not name the node: a number of operands or results that the operator has not, an attribute
/// that is missing, of another kind or of another length than it needs, operands of shapes or types that do not fit.
/// Some ops may have been made then, which nothing reads.
llvm::Expected<CompositeResults> createComposite(mlir::OpBuilder &builder, const CompositeNode &node);

} // namespace apc
