// TensorProto -> Tensor, from model files and from files of their own.
#include "apc/Import/ModelData.h"

#include "Onnx/External.h"
#include "Onnx/Parse.h"
#include "Onnx/Tensors.h"

#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/ADT/StringMap.h"

#include <cstring>

namespace apc {

char AbsentData::ID;

using namespace onnx;

namespace {

/// Numbers of the host's own types straight from their bytes.
template <typename Stored, typename Kept>
std::vector<Kept> widen(llvm::StringRef bytes) {
  std::vector<Kept> values(bytes.size() / sizeof(Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    Stored value;
    std::memcpy(&value, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = static_cast<Kept>(value);
  }
  return values;
}

/// True when `raw` was read: types that are common and large, without a detour over an attribute.
bool readCommon(llvm::StringRef raw, const TensorHeader &header, Tensor &tensor) {
  mlir::Type element = header.type.getElementType();
  if (raw.empty() ||
      raw.size() != static_cast<uint64_t>(header.numElements) * (header.type.getElementTypeBitWidth() / 8))
    return false;
  if (element.isF32())
    tensor.floats = widen<float, double>(raw);
  else if (element.isF64())
    tensor.floats = widen<double, double>(raw);
  else if (element.isInteger(64))
    tensor.ints = widen<int64_t, int64_t>(raw);
  else if (element.isSignlessInteger(32))
    tensor.ints = widen<int32_t, int64_t>(raw);
  else
    return false;
  tensor.dims.assign(header.type.getShape().begin(), header.type.getShape().end());
  tensor.element = element;
  return true;
}

llvm::Expected<Tensor> readInline(const TensorProto &proto, const TensorHeader &header, llvm::StringRef what) {
  Tensor tensor;
  if (readCommon(proto.raw_data(), header, tensor))
    return tensor;
  auto data = readData(proto, header, what);
  if (!data)
    return data.takeError();
  return Tensor::read(*data);
}

/// ONNX before 1.13 kept test values of bfloat16 as the bits in uint16.
int32_t typeFor(const TensorProto &proto, mlir::Type declared) {
  constexpr int32_t uint16Type = 4, bfloat16Type = 16;
  bool isDisguised = declared && declared.isBF16() && proto.data_type() == uint16Type;
  return isDisguised ? bfloat16Type : proto.data_type();
}

DeclaredValue declare(const ValueInfoProto &info, mlir::MLIRContext &context) {
  constexpr int32_t stringType = 8;
  DeclaredValue value{info.name(), ValueKind::Other, info.type().has_optional_type(), {}};
  const TypeProto *type = value.isOptional ? &info.type().optional_type().elem_type() : &info.type();
  bool isSequence = type->has_sequence_type();
  if (isSequence)
    type = &type->sequence_type().elem_type();
  if (type->tensor_type().elem_type() == stringType)
    value.kind = ValueKind::Strings;
  else if ((value.element = elementType(type->tensor_type().elem_type(), &context)))
    value.kind = isSequence ? ValueKind::Sequence : ValueKind::Tensor;
  return value;
}

llvm::Expected<Tensor> readProto(TensorProto &proto, llvm::StringRef what, mlir::MLIRContext &context,
                                 mlir::Type declared) {
  proto.set_data_type(typeFor(proto, declared));
  auto header = readHeader(proto, what, &context);
  if (!header)
    return header.takeError();
  if (header->place != DataPlace::Inline)
    return inputError("{0}: the tensor has no data in it", what);
  return readInline(proto, *header, what);
}

} // namespace

llvm::Expected<Tensor> readTensor(llvm::StringRef bytes, llvm::StringRef what, mlir::MLIRContext &context,
                                  mlir::Type declared) {
  TensorProto proto;
  if (!proto.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return inputError("{0}: not a TensorProto", what);
  return readProto(proto, what, context, declared);
}

llvm::Expected<Tensor> readTensorFile(llvm::StringRef path, mlir::MLIRContext &context, mlir::Type declared) {
  auto bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  return readTensor(*bytes, path, context, declared);
}

llvm::Expected<std::optional<std::vector<Tensor>>> readValueFile(llvm::StringRef path, const DeclaredValue &declared,
                                                                 mlir::MLIRContext &context) {
  auto bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  auto parses = [&](google::protobuf::Message &message) {
    return message.ParsePartialFromArray(bytes->data(), static_cast<int>(bytes->size()));
  };
  bool isSequence = declared.kind == ValueKind::Sequence;
  OptionalProto optional;
  bool isRead = declared.isOptional ? parses(optional)
                : isSequence        ? parses(*optional.mutable_sequence_value())
                                    : parses(*optional.mutable_tensor_value());
  if (!isRead)
    return inputError("{0}: not {1} '{2}' as the model declares it", path, isSequence ? "a sequence" : "a tensor",
                      declared.name);
  if (!optional.has_sequence_value() && !optional.has_tensor_value())
    return std::nullopt;
  std::vector<Tensor> tensors;
  auto *list = optional.mutable_sequence_value()->mutable_tensor_values();
  if (!isSequence)
    *list->Add() = optional.tensor_value();
  for (TensorProto &proto : *list) {
    auto tensor = readProto(proto, path, context, declared.element);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

struct ModelData::State {
  std::string path;
  std::unique_ptr<ModelProto> model;
  llvm::StringMap<const TensorProto *> tensors;
  llvm::StringMap<const SparseTensorProto *> sparse;
};

ModelData::ModelData(std::unique_ptr<State> state) : state(std::move(state)) {}
ModelData::~ModelData() = default;
ModelData::ModelData(ModelData &&) noexcept = default;
ModelData &ModelData::operator=(ModelData &&) noexcept = default;

llvm::Expected<ModelData> ModelData::open(llvm::StringRef path) {
  auto bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  auto model = parseModel(*bytes, path);
  if (!model)
    return model.takeError();
  auto state = std::make_unique<State>();
  state->path = path.str();
  state->model = std::move(*model);
  const GraphProto &graph = state->model->graph();
  for (const TensorProto &tensor : graph.initializer())
    state->tensors.try_emplace(tensor.name(), &tensor);
  for (const SparseTensorProto &tensor : graph.sparse_initializer())
    state->sparse.try_emplace(tensor.values().name(), &tensor);
  for (const NodeProto &node : graph.node())
    for (const AttributeProto &attribute : node.attribute()) {
      if (node.input_size() != 0 || node.output_size() != 1)
        continue;
      if (attribute.has_t())
        state->tensors.try_emplace(node.output(0), &attribute.t());
      else if (attribute.has_sparse_tensor())
        state->sparse.try_emplace(node.output(0), &attribute.sparse_tensor());
    }
  return ModelData(std::move(state));
}

std::vector<DeclaredValue> ModelData::inputs(mlir::MLIRContext &context) const {
  std::vector<DeclaredValue> values;
  for (const ValueInfoProto &info : state->model->graph().input())
    values.push_back(declare(info, context));
  return values;
}

std::vector<DeclaredValue> ModelData::outputs(mlir::MLIRContext &context) const {
  std::vector<DeclaredValue> values;
  for (const ValueInfoProto &info : state->model->graph().output())
    values.push_back(declare(info, context));
  return values;
}

llvm::Expected<Tensor> ModelData::tensor(llvm::StringRef name, mlir::MLIRContext &context) const {
  std::string what = llvm::formatv("{0}: tensor '{1}'", state->path, name);
  if (const SparseTensorProto *sparse = state->sparse.lookup(name)) {
    auto header = readSparseHeader(*sparse, what, &context);
    if (!header)
      return header.takeError();
    auto data = readSparse(*sparse, *header, what);
    if (!data)
      return data.takeError();
    return Tensor::read(*data);
  }
  const TensorProto *proto = state->tensors.lookup(name);
  if (!proto)
    return llvm::make_error<AbsentData>(what + ": the file holds no tensor of that name");
  auto header = readHeader(*proto, what, &context);
  if (!header)
    return header.takeError();
  if (header->place == DataPlace::External) {
    auto whole = readExternal(*proto, *header, state->path, what);
    if (!whole)
      return whole.takeError();
    return readInline(*whole, *header, what);
  }
  if (header->place == DataPlace::Absent)
    return llvm::make_error<AbsentData>(what + ": is declared without data");
  return readInline(*proto, *header, what);
}

} // namespace apc
