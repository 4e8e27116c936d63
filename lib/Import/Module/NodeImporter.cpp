// One ONNX node -> one op: operands, attributes, inferred types, folding.
#include "NodeImporter.h"
#include "Weights.h"

#include "apc/IR/CountedResults.h"
#include "apc/Support/Error.h"

#include "mlir/IR/TypeUtilities.h"

namespace apc::onnx {

namespace {

constexpr llvm::StringLiteral opsetAttribute = "opset_version";
constexpr int64_t maxListed = 64; ///< elements of an input that a user would list

/// The elements of all constants that nodes fold to: constants of all trips of a loop stay in memory.
constexpr int64_t maxFolded = 1 << 24;

class NodeBuilder {
public:
  NodeBuilder(ImportState &state, const NodeToImport &node) : state(state), node(node), operands(node.operands) {}

  llvm::Expected<llvm::SmallVector<mlir::Value>> run() {
    if (llvm::Error error = placeOperands())
      return error;
    if (llvm::Error error = placeAttributes())
      return error;
    if (llvm::Error error = checkOperands())
      return error;
    auto numResults = countResults();
    if (!numResults)
      return numResults.takeError();
    return build(*numResults);
  }

private:
  template <typename... Args>
  llvm::Error error(const char *format, Args &&...args) {
    return inputError("{0}: node '{1}' ({2}): {3}", state.source, node.name, node.proto.op_type(),
                      llvm::formatv(format, std::forward<Args>(args)...).str());
  }

  size_t numFixed() const { return node.entry.operands.size() - (node.entry.variadicOperands ? 1 : 0); }

  /// Fills up with `none` to the declared number.
  llvm::Error placeOperands() {
    size_t declared = node.entry.operands.size();
    if (!node.entry.variadicOperands) {
      while (operands.size() > declared && isAbsent(operands.back()))
        operands.pop_back();
      if (operands.size() > declared)
        return error("has {0} inputs, at most {1} are accepted", operands.size(), declared);
    }
    while (operands.size() < numFixed())
      operands.push_back(state.none);
    return llvm::Error::success();
  }

  llvm::Error checkOperands() {
    for (size_t i = 0; i < operands.size(); ++i) {
      size_t declared = std::min(i, node.entry.operands.size() - 1);
      if (isAbsent(operands[i]) && !node.entry.optional[declared])
        return error("input {0} ('{1}') is missing, it is required", i, node.entry.operands[declared]);
    }
    return llvm::Error::success();
  }

  llvm::Error placeAttributes() {
    for (const NamedAttributeProto &attribute : node.attributes)
      if (llvm::Error failure = placeAttribute(attribute))
        return failure;
    auto opset = node.entry.attributes.find(opsetAttribute);
    if (opset != node.entry.attributes.end())
      attributes.set(opset->second, state.builder.getI64IntegerAttr(node.opsetVersion));
    auto emitError = [&] { return mlir::emitError(state.nameLocation(node.name)); };
    mlir::RegisteredOperationName name = node.entry.name;
    if (mlir::succeeded(name.verifyInherentAttrs(attributes, emitError)))
      return llvm::Error::success();
    std::string message = state.takeDiagnostic();
    for (const NamedAttributeProto &attribute : node.attributes)
      if (llvm::StringRef(message).starts_with(("attribute '" + attribute.name + "' failed").str()))
        return error("attribute '{0}' is {1}; {2} is needed", attribute.name, describeAttribute(*attribute.proto),
                     neededInstead(message));
    return error("{0}", message);
  }

  /// MLIR's words for attributes in ONNX's: what stands behind "failed to satisfy constraint: ".
  static llvm::StringRef neededInstead(llvm::StringRef message) {
    static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> words[] = {
        {"64-bit signless integer attribute", "an integer"},
        {"32-bit float attribute", "a float"},
        {"string attribute", "a string"},
        {"i64 dense array attribute", "a list of integers"},
        {"f32 dense array attribute", "a list of floats"},
        {"constant vector/tensor attribute", "a tensor"}};
    llvm::StringRef constraint = message.rsplit("constraint: ").second;
    for (const auto &[mlirWords, onnxWords] : words)
      if (constraint == mlirWords)
        return onnxWords;
    return constraint;
  }

  llvm::Error placeAttribute(const NamedAttributeProto &attribute) {
    std::string what = llvm::formatv("{0}: node '{1}' ({2}): attribute '{3}'", state.source, node.name,
                                     node.proto.op_type(), attribute.name);
    auto inherent = node.entry.attributes.find(attribute.name);
    // Case does not count: the attribute `k` of an old opset is the operand `K` of newer ones.
    auto operand = llvm::find_if(node.entry.operands,
                                 [&](llvm::StringRef declared) { return declared.equals_insensitive(attribute.name); });
    if (inherent == node.entry.attributes.end() && operand != node.entry.operands.end()) {
      auto index = static_cast<size_t>(operand - node.entry.operands.begin());
      if (index < operands.size() && isAbsent(operands[index]))
        return placeAsOperand(attribute, index);
    }
    auto converted = convertAttribute(state.withData(*attribute.proto), what, &state.context);
    if (inherent == node.entry.attributes.end())
      state.noteUnknownAttribute(attribute.name, node.proto, node.name);
    if (!converted && inherent != node.entry.attributes.end())
      return converted.takeError();
    // Attributes of no operator are kept for people who read the module.
    if (!converted)
      llvm::consumeError(converted.takeError());
    else if (inherent != node.entry.attributes.end())
      attributes.set(inherent->second, *converted);
    else
      attributes.set(("onnx." + attribute.name).str(), *converted);
    return llvm::Error::success();
  }

  llvm::Error placeAsOperand(const NamedAttributeProto &attribute, size_t index) {
    mlir::Type element = operands.empty() || isAbsent(operands[0]) ? mlir::Type() : operandType(0).getElementType();
    mlir::DenseElementsAttr value = attributeAsOperand(*attribute.proto, element, &state.context);
    if (!value)
      return error("attribute '{0}' must be a number or a list of numbers", attribute.name);
    operands[index] = state.addConstant(value, node.name + "." + attribute.name.str());
    return llvm::Error::success();
  }

  mlir::RankedTensorType operandType(size_t index) const {
    return llvm::cast<mlir::RankedTensorType>(operands[index].getType());
  }

  llvm::Expected<size_t> countResults() {
    auto given = static_cast<size_t>(node.proto.output_size());
    if (node.entry.variadicResults)
      return std::max<size_t>(given, node.entry.numResults - 1);
    for (size_t i = node.entry.numResults; i < given; ++i)
      if (!node.proto.output(static_cast<int>(i)).empty())
        return error("has {0} outputs, at most {1} are accepted", given, node.entry.numResults);
    return node.entry.numResults;
  }

  bool isNamed(size_t result) const {
    return result < static_cast<size_t>(node.proto.output_size()) &&
           !node.proto.output(static_cast<int>(result)).empty();
  }

  llvm::Expected<llvm::SmallVector<mlir::Value>> build(size_t numResults) {
    // A type that every result constraint accepts, until the real ones are inferred.
    mlir::Type unknown = mlir::RankedTensorType::get({}, state.builder.getF32Type());
    mlir::OperationState opState(state.nameLocation(node.name), mlir::OperationName(node.entry.name));
    opState.addOperands(operands);
    opState.addTypes(llvm::SmallVector<mlir::Type>(numResults, unknown));
    opState.attributes = attributes;
    mlir::Operation *op = state.builder.create(opState);
    if (llvm::Error failure = inferTypes(op)) {
      op->erase();
      return failure;
    }
    if (auto folded = fold(op)) {
      op->erase();
      return std::move(*folded);
    }
    llvm::SmallVector<llvm::StringRef> names;
    std::vector<std::string> prefixed;
    for (size_t i = 0; i < numResults; ++i)
      prefixed.push_back(isNamed(i) ? node.valuePrefix + node.proto.output(static_cast<int>(i)) : "");
    names.assign(prefixed.begin(), prefixed.end());
    op->setAttr(valuesAttribute, state.builder.getStrArrayAttr(names));
    for (const StringStringEntryProto &entry : node.proto.metadata_props())
      if (entry.key() == "namespace")
        op->setAttr("onnx.namespace", state.builder.getStringAttr(entry.value()));
    return llvm::SmallVector<mlir::Value>(op->result_begin(), op->result_end());
  }

  llvm::Error inferTypes(mlir::Operation *op) {
    auto interface = llvm::cast<OperatorInterface>(op);
    if (mlir::failed(interface.verifyDeclaration())) {
      std::string message = state.takeDiagnostic();
      return error("{0}{1}", message, describeOperands(op));
    }
    llvm::SmallVector<mlir::Type, 2> types;
    if (mlir::failed(interface.inferTypes(types))) {
      std::string message = state.takeDiagnostic();
      auto isFound = inferWithoutConstants(op, types);
      if (!isFound)
        return isFound.takeError();
      if (!*isFound) {
        state.takeDiagnostic();
        return error("{0}{1}{2}{3}", message, describeOperands(op), describeUnreadable(op), describeRemedies(op));
      }
    }
    if (types.size() != op->getNumResults())
      return error("has {0} outputs, but {1} follow from its inputs", op->getNumResults(), types.size());
    for (auto [index, type] : llvm::enumerate(types)) {
      auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
      if (!tensor && !llvm::isa<mlir::NoneType>(type))
        return error("output {0} has no tensor type", index);
      if (tensor && !countElements(tensor.getShape()))
        return error(
            "output {0} would have dims [{1}]: a dim is negative, or their product is 2^60 or more", index,
            llvm::formatv("{0:$[, ]}", llvm::make_range(tensor.getShape().begin(), tensor.getShape().end())).str());
    }
    return setTypes(op, types);
  }

  /// Results that the node does not name become absent, where the op allows it. Everything that the op verifies holds
  /// afterwards, so constants may be folded and the module needs no further verification.
  llvm::Error setTypes(mlir::Operation *op, llvm::ArrayRef<mlir::Type> types) {
    bool someAbsent = false;
    for (auto [index, type] : llvm::enumerate(types)) {
      // The first result always has a type, because the factor rule needs it.
      bool absent = index > 0 && !isNamed(index);
      someAbsent |= absent;
      op->getResult(index).setType(absent ? state.builder.getNoneType() : type);
    }
    if (mlir::succeeded(op->getName().verifyInvariants(op)))
      return llvm::Error::success();
    std::string message = state.takeDiagnostic();
    for (auto [index, type] : llvm::enumerate(types))
      op->getResult(index).setType(type);
    if (someAbsent && mlir::succeeded(op->getName().verifyInvariants(op)))
      return llvm::Error::success();
    state.takeDiagnostic();
    return error("{0}{1}", message, describeOperands(op));
  }

  /// The last resorts for shapes that depend on data, in their order.
  llvm::Expected<bool> inferWithoutConstants(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
    if (inferFromData(op, types, false))
      return true;
    auto isCounted = inferFromCount(op, types);
    if (!isCounted || *isCounted)
      return isCounted;
    return inferFromDeclaration(op, types) || inferFromData(op, types, true);
  }

  std::string resultName(size_t result) const { return node.valuePrefix + node.proto.output(static_cast<int>(result)); }

  /// For a number of results that depends on values: the number that --dim or the file gives, or the most there can be.
  llvm::Expected<bool> inferFromCount(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
    auto counted = countedResults(op);
    if (!counted)
      return false;
    std::optional<int64_t> declared;
    for (unsigned i = 0; i < op->getNumResults() && !declared; ++i)
      declared = isNamed(i) ? state.declaredDim(resultName(i), counted->dim) : std::nullopt;
    if (declared && counted->most && *declared > *counted->most)
      return error("dim {0} of '{1}' is {2} by --dim or the file, but there are at most {3} results", counted->dim,
                   node.proto.output(0), *declared, *counted->most);
    std::optional<int64_t> count = declared ? declared : counted->most;
    if (!count)
      return false;
    setResultCount(op, *count, state.builder);
    types.clear();
    if (mlir::failed(llvm::cast<OperatorInterface>(op).inferTypes(types)))
      return clearResultCount(op), false;
    noteCount(*counted, *count, declared.has_value());
    return true;
  }

  void noteCount(const CountedResults &counted, int64_t count, bool isDeclared) {
    std::string dim = (node.valuePrefix + node.proto.output(0) + "." + llvm::Twine(counted.dim)).str();
    if (isDeclared)
      state.report.notes.push_back(llvm::formatv("the number of results of node '{0}' ({1}) depends on data; {2} are "
                                                 "taken, as declared",
                                                 node.name, node.proto.op_type(), count));
    else
      state.report.notes.push_back(llvm::formatv("the number of results of node '{0}' ({1}) depends on data; {2} are "
                                                 "taken, the most that there can be; --dim {3}=N takes fewer",
                                                 node.name, node.proto.op_type(), count, dim));
  }

  /// The flags that tell what data decides.
  std::string describeRemedies(mlir::Operation *op) const {
    std::string text;
    if (auto counted = countedResults(op); counted && isNamed(0))
      text = llvm::formatv("; --dim {0}.{1}=N gives the number of results", resultName(0), counted->dim);
    for (mlir::Value operand : op->getOperands()) {
      auto input = llvm::dyn_cast<mlir::BlockArgument>(operand);
      if (input && input.getArgNumber() < state.inputNames.size() && shapeOf(operand)->numElements() <= maxListed &&
          mlir::getElementTypeOrSelf(operand).isInteger())
        text += llvm::formatv("; --value {0}=NUMBERS gives the numbers of an input",
                              state.inputNames[input.getArgNumber()]);
    }
    return text;
  }

  /// Turns operands into constants, the last operand first, until the types follow. Candidates are weights, inputs and
  /// ops whose data is at hand.
  bool inferFromData(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types, bool guessRest) {
    constexpr unsigned maxOperands = 16;
    for (unsigned index = std::min(op->getNumOperands(), maxOperands); index-- > 0;) {
      mlir::Value operand = op->getOperand(index);
      mlir::DenseElementsAttr data =
          isAbsent(operand) || constantOf(operand) ? nullptr : state.findData(operand, guessRest);
      if (!data)
        continue;
      replaceByConstant(op, index, data);
      types.clear();
      if (mlir::succeeded(llvm::cast<OperatorInterface>(op).inferTypes(types))) {
        if (guessRest)
          state.report.notes.push_back(llvm::formatv(
              "the shape of node '{0}' depends on a number that is not there and is taken for -1", node.name));
        return true;
      }
    }
    return false;
  }

  void replaceByConstant(mlir::Operation *op, unsigned index, mlir::DenseElementsAttr data) {
    mlir::OpBuilder::InsertionGuard guard(state.builder);
    state.builder.setInsertionPoint(op);
    op->setOperand(index, state.addConstant(data, node.name + "." + operandName(op, index)));
  }

  /// For a shape that depends on a list of integers without data: takes the dims that the file declares for the result
  /// as the list, if there are as many dims as entries and the list leads to the declared shape.
  bool inferFromDeclaration(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
    auto declared = isNamed(0) && op->getNumResults() == 1 ? state.declaredDims(resultName(0)) : std::nullopt;
    if (!declared)
      return false;
    auto length = static_cast<int64_t>(declared->size());
    mlir::Type listType = mlir::RankedTensorType::get({length}, state.builder.getI64Type());
    for (mlir::OpOperand &operand : op->getOpOperands()) {
      mlir::Value given = operand.get();
      if (given.getType() != listType || constantOf(given))
        continue;
      Tensor dims{{length}, state.builder.getI64Type(), {declared->begin(), declared->end()}, {}};
      replaceByConstant(op, operand.getOperandNumber(), dims.toAttribute());
      types.clear();
      if (mlir::succeeded(llvm::cast<OperatorInterface>(op).inferTypes(types)) && types.size() == 1 &&
          llvm::cast<mlir::RankedTensorType>(types[0]).getShape() == llvm::ArrayRef(*declared)) {
        state.report.notes.push_back(llvm::formatv(
            "the shape of '{0}' depends on data that is not there and is taken as declared", node.proto.output(0)));
        return true;
      }
      operand.set(given);
    }
    return false;
  }

  /// The reasons why data of operands is not at hand that the model keeps beside itself.
  std::string describeUnreadable(mlir::Operation *op) const {
    std::string text;
    for (mlir::Value operand : op->getOperands())
      if (auto reason = state.unreadable.find(operand); reason != state.unreadable.end())
        text += "; " + reason->second;
    return text;
  }

  std::string describeOperands(mlir::Operation *op) const {
    constexpr size_t maxNamed = 6;
    std::string text;
    for (auto [index, operand] : llvm::enumerate(op->getOperands().take_front(maxNamed))) {
      if (isAbsent(operand))
        continue;
      std::string name =
          static_cast<int>(index) < node.proto.input_size() ? node.proto.input(static_cast<int>(index)) : "";
      if (name.empty())
        name = operandName(op, static_cast<unsigned>(index));
      std::string type;
      llvm::raw_string_ostream(type) << operand.getType();
      text += (text.empty() ? " (inputs: " : ", ") + ("'" + name + "' " + type);
    }
    return text.empty() ? text : text + ")";
  }

  /// True for a float tensor made from nothing but its shape. Exporters write weights in this way when a file does not
  /// hold their data. The tensor stays an op here, because its uses decide whether it is a weight.
  bool isFill(mlir::Operation *op, llvm::ArrayRef<mlir::DenseElementsAttr> constants) const {
    auto shape = shapeOf(op->getResult(0));
    if (!shape || shape->numElements() <= 1 || constants.size() != 1 || op->getNumResults() != 1)
      return false;
    if (!llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(op->getResult(0))))
      return false;
    auto ints = constantInts(op->getOperand(0));
    return ints && llvm::ArrayRef(*ints) == llvm::ArrayRef(shape->dims);
  }

  std::optional<llvm::SmallVector<mlir::Value>> fold(mlir::Operation *op) {
    int64_t numElements = 0;
    for (mlir::Value result : op->getResults())
      if (auto shape = shapeOf(result))
        numElements = std::max(numElements, shape->numElements());
    if (numElements > state.options.maxConstantElements || numElements > maxFolded - state.numFolded)
      return std::nullopt;
    llvm::SmallVector<mlir::DenseElementsAttr> constants;
    for (mlir::Value operand : op->getOperands()) {
      mlir::DenseElementsAttr constant = constantOf(operand);
      if (constant && constant.getNumElements() > state.options.maxConstantElements)
        constant = {};
      constants.push_back(constant);
    }
    if (isFill(op, constants))
      return std::nullopt;
    auto values = foldConstants(op, constants);
    if (!values || values->size() != op->getNumResults())
      return std::nullopt;
    state.numFolded += numElements;
    bool isStored = rearrangesStored(state, op);
    llvm::SmallVector<mlir::Value> results;
    for (size_t i = 0; i < values->size(); ++i) {
      if (!isNamed(i)) {
        results.push_back(state.none);
        continue;
      }
      if (!(*values)[i] || (*values)[i].getType() != op->getResult(static_cast<unsigned>(i)).getType())
        return std::nullopt;
      std::string name = node.valuePrefix + node.proto.output(static_cast<int>(i));
      results.push_back(isStored ? state.addStoredConstant((*values)[i], name) : state.addConstant((*values)[i], name));
    }
    return results;
  }

  ImportState &state;
  const NodeToImport &node;
  llvm::SmallVector<mlir::Value> operands;
  mlir::NamedAttrList attributes;
};

} // namespace

llvm::Expected<llvm::SmallVector<mlir::Value>> importNode(ImportState &state, const NodeToImport &node) {
  return NodeBuilder(state, node).run();
}

} // namespace apc::onnx
