// The module under construction: constants, parameters, names, failures.
#include "ImportState.h"

#include "../Onnx/DimExpression.h"
#include "../Onnx/External.h"

#include "apc/Support/Error.h"
#include "apc/Support/Pattern.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/Regex.h"

namespace apc::onnx {

ImportState::ImportState(mlir::MLIRContext &context, const ImportOptions &options, llvm::StringRef source,
                         FunctionTable functions)
    : context(context), options(options), source(source), operators(context), functions(std::move(functions)),
      diagnostics(&context), builder(&context) {
  mlir::Location location = nameLocation(source);
  module = mlir::ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  auto main = mlir::func::FuncOp::create(builder, location, "main", builder.getFunctionType({}, {}));
  body = main.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  none = NoneOp::create(builder, nameLocation("none")).getResult();
}

mlir::Location ImportState::nameLocation(llvm::StringRef name) {
  return mlir::NameLoc::get(mlir::StringAttr::get(&context, name));
}

std::string ImportState::uniqueName(llvm::StringRef name) {
  std::string unique = name.str();
  unsigned &count = usedNames[name];
  if (count++ == 0)
    return unique;
  do
    unique = (name + "#" + llvm::Twine(count++)).str();
  while (!usedNames.try_emplace(unique, 1).second);
  return unique;
}

void ImportState::fail(llvm::Error error) {
  std::string message = takeMessage(std::move(error)).second;
  if (!firstFailure)
    firstFailure = std::move(message);
  ++numFailures;
}

void ImportState::noteUnknownAttribute(llvm::StringRef attribute, const NodeProto &proto, llvm::StringRef node) {
  // Attributes that operators had before opset 6, for memory only, need no note.
  if (attribute != "consumed_inputs" && unknownAttributes.insert((proto.op_type() + "." + attribute).str()).second)
    report.notes.push_back(llvm::formatv("attribute '{0}' of node '{1}' ({2}) is none of the operator's; it is "
                                         "left out of account",
                                         attribute, node, proto.op_type()));
}

std::string ImportState::takeDiagnostic() {
  std::string text = diagnostics.takeFirstError();
  // "'apc.add' op shapes ..." -> "shapes ...": the caller names the node.
  if (llvm::StringRef(text).starts_with("'apc.")) {
    size_t end = text.find("' op ");
    if (end != std::string::npos)
      text.erase(0, end + 5);
  }
  return text;
}

mlir::Value ImportState::addConstant(mlir::DenseElementsAttr value, llvm::StringRef name) {
  auto op = ConstantOp::create(builder, nameLocation(name), value);
  op->setAttr(valuesAttribute, builder.getStrArrayAttr({name}));
  return op.getOutput();
}

mlir::Value ImportState::addStoredConstant(mlir::DenseElementsAttr value, llvm::StringRef name) {
  mlir::Value constant = addConstant(value, name);
  storedConstants.insert(constant.getDefiningOp());
  return constant;
}

mlir::Value ImportState::addParameter(mlir::RankedTensorType type, llvm::StringRef name, llvm::StringRef kind) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(none.getDefiningOp());
  auto op = ParameterOp::create(builder, nameLocation(name), type, builder.getStringAttr(name),
                                builder.getStringAttr(kind), /*location=*/{}, /*offset=*/{}, /*length=*/{});
  op->setAttr(valuesAttribute, builder.getStrArrayAttr({name}));
  if (isCountingType(type.getElementType()))
    op->setAttr(roleAttribute, builder.getStringAttr("constant"));
  return op.getOutput();
}

llvm::Expected<mlir::Value> ImportState::addTensor(const TensorProto &tensor, llvm::StringRef name, bool isWeight) {
  std::string what = llvm::formatv("{0}: tensor '{1}'", source, name);
  auto header = readHeader(tensor, what, &context);
  if (!header)
    return header.takeError();
  if (header->place == DataPlace::External)
    return addExternal(tensor, *header, name);
  if (header->place == DataPlace::Absent)
    return addParameter(header->type, name, "empty");
  bool small = header->numElements <= options.maxConstantElements;
  if (mlir::Value positions = small ? mlir::Value() : addPositions(tensor, *header, name))
    return positions;
  bool manyFloats = header->numElements > 1 || isNamedWeight(name);
  if (!small || (isWeight && manyFloats && !isCountingType(header->type.getElementType()))) {
    mlir::Value value = addParameter(header->type, name, "initializer");
    storedData[value] = &tensor;
    return value;
  }
  auto data = readData(tensor, *header, what);
  if (!data)
    return data.takeError();
  return addStoredConstant(*data, name);
}

mlir::Value ImportState::addPositions(const TensorProto &tensor, const TensorHeader &header, llvm::StringRef name) {
  std::optional<Progression> numbers = positionsIn(tensor, header);
  return numbers && numbers->step != 0 ? makeProgression(builder, name, *numbers, header.type) : mlir::Value();
}

bool ImportState::isNamedWeight(llvm::StringRef name) const {
  return isWeightName(name) || (options.parameters && llvm::Regex("^(" + *options.parameters + ")$").match(name));
}

llvm::Expected<mlir::Value> ImportState::addExternal(const TensorProto &tensor, const TensorHeader &header,
                                                     llvm::StringRef name) {
  ExternalData data = externalData(tensor);
  if (!data.fault.empty())
    return inputError("{0}: tensor '{1}': {2}", source, name, data.fault);
  mlir::Value value = addParameter(header.type, name, "external");
  auto op = value.getDefiningOp<ParameterOp>();
  op.setLocation(data.location);
  if (data.offset)
    op.setOffset(*data.offset);
  if (data.length)
    op.setLength(*data.length);
  storedData[value] = &tensor;
  bool isCounted = isCountingType(header.type.getElementType());
  if (!isCounted && (header.numElements != 1 || isNamedWeight(name)))
    return value;
  mlir::DenseElementsAttr known = readStored(value, tensor);
  return known ? addStoredConstant(known, name) : value;
}

const AttributeProto &ImportState::withData(const AttributeProto &attribute) {
  constexpr int32_t external = 1;
  if (!attribute.has_t() || attribute.t().data_location() != external)
    return attribute;
  std::string what = llvm::formatv("{0}: attribute '{1}'", source, attribute.name());
  auto header = readHeader(attribute.t(), what, &context);
  auto tensor = header && header->numElements <= options.maxConstantElements && !modelPath.empty()
                    ? readExternal(attribute.t(), *header, modelPath, what)
                    : llvm::Expected<TensorProto>(attribute.t());
  if (!header)
    llvm::consumeError(header.takeError());
  if (!tensor)
    return llvm::consumeError(tensor.takeError()), attribute;
  filledAttributes.push_back(attribute);
  *filledAttributes.back().mutable_t() = std::move(*tensor);
  return filledAttributes.back();
}

llvm::Expected<mlir::Value> ImportState::addSparse(const SparseTensorProto &tensor, llvm::StringRef name) {
  std::string what = llvm::formatv("{0}: sparse tensor '{1}'", source, name);
  auto header = readSparseHeader(tensor, what, &context);
  if (!header)
    return header.takeError();
  if (header->place == DataPlace::External || header->numElements > options.maxConstantElements)
    return addParameter(header->type, name, header->place == DataPlace::External ? "external" : "initializer");
  auto data = readSparse(tensor, *header, what);
  if (!data)
    return data.takeError();
  return addStoredConstant(*data, name);
}

mlir::DenseElementsAttr ImportState::readStored(mlir::Value parameter, const TensorProto &tensor) {
  auto type = llvm::cast<mlir::RankedTensorType>(parameter.getType());
  std::string what = llvm::formatv("{0}: tensor '{1}'", source, tensor.name());
  auto header = readHeader(tensor, what, &context);
  if (!header)
    return llvm::consumeError(header.takeError()), mlir::DenseElementsAttr();
  if (type.getNumElements() > options.maxConstantElements ||
      (header->place == DataPlace::External && modelPath.empty()))
    return {};
  llvm::Expected<TensorProto> whole = header->place == DataPlace::External
                                          ? readExternal(tensor, *header, modelPath, what)
                                          : llvm::Expected<TensorProto>(tensor);
  if (!whole) {
    unreadable[parameter] = takeMessage(whole.takeError()).second;
    return {};
  }
  auto data = readData(*whole, *header, what);
  if (data)
    return *data;
  unreadable[parameter] = takeMessage(data.takeError()).second;
  return {};
}

mlir::DenseElementsAttr ImportState::findData(mlir::Value value, bool guessRest) {
  DataMemo memo;
  return findData(value, memo, 0, guessRest);
}

mlir::DenseElementsAttr ImportState::findData(mlir::Value value, DataMemo &memo, unsigned depth, bool guessRest) {
  constexpr unsigned maxDepth = 32;
  mlir::Operation *op = value.getDefiningOp();
  if (!op)
    return inputData.lookup(value);
  if (depth > maxDepth)
    return {};
  if (mlir::DenseElementsAttr known = constantOf(value))
    return known;
  if (auto stored = storedData.find(value); stored != storedData.end())
    if (mlir::DenseElementsAttr data = readStored(value, *stored->second))
      return data;
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (guessRest && depth > 0 && llvm::isa<ParameterOp>(op) && tensor && tensor.getNumElements() == 1 &&
      tensor.getElementType().isInteger(64))
    return mlir::DenseElementsAttr::get(tensor, int64_t(-1));
  auto [entry, inserted] = memo.try_emplace(value);
  auto shape = shapeOf(value);
  if (!inserted || !shape || shape->numElements() > options.maxConstantElements || op->getNumOperands() == 0)
    return entry->second;
  llvm::SmallVector<mlir::DenseElementsAttr> operands;
  for (mlir::Value operand : op->getOperands())
    operands.push_back(isAbsent(operand) ? mlir::DenseElementsAttr() : findData(operand, memo, depth + 1, guessRest));
  auto results = foldConstants(op, operands);
  mlir::DenseElementsAttr data;
  if (results)
    data = (*results)[llvm::cast<mlir::OpResult>(value).getResultNumber()];
  memo[value] = data;
  return data;
}

std::optional<int64_t> ImportState::declaredDim(llvm::StringRef value, unsigned dim) {
  auto lookUp = [&](llvm::StringRef name) -> std::optional<double> {
    auto bound = options.dims.find(name.str());
    if (bound == options.dims.end())
      return std::nullopt;
    usedDims.insert(name);
    return static_cast<double>(bound->second);
  };
  std::optional<double> size = lookUp((value + "." + llvm::Twine(dim)).str());
  if (size)
    return static_cast<int64_t>(*size);
  auto declared = declaredTypes.find(value);
  if (declared == declaredTypes.end() || declared->second->shape().dim_size() <= static_cast<int>(dim))
    return std::nullopt;
  const auto &text = declared->second->shape().dim(static_cast<int>(dim));
  auto number = text.has_dim_value() ? std::optional<int64_t>(text.dim_value()) : evaluateDim(text.dim_param(), lookUp);
  return number && *number >= 0 ? number : std::nullopt;
}

std::optional<llvm::SmallVector<int64_t, 4>> ImportState::declaredDims(llvm::StringRef value) {
  auto declared = declaredTypes.find(value);
  bool hasShape = declared != declaredTypes.end() && declared->second->has_shape();
  llvm::SmallVector<int64_t, 4> dims;
  // Without a declared shape, --dim gives all dims, as many as there are.
  for (unsigned dim = 0; !hasShape || static_cast<int>(dim) < declared->second->shape().dim_size(); ++dim) {
    std::optional<int64_t> size = declaredDim(value, dim);
    if (!size && !hasShape && dim > 0)
      break;
    if (!size)
      return std::nullopt;
    dims.push_back(*size);
  }
  return dims;
}

bool isCountingType(mlir::Type element) {
  return element.isInteger(1) || (element.isInteger() && element.getIntOrFloatBitWidth() >= 16);
}

bool isWeightName(llvm::StringRef name) {
  static const Pattern pattern(
      "(^|[./:])(weight|bias|kernel|gamma|beta|running_mean|running_var|embeddings?)(:[0-9]+)?$|(_weights?|_kernel)$",
      Letters::AsWritten);
  return pattern.match(name);
}

} // namespace apc::onnx
