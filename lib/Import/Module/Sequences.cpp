// Operators of sequences and optional values, as lists of values: slices and concatenations are all that stays of them.
#include "Sequences.h"

#include "GraphImporter.h"
#include "NodeImporter.h"

#include "apc/Support/Error.h"

#include "mlir/IR/TypeUtilities.h"

namespace apc::onnx {

namespace {

/// The elements of all sequences together: a loop makes a sequence of each length.
constexpr int64_t maxSequenceElements = 1 << 22;

/// The version of the operators that those of sequences come to.
constexpr int64_t builtOpset = 18;

class SequenceBuilder {
public:
  SequenceBuilder(ImportState &state, const SequenceNode &node, std::string &remark)
      : state(state), node(node), remark(remark) {}

  llvm::Expected<mlir::Value> run();
  static bool handles(const SequenceNode &node);

private:
  using Import = llvm::Expected<mlir::Value> (SequenceBuilder::*)();
  struct Row {
    llvm::StringLiteral name;
    size_t least, most; ///< numbers of operands
    Import import;
    bool takesAny = false; ///< does its work only where it is given a sequence or an absent value
  };
  static llvm::ArrayRef<Row> rows();
  static const Row *rowOf(const SequenceNode &node);

  template <typename... Args>
  llvm::Error error(const char *format, Args &&...args) {
    return inputError("{0}: node '{1}' ({2}): {3}", state.source, node.name, node.proto.op_type(),
                      llvm::formatv(format, std::forward<Args>(args)...).str());
  }

  llvm::Expected<mlir::Value> makeEmpty() { return sequenceOf({}); }
  llvm::Expected<mlir::Value> construct();
  llvm::Expected<mlir::Value> insert();
  llvm::Expected<mlir::Value> erase();
  llvm::Expected<mlir::Value> takeElement();
  llvm::Expected<mlir::Value> length();
  llvm::Expected<mlir::Value> concat();
  llvm::Expected<mlir::Value> split();
  llvm::Expected<mlir::Value> pass() { return operand(0); }
  llvm::Expected<mlir::Value> hasElement();
  llvm::Expected<mlir::Value> getElement();

  bool has(size_t index) const { return index < node.operands.size() && !isAbsent(node.operands[index]); }
  mlir::Value operand(size_t index) const { return index < node.operands.size() ? node.operands[index] : state.none; }
  llvm::StringRef operandName(size_t index) const { return node.proto.input(static_cast<int>(index)); }
  int64_t integer(llvm::StringRef attribute, int64_t otherwise) const {
    const AttributeProto *given = findAttribute(node.attributes, attribute);
    return given ? given->i() : otherwise;
  }

  llvm::Expected<llvm::SmallVector<mlir::Value>> takeSequence();
  llvm::Expected<mlir::Value> takeTensor(size_t index);
  /// The place that operand `index` names, from -`count` to `last`; `otherwise` where the operand is absent, none where
  /// data decides it.
  llvm::Expected<std::optional<size_t>> takePlace(size_t index, size_t count, size_t last, size_t otherwise);
  llvm::Expected<mlir::Value> sequenceOf(mlir::ValueRange elements);
  llvm::Expected<std::optional<llvm::SmallVector<int64_t>>> partSizes(mlir::Value data, int64_t axis);
  llvm::Expected<llvm::SmallVector<mlir::Value>> splitInto(mlir::Value data, int64_t axis,
                                                           llvm::ArrayRef<int64_t> sizes);
  /// The results of an operator of tensors in the place of this node.
  llvm::Expected<llvm::SmallVector<mlir::Value>>
  build(llvm::StringRef operatorName, llvm::ArrayRef<mlir::Value> operands, llvm::ArrayRef<std::string> operandNames,
        llvm::ArrayRef<std::string> resultNames, std::optional<int64_t> axis);
  mlir::Value listOf(llvm::ArrayRef<int64_t> numbers, llvm::StringRef what) {
    Tensor list{{static_cast<int64_t>(numbers.size())}, state.builder.getI64Type(), {}, {}};
    list.ints.assign(numbers.begin(), numbers.end());
    return state.addConstant(list.toAttribute(), node.name + "." + what.str());
  }

  ImportState &state;
  const SequenceNode &node;
  std::string &remark;
};

llvm::ArrayRef<SequenceBuilder::Row> SequenceBuilder::rows() {
  constexpr size_t any = std::numeric_limits<size_t>::max();
  static const Row table[] = {
      {"SequenceEmpty", 0, 0, &SequenceBuilder::makeEmpty},
      {"SequenceConstruct", 1, any, &SequenceBuilder::construct},
      {"SequenceInsert", 2, 3, &SequenceBuilder::insert},
      {"SequenceErase", 1, 2, &SequenceBuilder::erase},
      {"SequenceAt", 2, 2, &SequenceBuilder::takeElement},
      {"SequenceLength", 1, 1, &SequenceBuilder::length},
      {"ConcatFromSequence", 1, 1, &SequenceBuilder::concat},
      {"SplitToSequence", 1, 2, &SequenceBuilder::split},
      {"Optional", 0, 1, &SequenceBuilder::pass},
      {"OptionalHasElement", 0, 1, &SequenceBuilder::hasElement},
      {"OptionalGetElement", 1, 1, &SequenceBuilder::getElement},
      {"Identity", 1, 1, &SequenceBuilder::pass, true},
  };
  return table;
}

const SequenceBuilder::Row *SequenceBuilder::rowOf(const SequenceNode &node) {
  std::string name = operatorName(node.proto.domain(), node.proto.op_type());
  const Row *row = llvm::find_if(rows(), [&](const Row &each) { return each.name == name; });
  return row == rows().end() ? nullptr : row;
}

bool SequenceBuilder::handles(const SequenceNode &node) {
  const Row *row = rowOf(node);
  return row && (!row->takesAny ||
                 (node.operands.size() == 1 &&
                  (isSequence(node.operands[0]) || (isAbsent(node.operands[0]) && !node.proto.input(0).empty()))));
}

llvm::Expected<mlir::Value> SequenceBuilder::run() {
  const Row &row = *rowOf(node);
  if (node.operands.size() < row.least || node.operands.size() > row.most)
    return error("has {0} inputs; {1} to {2} are accepted", node.operands.size(), row.least,
                 std::min(row.most, std::max(row.least, node.operands.size() - 1)));
  if (node.proto.output_size() != 1)
    return error("has {0} outputs, 1 is accepted", node.proto.output_size());
  return (this->*row.import)();
}

llvm::Expected<llvm::SmallVector<mlir::Value>> SequenceBuilder::takeSequence() {
  if (!has(0))
    return error("input 0 ('{0}') is missing; a sequence is needed", operandName(0));
  if (!isSequence(operand(0)))
    return error("input 0 ('{0}') is a tensor; a sequence is needed", operandName(0));
  return elementsOf(operand(0));
}

llvm::Expected<mlir::Value> SequenceBuilder::takeTensor(size_t index) {
  if (!has(index))
    return error("input {0} is missing; a tensor is needed", index);
  if (isSequence(operand(index)))
    return error("input {0} ('{1}') is a sequence; a tensor is needed", index, operandName(index));
  return operand(index);
}

llvm::Expected<std::optional<size_t>> SequenceBuilder::takePlace(size_t index, size_t count, size_t last,
                                                                 size_t otherwise) {
  if (!has(index))
    return otherwise;
  auto value = takeTensor(index);
  if (!value)
    return value.takeError();
  if (!mlir::getElementTypeOrSelf(*value).isInteger() || shapeOf(*value)->numElements() != 1)
    return error("input {0} ('{1}') must be one integer, a position", index, operandName(index));
  mlir::DenseElementsAttr data = state.findData(*value);
  if (!data) {
    remark = tellRunTime(state, "position", *value, operandName(index));
    return std::nullopt;
  }
  int64_t place = Tensor::read(data).ints.front(), size = static_cast<int64_t>(count);
  if (place < -size || place > static_cast<int64_t>(last))
    return error("position {0} ('{1}') lies outside a sequence of {2} elements; {3} to {4} are accepted", place,
                 operandName(index), size, -size, last);
  return static_cast<size_t>(place < 0 ? place + size : place);
}

llvm::Expected<mlir::Value> SequenceBuilder::sequenceOf(mlir::ValueRange elements) {
  for (mlir::Value element : elements)
    if (mlir::getElementTypeOrSelf(element) != mlir::getElementTypeOrSelf(elements.front()))
      return error("makes a sequence of {0} and {1}; all elements need one element type",
                   mlir::getElementTypeOrSelf(elements.front()), mlir::getElementTypeOrSelf(element));
  mlir::Value sequence = makeSequence(state, node.name, elements);
  if (!sequence)
    return error("sequences of the model hold more than {0} elements together", maxSequenceElements);
  return sequence;
}

llvm::Expected<mlir::Value> SequenceBuilder::construct() {
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (auto tensor = takeTensor(i); !tensor)
      return tensor.takeError();
  return sequenceOf(node.operands);
}

llvm::Expected<mlir::Value> SequenceBuilder::insert() {
  auto elements = takeSequence();
  if (!elements)
    return elements.takeError();
  auto tensor = takeTensor(1);
  if (!tensor)
    return tensor.takeError();
  size_t count = elements->size();
  auto place = takePlace(2, count, /*last=*/count, /*otherwise=*/count);
  if (!place)
    return place.takeError();
  if (!*place)
    return mlir::Value();
  elements->insert(elements->begin() + static_cast<std::ptrdiff_t>(**place), *tensor);
  return sequenceOf(*elements);
}

llvm::Expected<mlir::Value> SequenceBuilder::erase() {
  auto elements = takeSequence();
  if (!elements)
    return elements.takeError();
  if (elements->empty())
    return error("sequence '{0}' has no element to erase", operandName(0));
  auto place = takePlace(1, elements->size(), elements->size() - 1, elements->size() - 1);
  if (!place)
    return place.takeError();
  if (!*place)
    return mlir::Value();
  elements->erase(elements->begin() + static_cast<std::ptrdiff_t>(**place));
  return sequenceOf(*elements);
}

llvm::Expected<mlir::Value> SequenceBuilder::takeElement() {
  auto elements = takeSequence();
  if (!elements)
    return elements.takeError();
  if (elements->empty())
    return error("sequence '{0}' has no elements", operandName(0));
  if (!has(1))
    return error("input 1 is missing; a position is needed");
  auto place = takePlace(1, elements->size(), elements->size() - 1, 0);
  if (!place)
    return place.takeError();
  return *place ? (*elements)[**place] : mlir::Value();
}

llvm::Expected<mlir::Value> SequenceBuilder::length() {
  auto elements = takeSequence();
  if (!elements)
    return elements.takeError();
  Tensor count{{}, state.builder.getI64Type(), {static_cast<int64_t>(elements->size())}, {}};
  return state.addConstant(count.toAttribute(), node.valuePrefix + node.proto.output(0));
}

llvm::Expected<llvm::SmallVector<mlir::Value>> SequenceBuilder::build(llvm::StringRef operatorName,
                                                                      llvm::ArrayRef<mlir::Value> operands,
                                                                      llvm::ArrayRef<std::string> operandNames,
                                                                      llvm::ArrayRef<std::string> resultNames,
                                                                      std::optional<int64_t> axis) {
  NodeProto proto;
  proto.set_op_type(node.proto.op_type());
  *proto.mutable_metadata_props() = node.proto.metadata_props();
  for (const std::string &name : operandNames)
    proto.add_input(name);
  for (const std::string &name : resultNames)
    proto.add_output(name);
  AttributeProto number;
  number.set_name("axis");
  number.set_type(2);
  number.set_i(axis.value_or(0));
  AttributeList attributes;
  if (axis)
    attributes.push_back({number.name(), &number});
  NodeToImport built{proto,      *state.operators.find(operatorName),      node.name, node.valuePrefix,
                     attributes, llvm::SmallVector<mlir::Value>(operands), builtOpset};
  return importNode(state, built);
}

llvm::Expected<mlir::Value> SequenceBuilder::concat() {
  auto elements = takeSequence();
  if (!elements)
    return elements.takeError();
  if (elements->empty())
    return error("sequence '{0}' has no elements to concatenate", operandName(0));
  const AttributeProto *axis = findAttribute(node.attributes, "axis");
  if (!axis)
    return error("attribute 'axis' is missing; an integer is needed");
  std::vector<std::string> names;
  for (size_t i = 0; i < elements->size(); ++i)
    names.push_back(elementName(operandName(0), i));
  if (integer("new_axis", 0) != 0) {
    mlir::Value axes = listOf({axis->i()}, "axes");
    for (auto [element, name] : llvm::zip_equal(*elements, names)) {
      auto grown = build("Unsqueeze", {element, axes}, {name, ""}, {name}, std::nullopt);
      if (!grown)
        return grown.takeError();
      element = grown->front();
    }
  }
  auto joined = build("Concat", *elements, names, {node.proto.output(0)}, axis->i());
  if (!joined)
    return joined.takeError();
  return joined->front();
}

/// The sizes of the parts: the operand's numbers, parts of the operand's one number (the last may be smaller), or 1.
llvm::Expected<std::optional<llvm::SmallVector<int64_t>>> SequenceBuilder::partSizes(mlir::Value data, int64_t axis) {
  int64_t size = dimsOf(data)[static_cast<size_t>(axis)], part = 1;
  if (has(1)) {
    auto given = takeTensor(1);
    if (!given)
      return given.takeError();
    if (!mlir::getElementTypeOrSelf(*given).isInteger() || dimsOf(*given).size() > 1)
      return error("input 1 ('{0}') must be an integer or a list of integers, the sizes of the parts", operandName(1));
    mlir::DenseElementsAttr numbers = state.findData(*given);
    if (!numbers) {
      remark = tellRunTime(state, "split", *given, operandName(1));
      return std::nullopt;
    }
    Tensor sizes = Tensor::read(numbers);
    if (sizes.dims.size() == 1)
      return llvm::SmallVector<int64_t>(sizes.ints.begin(), sizes.ints.end());
    part = sizes.ints.front();
  }
  if (part < 1)
    return error("splits a dim of {0} into parts of {1}; a positive number is needed", size, part);
  if (size / part >= maxSequenceElements)
    return error("would split a dim of {0} into more than {1} parts", size, maxSequenceElements);
  llvm::SmallVector<int64_t> sizes(static_cast<size_t>(size / part), part);
  if (size % part != 0)
    sizes.push_back(size % part);
  return sizes;
}

llvm::Expected<llvm::SmallVector<mlir::Value>> SequenceBuilder::splitInto(mlir::Value data, int64_t axis,
                                                                          llvm::ArrayRef<int64_t> sizes) {
  if (sizes.size() == 1 && sizes[0] == dimsOf(data)[static_cast<size_t>(axis)])
    return llvm::SmallVector<mlir::Value>{data};
  std::vector<std::string> names;
  for (size_t i = 0; i < sizes.size(); ++i)
    names.push_back(elementName(node.proto.output(0), i));
  if (names.empty())
    return llvm::SmallVector<mlir::Value>();
  return build("Split", {data, listOf(sizes, "sizes")}, {operandName(0).str(), ""}, names, axis);
}

llvm::Expected<mlir::Value> SequenceBuilder::split() {
  auto data = takeTensor(0);
  if (!data)
    return data.takeError();
  auto numDims = static_cast<int64_t>(dimsOf(*data).size());
  int64_t axis = integer("axis", 0);
  if (axis < -numDims || axis >= numDims)
    return error("attribute 'axis' is {0}, for an input '{1}' of {2} dims; -{2} to {3} are accepted", axis,
                 operandName(0), numDims, numDims - 1);
  axis = axis < 0 ? axis + numDims : axis;
  auto sizes = partSizes(*data, axis);
  if (!sizes)
    return sizes.takeError();
  if (!*sizes)
    return mlir::Value();
  auto parts = splitInto(*data, axis, **sizes);
  if (!parts)
    return parts.takeError();
  if (!has(1) && integer("keepdims", 1) == 0 && !parts->empty()) {
    mlir::Value axes = listOf({axis}, "axes");
    for (auto [index, part] : llvm::enumerate(*parts)) {
      std::string name = elementName(node.proto.output(0), index);
      auto squeezed = build("Squeeze", {part, axes}, {name, ""}, {name}, std::nullopt);
      if (!squeezed)
        return squeezed.takeError();
      part = squeezed->front();
    }
  }
  return sequenceOf(*parts);
}

llvm::Expected<mlir::Value> SequenceBuilder::hasElement() {
  Tensor answer{{}, state.builder.getI1Type(), {has(0) ? 1 : 0}, {}};
  return state.addConstant(answer.toAttribute(), node.valuePrefix + node.proto.output(0));
}

llvm::Expected<mlir::Value> SequenceBuilder::getElement() {
  if (!has(0))
    return error("optional value '{0}' has no element", operandName(0));
  return operand(0);
}

} // namespace

bool isSequence(mlir::Value value) { return llvm::isa<mlir::TupleType>(value.getType()); }

llvm::SmallVector<mlir::Value> elementsOf(mlir::Value sequence) {
  return llvm::SmallVector<mlir::Value>(sequence.getDefiningOp()->getOperands());
}

mlir::Value makeSequence(ImportState &state, llvm::StringRef name, mlir::ValueRange elements) {
  auto count = static_cast<int64_t>(elements.size());
  if (count > maxSequenceElements - state.numSequenceElements)
    return {};
  state.numSequenceElements += count;
  state.readBySequences.insert(elements.begin(), elements.end());
  auto type = mlir::TupleType::get(&state.context, elements.getTypes());
  return mlir::UnrealizedConversionCastOp::create(state.builder, state.nameLocation(name), mlir::TypeRange(type),
                                                  elements)
      .getResult(0);
}

std::string elementName(llvm::StringRef sequence, size_t index) {
  return (sequence + "[" + llvm::Twine(index) + "]").str();
}

bool isSequenceNode(const SequenceNode &node) { return SequenceBuilder::handles(node); }

llvm::Expected<mlir::Value> importSequenceNode(ImportState &state, const SequenceNode &node, std::string &remark) {
  state.readBySequences.insert(node.operands.begin(), node.operands.end());
  return SequenceBuilder(state, node, remark).run();
}

std::string tellRunTime(const ImportState &state, llvm::StringRef role, mlir::Value value, llvm::StringRef name) {
  std::string text = llvm::formatv(" ({0} '{1}' is known at run time only", role, name);
  if (auto input = decidingInput(value))
    text += llvm::formatv(": say --value {0}=NUMBER to give graph input '{0}'", state.inputNames[*input]);
  return text + ")";
}

} // namespace apc::onnx
