// AttributeProto -> MLIR attribute.
#include "Attributes.h"

#include "Tensors.h"

#include "apc/IR/Operator.h"
#include "apc/Support/Error.h"

#include "llvm/Support/Format.h"

namespace apc::onnx {

namespace {

constexpr int maxListEntries = 1 << 24; ///< a forest has one for each of its nodes

enum Kind : int32_t { kindFloat = 1, kindInt, kindString, kindTensor, kindGraph, kindFloats, kindInts, kindStrings };

llvm::Expected<mlir::Attribute> convertTensor(const TensorProto &tensor, llvm::StringRef what,
                                              mlir::MLIRContext *context) {
  auto header = readHeader(tensor, what, context);
  if (!header)
    return header.takeError();
  if (header->place != DataPlace::Inline || header->numElements > maxListEntries)
    return inputError("{0} must be a tensor of at most {1} elements that is stored in the model", what, maxListEntries);
  return readData(tensor, *header, what);
}

} // namespace

AttributeList resolveAttributes(const NodeProto &node, const AttributeBindings *bindings) {
  AttributeList list;
  for (const AttributeProto &attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      list.push_back({attribute.name(), &attribute});
    } else if (bindings) {
      auto bound = bindings->find(attribute.ref_attr_name());
      if (bound != bindings->end())
        list.push_back({attribute.name(), bound->second});
    }
  }
  return list;
}

const AttributeProto *findAttribute(const AttributeList &attributes, llvm::StringRef name) {
  for (const NamedAttributeProto &attribute : attributes)
    if (attribute.name == name)
      return attribute.proto;
  return nullptr;
}

int32_t attributeKind(const AttributeProto &attribute) {
  if (attribute.type() != 0)
    return attribute.type();
  if (attribute.has_f())
    return kindFloat;
  if (attribute.has_i())
    return kindInt;
  if (attribute.has_s())
    return kindString;
  if (attribute.has_t())
    return kindTensor;
  if (attribute.has_g())
    return kindGraph;
  if (attribute.floats_size() > 0)
    return kindFloats;
  return attribute.strings_size() > 0 ? kindStrings : kindInts;
}

std::string describeAttribute(const AttributeProto &attribute) {
  switch (attributeKind(attribute)) {
  case kindFloat:
    return llvm::formatv("{0} (a float)", llvm::format("%g", attribute.f()));
  case kindInt:
    return llvm::formatv("{0}", attribute.i());
  case kindString:
    return "'" + attribute.s() + "'";
  case kindTensor:
    return "a tensor";
  case kindFloats:
    return "a list of floats";
  case kindInts:
    return "a list of integers";
  case kindStrings:
    return "a list of strings";
  default:
    return llvm::formatv("of kind {0}", attributeKind(attribute));
  }
}

llvm::Expected<mlir::Attribute> convertAttribute(const AttributeProto &attribute, llvm::StringRef what,
                                                 mlir::MLIRContext *context) {
  mlir::Builder builder(context);
  if (std::max({attribute.floats_size(), attribute.ints_size(), attribute.strings_size()}) > maxListEntries)
    return inputError("{0} is a list of more than {1} entries", what, maxListEntries);
  switch (attributeKind(attribute)) {
  case kindFloat:
    return builder.getF32FloatAttr(attribute.f());
  case kindInt:
    return builder.getI64IntegerAttr(attribute.i());
  case kindString:
    return builder.getStringAttr(attribute.s());
  case kindTensor:
    return convertTensor(attribute.t(), what, context);
  case kindFloats:
    return builder.getDenseF32ArrayAttr(
        llvm::ArrayRef(attribute.floats().data(), static_cast<size_t>(attribute.floats_size())));
  case kindInts:
    return builder.getDenseI64ArrayAttr(
        llvm::ArrayRef(attribute.ints().data(), static_cast<size_t>(attribute.ints_size())));
  case kindStrings: {
    llvm::SmallVector<mlir::Attribute> strings;
    for (const std::string &text : attribute.strings())
      strings.push_back(builder.getStringAttr(text));
    return builder.getArrayAttr(strings);
  }
  default:
    return inputError("{0} is of kind {1}; supported are numbers, strings, lists of them, and tensors", what,
                      attributeKind(attribute));
  }
}

mlir::DenseElementsAttr attributeAsOperand(const AttributeProto &attribute, mlir::Type element,
                                           mlir::MLIRContext *context) {
  mlir::Type i64 = mlir::IntegerType::get(context, 64), f32 = mlir::Float32Type::get(context);
  mlir::Type floating = element && llvm::isa<mlir::FloatType>(element) ? element : f32;
  switch (attributeKind(attribute)) {
  case kindFloat:
    return apc::Tensor{{}, floating, {}, {attribute.f()}}.toAttribute();
  case kindInt:
    return apc::Tensor{{1}, i64, {attribute.i()}, {}}.toAttribute();
  case kindFloats:
    // Lists keep f32: scales and regions are f32 whatever the type of the tensor.
    return apc::Tensor{{attribute.floats_size()}, f32, {}, {attribute.floats().begin(), attribute.floats().end()}}
        .toAttribute();
  case kindInts:
    return apc::Tensor{{attribute.ints_size()}, i64, {attribute.ints().begin(), attribute.ints().end()}, {}}
        .toAttribute();
  default:
    return {};
  }
}

} // namespace apc::onnx
