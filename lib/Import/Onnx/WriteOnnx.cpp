// Values and nodes as messages of the wire format.
#include "apc/Import/WriteOnnx.h"

#include "OnnxModel.pb.h"

namespace apc {

namespace {

constexpr int floatType = 1, integerType = 7;
constexpr int64_t irVersion = 9, opset = 20;

// AttributeProto.type
constexpr int ofFloat = 1, ofInt = 2, ofString = 3, ofInts = 7;

void setValue(onnx::AttributeProto &into, const WrittenAttribute &attribute) {
  into.set_name(attribute.name);
  if (const auto *number = std::get_if<int64_t>(&attribute.value)) {
    into.set_type(ofInt);
    into.set_i(*number);
  } else if (const auto *real = std::get_if<double>(&attribute.value)) {
    into.set_type(ofFloat);
    into.set_f(static_cast<float>(*real));
  } else if (const auto *text = std::get_if<std::string>(&attribute.value)) {
    into.set_type(ofString);
    into.set_s(*text);
  } else {
    into.set_type(ofInts);
    for (int64_t item : std::get<std::vector<int64_t>>(attribute.value))
      into.add_ints(item);
  }
}

} // namespace

struct OnnxWriter::Model {
  onnx::ModelProto proto;

  onnx::TensorProto &tensor(llvm::StringRef name, int type) {
    onnx::TensorProto &tensor = *proto.mutable_graph()->add_initializer();
    tensor.set_name(name.str());
    tensor.set_data_type(type);
    return tensor;
  }
};

OnnxWriter::OnnxWriter(llvm::StringRef graph) : model(std::make_unique<Model>()) {
  model->proto.set_ir_version(irVersion);
  model->proto.add_opset_import()->set_version(opset);
  model->proto.mutable_graph()->set_name(graph.str());
}

OnnxWriter::~OnnxWriter() = default;
OnnxWriter::OnnxWriter(OnnxWriter &&) noexcept = default;

std::string OnnxWriter::input(llvm::StringRef name, llvm::ArrayRef<WrittenDim> dims, bool isInteger) {
  onnx::ValueInfoProto &value = *model->proto.mutable_graph()->add_input();
  value.set_name(name.str());
  onnx::TypeProto::Tensor &type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(isInteger ? integerType : floatType);
  for (const WrittenDim &dim : dims) {
    auto &own = *type.mutable_shape()->add_dim();
    if (const auto *size = std::get_if<int64_t>(&dim))
      own.set_dim_value(*size);
    else
      own.set_dim_param(std::get<std::string>(dim));
  }
  return name.str();
}

std::string OnnxWriter::weight(llvm::StringRef name, llvm::ArrayRef<int64_t> dims) {
  onnx::TensorProto &tensor = model->tensor(name, floatType);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  tensor.set_data_location(1);
  onnx::StringStringEntryProto &location = *tensor.add_external_data();
  location.set_key("location");
  location.set_value("weights.data");
  return name.str();
}

std::string OnnxWriter::scalar(llvm::StringRef name, double number) {
  model->tensor(name, floatType).add_float_data(static_cast<float>(number));
  return name.str();
}

std::string OnnxWriter::integer(llvm::StringRef name, int64_t number) {
  model->tensor(name, integerType).add_int64_data(number);
  return name.str();
}

std::string OnnxWriter::integers(llvm::StringRef name, llvm::ArrayRef<int64_t> numbers) {
  onnx::TensorProto &tensor = model->tensor(name, integerType);
  tensor.add_dims(static_cast<int64_t>(numbers.size()));
  for (int64_t number : numbers)
    tensor.add_int64_data(number);
  return name.str();
}

std::string OnnxWriter::node(llvm::StringRef operatorName, llvm::StringRef result, llvm::ArrayRef<std::string> operands,
                             llvm::ArrayRef<WrittenAttribute> attributes) {
  nodeOf(operatorName, {result.str()}, operands, attributes);
  return result.str();
}

void OnnxWriter::nodeOf(llvm::StringRef operatorName, llvm::ArrayRef<std::string> results,
                        llvm::ArrayRef<std::string> operands, llvm::ArrayRef<WrittenAttribute> attributes) {
  onnx::NodeProto &node = *model->proto.mutable_graph()->add_node();
  node.set_op_type(operatorName.str());
  node.set_name(results.front());
  for (const std::string &result : results)
    node.add_output(result);
  for (const std::string &operand : operands)
    node.add_input(operand);
  for (const WrittenAttribute &attribute : attributes)
    setValue(*node.add_attribute(), attribute);
}

void OnnxWriter::output(llvm::StringRef name) {
  onnx::ValueInfoProto &value = *model->proto.mutable_graph()->add_output();
  value.set_name(name.str());
  value.mutable_type()->mutable_tensor_type()->set_elem_type(floatType);
}

std::string OnnxWriter::take() {
  std::string bytes = model->proto.SerializeAsString();
  model->proto.Clear();
  return bytes;
}

} // namespace apc
