// AttributeProto -> MLIR attribute, by its kind alone; no operator is known here.
#pragma once

#include "OnnxModel.pb.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace apc::onnx {

/// The attributes of a node after references to the attributes of an enclosing function call are resolved.
struct NamedAttributeProto {
  llvm::StringRef name;
  const AttributeProto *proto;
};
using AttributeList = llvm::SmallVector<NamedAttributeProto, 4>;
/// The attributes that `ref_attr_name` finds inside a function body: the call's, then the function's defaults.
using AttributeBindings = llvm::StringMap<const AttributeProto *>;

/// References without a binding are left out: the inner node then has its default.
AttributeList resolveAttributes(const NodeProto &node, const AttributeBindings *bindings);
const AttributeProto *findAttribute(const AttributeList &attributes, llvm::StringRef name);

/// The kind (1 FLOAT, 2 INT, ...), taken from the field that is set when `type` is missing, as in files before IR 2.
int32_t attributeKind(const AttributeProto &attribute);

/// "3", "'abc'", "a list of integers": an attribute in a message.
std::string describeAttribute(const AttributeProto &attribute);

/// FLOAT -> f32, INT -> i64, STRING -> string, FLOATS and INTS -> dense arrays, STRINGS -> array of strings, TENSOR ->
/// dense elements. Errors name `what`: kinds that have no form here (graphs, types, sparse tensors), lists of more than
/// 2^16 entries, tensors that are broken or too large.
llvm::Expected<mlir::Attribute> convertAttribute(const AttributeProto &attribute, llvm::StringRef what,
                                                 mlir::MLIRContext *context);

/// An attribute of an old opset as the operand that newer opsets take instead: INTS [2, 3] -> tensor<2xi64>, INT 3 ->
/// tensor<1xi64>, FLOATS -> 1-D, FLOAT -> 0-D. Floats take `element` where that is a float type. Null for other kinds.
mlir::DenseElementsAttr attributeAsOperand(const AttributeProto &attribute, mlir::Type element,
                                           mlir::MLIRContext *context);

} // namespace apc::onnx
