// Ops -> nodes: names and attributes of ONNX are those of the operators' definitions.
#include "OnnxSegment.h"

#include "../Safetensors.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/OnnxForms.h"
#include "apc/IR/Opaque.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/Support/Error.h"

#include "OnnxModel.pb.h"

#include <map>

namespace apc {

namespace {

constexpr int64_t irVersion = 11;
/// Since this version no operator with an attribute `opset_version` changed its meaning.
constexpr int64_t settledOpset = 13;
/// Versions of the domains beside ONNX's own.
constexpr std::pair<llvm::StringLiteral, int64_t> domains[] = {{"ai.onnx.ml", 5}};

// AttributeProto.type
constexpr int ofFloat = 1, ofInt = 2, ofString = 3, ofTensor = 4, ofFloats = 6, ofInts = 7, ofStrings = 8;

std::string place(mlir::Operation &op) {
  auto name = op.getAttrOfType<mlir::StringAttr>(opAttribute);
  return op.getName().stripDialect().str() + (name ? " '" + name.str() + "'" : "");
}

/// True for an op whose random numbers are those of a draw with a number.
bool drawsByNumber(mlir::Operation &op) {
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  if (!interface)
    return false;
  llvm::ArrayRef<llvm::StringRef> names = interface.getArgumentNames();
  auto place = static_cast<unsigned>(llvm::find(names, "draw") - names.begin());
  return place < interface.getNumDeclaredOperands() && place < op.getNumOperands() && !isAbsent(op.getOperand(place));
}

void setTensor(mlir::DenseElementsAttr value, onnx::TensorProto &tensor) {
  for (int64_t dim : value.getType().getShape())
    tensor.add_dims(dim);
  tensor.set_data_type(static_cast<int>(dataType(value.getElementType())));
  tensor.set_raw_data(bytesOf(value));
}

class ModelWriter {
public:
  ModelWriter(const llvm::DenseMap<mlir::Value, std::string> &names, llvm::StringRef title) : names(names) {
    model.set_ir_version(irVersion);
    model.set_producer_name("apc");
    onnx::OperatorSetIdProto &opset = *model.add_opset_import();
    opset.set_domain("");
    opset.set_version(onnxFormOpset);
    graph().set_name(title.str());
  }

  llvm::Error addValue(mlir::Value value, onnx::ValueInfoProto &info) {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    info.set_name(names.lookup(value));
    onnx::TypeProto::Tensor &tensor = *info.mutable_type()->mutable_tensor_type();
    auto element = static_cast<int>(dataType(type.getElementType()));
    if (element == 0)
      return inputError("value '{0}': ONNX has no tensors of {1}", info.name(), type.getElementType());
    tensor.set_elem_type(element);
    tensor.mutable_shape();
    for (int64_t dim : type.getShape())
      tensor.mutable_shape()->add_dim()->set_dim_value(dim);
    return llvm::Error::success();
  }
  llvm::Error addNode(mlir::Operation &op);
  onnx::GraphProto &graph() { return *model.mutable_graph(); }
  onnx::ModelProto take();

private:
  std::string nameOf(mlir::Value value);
  bool setAttribute(mlir::Attribute value, onnx::AttributeProto &attribute);
  llvm::Error addAttributes(mlir::Operation &op, onnx::NodeProto &node);
  llvm::Error addOwnAttributes(mlir::Operation &op, onnx::NodeProto &node);

  const llvm::DenseMap<mlir::Value, std::string> &names;
  onnx::ModelProto model;
  std::map<std::string, int64_t> usedDomains;
  llvm::DenseSet<mlir::Attribute> constants; ///< that are initializers
};

/// A constant becomes an initializer when it is first read.
std::string ModelWriter::nameOf(mlir::Value value) {
  if (llvm::isa<mlir::NoneType>(value.getType()))
    return "";
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return names.lookup(value);
  std::string name = names.lookup(value);
  if (constants.insert(constant.getValue()).second) {
    addInitializer(model, name, llvm::cast<mlir::DenseElementsAttr>(constant.getValue()));
  }
  return name;
}

bool ModelWriter::setAttribute(mlir::Attribute value, onnx::AttributeProto &attribute) {
  if (auto number = llvm::dyn_cast<mlir::IntegerAttr>(value)) {
    attribute.set_type(ofInt);
    attribute.set_i(number.getInt());
  } else if (auto real = llvm::dyn_cast<mlir::FloatAttr>(value)) {
    attribute.set_type(ofFloat);
    attribute.set_f(static_cast<float>(real.getValueAsDouble()));
  } else if (auto text = llvm::dyn_cast<mlir::StringAttr>(value)) {
    attribute.set_type(ofString);
    attribute.set_s(text.str());
  } else if (auto numbers = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(value)) {
    attribute.set_type(ofInts);
    for (int64_t each : numbers.asArrayRef())
      attribute.add_ints(each);
  } else if (auto reals = llvm::dyn_cast<mlir::DenseF32ArrayAttr>(value)) {
    attribute.set_type(ofFloats);
    for (float each : reals.asArrayRef())
      attribute.add_floats(each);
  } else if (auto tensor = llvm::dyn_cast<mlir::DenseElementsAttr>(value)) {
    attribute.set_type(ofTensor);
    setTensor(tensor, *attribute.mutable_t());
  } else if (auto texts = llvm::dyn_cast<mlir::ArrayAttr>(value)) {
    attribute.set_type(ofStrings);
    for (mlir::Attribute each : texts)
      attribute.add_strings(llvm::cast<mlir::StringAttr>(each).str());
  } else {
    return false;
  }
  return true;
}

/// Attributes that say what is true without them are left out: old opsets brought some that ONNX has no more.
llvm::Error ModelWriter::addAttributes(mlir::Operation &op, onnx::NodeProto &node) {
  mlir::OperationState state(op.getLoc(), op.getName());
  mlir::Operation *plain = mlir::Operation::create(state);
  llvm::Error error = llvm::Error::success();
  for (mlir::StringAttr name : op.getRegisteredInfo()->getAttributeNames()) {
    auto value = op.getInherentAttr(name), standard = plain->getInherentAttr(name);
    if (error || !value || !*value)
      continue;
    if (name == "opset_version") {
      if (llvm::cast<mlir::IntegerAttr>(*value).getInt() < settledOpset)
        error = inputError("{0}: its meaning is that of opset {1}; {2} and newer are written", place(op),
                           llvm::cast<mlir::IntegerAttr>(*value).getInt(), settledOpset);
      continue;
    }
    if (standard && *standard == *value)
      continue;
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name.str());
    if (!setAttribute(*value, attribute))
      error = inputError("{0}: attribute '{1}' has no form in ONNX", place(op), name.getValue());
  }
  plain->destroy();
  if (auto split = llvm::dyn_cast<SplitOp>(op); split && isAbsent(split.getSplit()) && !split.getNumOutputs()) {
    onnx::AttributeProto &count = *node.add_attribute(); // needed since opset 18
    count.set_name("num_outputs");
    setAttribute(mlir::IntegerAttr::get(mlir::IntegerType::get(op.getContext(), 64), op.getNumResults()), count);
  }
  return error;
}

/// A node of a target's own operator, which `createDistCollectives` made.
llvm::Error ModelWriter::addOwnAttributes(mlir::Operation &op, onnx::NodeProto &node) {
  for (mlir::NamedAttribute own : op.getAttrOfType<mlir::DictionaryAttr>(nodeAttributes)) {
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(own.getName().str());
    if (!setAttribute(own.getValue(), attribute))
      return inputError("{0}: attribute '{1}' has no form in ONNX", place(op), own.getName().getValue());
  }
  return llvm::Error::success();
}

llvm::Error ModelWriter::addNode(mlir::Operation &op) {
  if (drawsByNumber(op))
    return inputError("{0}: it draws other random numbers in each micro-batch and step, which no operator of ONNX does",
                      place(op));
  llvm::StringRef domain, type, opaque = opaqueName(&op);
  std::tie(domain, type) =
      (opaque.empty() ? llvm::cast<OperatorInterface>(op).getOnnxNames().front() : opaque).rsplit('.');
  if (type.empty())
    std::swap(domain, type);
  onnx::NodeProto &node = *graph().add_node();
  node.set_op_type(type.str());
  if (!domain.empty()) {
    node.set_domain(domain.str());
    const auto *known = llvm::find_if(domains, [&](const auto &entry) { return entry.first == domain; });
    usedDomains[domain.str()] = known == std::end(domains) ? 1 : known->second;
  }
  node.set_name(names.lookup(op.getResult(0)));
  for (mlir::Value operand : op.getOperands())
    node.add_input(nameOf(operand));
  while (node.input_size() > 0 && node.input(node.input_size() - 1).empty())
    node.mutable_input()->RemoveLast();
  for (mlir::Value result : op.getResults())
    node.add_output(llvm::isa<mlir::NoneType>(result.getType()) ? "" : names.lookup(result));
  while (node.output_size() > 1 && node.output(node.output_size() - 1).empty())
    node.mutable_output()->RemoveLast();
  return op.hasAttr(nodeAttributes) ? addOwnAttributes(op, node) : addAttributes(op, node);
}

onnx::ModelProto ModelWriter::take() {
  for (const auto &[domain, version] : usedDomains) {
    onnx::OperatorSetIdProto &opset = *model.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  return std::move(model);
}

} // namespace

void addInitializer(onnx::ModelProto &model, llvm::StringRef name, mlir::DenseElementsAttr value) {
  onnx::TensorProto &tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name.str());
  setTensor(value, tensor);
}

llvm::Expected<onnx::ModelProto> modelOf(const OnnxSegment &segment,
                                         const llvm::DenseMap<mlir::Value, std::string> &names, llvm::StringRef title) {
  ModelWriter writer(names, title);
  for (mlir::Value value : segment.inputs)
    if (llvm::Error error = writer.addValue(value, *writer.graph().add_input()))
      return error;
  for (mlir::Value value : segment.outputs)
    if (llvm::Error error = writer.addValue(value, *writer.graph().add_output()))
      return error;
  for (mlir::Operation *op : segment.ops)
    if (llvm::Error error = writer.addNode(*op))
      return error;
  return writer.take();
}

llvm::Expected<std::string> printSegment(const OnnxSegment &segment,
                                         const llvm::DenseMap<mlir::Value, std::string> &names, llvm::StringRef title) {
  auto model = modelOf(segment, names, title);
  return model ? llvm::Expected<std::string>(model->SerializeAsString()) : model.takeError();
}

} // namespace apc
