// One ONNX node -> one op, or the constants that it comes to.
#pragma once

#include "ImportState.h"

namespace apc::onnx {

/// A node whose operands are known.
struct NodeToImport {
  const NodeProto &proto;
  const OperatorEntry &entry;
  std::string name;                        ///< unique in the module
  std::string valuePrefix;                 ///< of the function call that it stands in: "call/"
  AttributeList attributes;                ///< references resolved
  llvm::SmallVector<mlir::Value> operands; ///< ImportState::none for absent ones
  int64_t opsetVersion = 1;                ///< of the operator's domain
};

/// Makes the op at the builder's position and returns its results. Results that the node does not name have type
/// `none`. Small results of constant operands come back as constants, and no op stays.
///
/// Attributes that the op declares are set; one that the op takes as an operand of the same name (an older opset)
/// becomes a constant operand; others are kept as discardable `onnx.NAME`. A declared `opset_version` is filled in.
///
/// Errors name file, node and value: too many operands or results, a required one absent, attributes of the wrong kind,
/// shapes that do not fit, results of more than 2^60 elements.
llvm::Expected<llvm::SmallVector<mlir::Value>> importNode(ImportState &state, const NodeToImport &node);

} // namespace apc::onnx
