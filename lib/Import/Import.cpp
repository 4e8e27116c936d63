// The importer's front: file -> parsed model -> module, with one error for everything that is wrong.
#include "apc/Import/Import.h"

#include "Module/ConstantIndices.h"
#include "Module/GraphImporter.h"
#include "Module/InputValues.h"
#include "Module/Sequences.h"
#include "Module/Shardings.h"
#include "Module/Weights.h"
#include "Onnx/Dims.h"
#include "Onnx/Parse.h"
#include "Wire/LeanModel.h"

#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace apc {

using namespace onnx;

namespace {

/// The newest of ONNX's operator sets whose operators are known, of ONNX 1.22: files of IR 3 or newer that import none,
/// or a later one, are read as of it.
constexpr int64_t newestOpset = 27;
/// The newest form of files that OnnxModel.proto describes.
constexpr int64_t newestIr = 13;

class ModelImporter {
public:
  ModelImporter(const ModelProto &model, ImportState &state) : model(model), graph(model.graph()), state(state) {}

  llvm::Error run() {
    state.report.numNodes = graph.node_size();
    scope.where = state.source;
    importOpsets();
    auto given = givenNames(graph, state.source);
    if (!given)
      return given.takeError();
    for (const ValueInfoProto &info : graph.value_info())
      state.declaredTypes[info.name()] = &info.type().tensor_type();
    for (const ValueInfoProto &output : graph.output())
      state.declaredTypes[output.name()] = &output.type().tensor_type();
    GraphImporter importer(state);
    if (llvm::Error error = importer.importInitializers(graph, scope))
      return error;
    if (llvm::Error error = importInputs())
      return error;
    llvm::SmallVector<llvm::StringRef> outputs;
    for (const ValueInfoProto &output : graph.output())
      outputs.push_back(output.name());
    if (outputs.empty())
      return inputError("{0}: the graph has no outputs", state.source);
    if (llvm::Error error = importer.importNodes(graph.node(), outputs, scope))
      return error;
    if (llvm::Error error = checkConditions())
      return error;
    if (llvm::Error error = bindConfigurations(model, state))
      return error;
    noteUnusedDims();
    noteOpaque(state);
    return finish();
  }

private:
  void importOpsets() {
    opsets = opsetVersions(model.opset_import());
    if (!opsets.contains("")) {
      opsets[""] = model.ir_version() >= 3 ? newestOpset : 1;
      state.report.notes.push_back(
          llvm::formatv("the model imports no opset; operators are read as of opset {0}", opsets[""]));
    }
    if (opsets[""] > newestOpset)
      state.report.notes.push_back(llvm::formatv(
          "the model imports opset {0}; later ones than {1} are not known, and operators are read as of {1}",
          opsets[""], newestOpset));
    if (model.ir_version() > newestIr)
      state.report.notes.push_back(
          llvm::formatv("the file is of IR version {0}; what later ones than {1} add is left out of account",
                        model.ir_version(), newestIr));
    llvm::StringSet<> assumed;
    for (const NodeProto &node : graph.node())
      if (opsets.try_emplace(normalDomain(node.domain()), 1).second)
        assumed.insert(node.domain());
    for (const auto &domain : assumed)
      state.report.notes.push_back(
          llvm::formatv("domain '{0}' is used without an opset import; version 1 is assumed", domain.getKey()));
    scope.opsets = &opsets;
  }

  llvm::DenseSet<llvm::StringRef> usedNames() const {
    llvm::DenseSet<llvm::StringRef> used;
    for (const NodeProto &node : graph.node()) {
      used.insert(node.input().begin(), node.input().end());
      for (const AttributeProto &attribute : node.attribute())
        for (llvm::StringRef name : capturedNames(attribute))
          used.insert(name);
    }
    for (const ValueInfoProto &output : graph.output())
      used.insert(output.name());
    return used;
  }

  /// Entries of --dim that bound neither a dim of an input nor one of a result.
  void noteUnusedDims() {
    for (const std::string &name : unusedDims)
      if (!state.usedDims.contains(name))
        state.report.unknownDims[name] = llvm::formatv(
            "--dim {0} names no dim of the model's inputs{1}", name,
            isDeclaredBehindInputs(name) ? ", but one of results, which follow from inputs and constants" : "");
    llvm::append_range(state.report.notes, llvm::make_second_range(state.report.unknownDims));
  }

  /// True for a symbol among the dims that the file declares for values behind the inputs.
  bool isDeclaredBehindInputs(llvm::StringRef symbol) const {
    return llvm::any_of(state.declaredTypes, [&](const auto &entry) {
      return llvm::any_of(entry.second->shape().dim(), [&](const auto &dim) { return dim.dim_param() == symbol; });
    });
  }

  llvm::Error importInputs() {
    DimBinder binder(state.options.dims, graph, state.options.batch);
    llvm::DenseSet<llvm::StringRef> used = usedNames();
    for (const ValueInfoProto &input : graph.input()) {
      if (scope.values.contains(input.name()))
        continue; // an initializer that is also declared as an input
      if (!used.contains(input.name())) {
        scope.values[input.name()] = {};
        state.report.notes.push_back(llvm::formatv("input '{0}' is not used", input.name()));
      } else if (llvm::Error error = importInput(input, binder)) {
        return error;
      }
    }
    if (llvm::Error error = binder.takeError(state.source))
      return error;
    unusedDims = binder.unusedBindings();
    for (const auto &[name, numbers] : state.options.values)
      if (!scope.values.contains(name))
        return inputError("{0}: --value {1} names no graph input", state.source, name);
    return llvm::Error::success();
  }

  /// Graph inputs that nothing reads may be named, too.
  llvm::Error checkConditions() const {
    for (const auto &[name, value] : state.options.conditions)
      if (!state.usedConditions.contains(name) && !scope.values.contains(name))
        return inputError("{0}: --condition {1} names no value that decides anything in the model", state.source, name);
    return llvm::Error::success();
  }

  llvm::Error importInput(const ValueInfoProto &input, DimBinder &binder) {
    mlir::Value &value = scope.values[input.name()];
    value = {};
    if (input.type().has_tensor_type())
      return importTensor(input, binder, value);
    const TypeProto *type = &input.type();
    if (type->has_optional_type()) {
      auto isThere = state.options.conditions.find(input.name());
      if (isThere == state.options.conditions.end())
        return refuseInput(input.name(), llvm::formatv("is optional; say --condition {0}=true or =false, whether it is "
                                                       "there",
                                                       input.name()));
      state.usedConditions.insert(input.name());
      if (!isThere->second)
        return value = state.none, llvm::Error::success();
      type = &type->optional_type().elem_type();
    }
    if (type->has_sequence_type() && type->sequence_type().elem_type().has_tensor_type())
      return importSequence(input.name(), type->sequence_type().elem_type().tensor_type(), binder, value);
    if (type->has_tensor_type())
      return importPort(input.name(), type->tensor_type(), binder, value);
    return refuseInput(input.name(), "is not a tensor; inputs must be tensors, or sequences of tensors, of numbers or "
                                     "bools");
  }

  /// Marks an input that the module cannot have.
  llvm::Error refuseInput(const std::string &name, const std::string &why) {
    state.fail(inputError("{0}: graph input '{1}' {2}", state.source, name, why));
    state.report.unresolved.push_back(name);
    return llvm::Error::success();
  }

  /// An input for each element of a sequence, whose length the user says.
  llvm::Error importSequence(const std::string &name, const TypeProto::Tensor &type, DimBinder &binder,
                             mlir::Value &value) {
    std::optional<int64_t> length = binder.lengthOf(name);
    if (!length)
      return refuseInput(name,
                         llvm::formatv("is a sequence; --dim {0}.length=N gives the number of its elements, which "
                                       "become the inputs {0}[0], {0}[1], ...",
                                       name));
    if (*length > state.options.maxUnrolled)
      return refuseInput(name, llvm::formatv("is a sequence of {0} elements by --dim; at most {1} are accepted",
                                             *length, state.options.maxUnrolled));
    llvm::SmallVector<mlir::Value> elements(static_cast<size_t>(*length));
    for (auto [index, element] : llvm::enumerate(elements))
      if (llvm::Error error = importPort(elementName(name, index), type, binder, element))
        return error;
    if (!llvm::is_contained(elements, mlir::Value()))
      value = makeSequence(state, name, elements);
    return llvm::Error::success();
  }

  llvm::Error importTensor(const ValueInfoProto &input, DimBinder &binder, mlir::Value &value) {
    const std::string &name = input.name();
    auto numbers = state.options.values.find(name);
    mlir::Type element = elementType(input.type().tensor_type().elem_type(), &state.context);
    if (numbers != state.options.values.end() && element) {
      auto constant = constantInput(input, element, numbers->second, binder, state.source);
      if (!constant)
        return constant.takeError();
      return value = state.addConstant(*constant, name), llvm::Error::success();
    }
    auto condition = state.options.conditions.find(name);
    if (condition == state.options.conditions.end() || !element)
      return importPort(name, input.type().tensor_type(), binder, value);
    auto type = typeOfInput(name, input.type().tensor_type(), element, binder);
    if (!type)
      return type.takeError();
    if (type->first && (!element.isInteger(1) || type->first.getNumElements() != 1))
      return inputError("{0}: --condition {1}: the input is no single bool", state.source, name);
    if (type->first)
      value = state.addConstant(mlir::DenseElementsAttr::get(type->first, condition->second), name);
    return llvm::Error::success();
  }

  /// The type of an argument of @main, and whether the user bound its dims; null where dims are not bound.
  llvm::Expected<std::pair<mlir::RankedTensorType, bool>>
  typeOfInput(const std::string &name, const TypeProto::Tensor &type, mlir::Type element, DimBinder &binder) {
    auto given = state.options.inputValues.find(name);
    auto bound = given != state.options.inputValues.end() ? std::optional(BoundDims{given->second.dims, true})
                                                          : binder.bind(name, type);
    if (!bound)
      return std::pair(mlir::RankedTensorType(), false);
    if (!countElements(bound->dims))
      return inputError("{0}: graph input '{1}' has more than 2^60 elements", state.source, name);
    return std::pair(mlir::RankedTensorType::get(bound->dims, element), bound->symbolic);
  }

  /// An argument of @main; `value` stays null where its dims are not bound.
  llvm::Error importPort(const std::string &name, const TypeProto::Tensor &declared, DimBinder &binder,
                         mlir::Value &value) {
    mlir::Type element = elementType(declared.elem_type(), &state.context);
    if (!element)
      return refuseInput(name, "has element type " + dataTypeName(declared.elem_type()) +
                                   "; inputs must be tensors of numbers or bools");
    auto type = typeOfInput(name, declared, element, binder);
    if (!type)
      return type.takeError();
    if (!type->first)
      return llvm::Error::success();
    value = state.body->addArgument(type->first, state.nameLocation(name));
    state.inputNames.push_back(name);
    symbolic.push_back(type->second);
    return importInputData(name, type->first, value);
  }

  llvm::Error importInputData(const std::string &name, mlir::RankedTensorType type, mlir::Value value) {
    auto given = state.options.inputValues.find(name);
    if (given == state.options.inputValues.end())
      return llvm::Error::success();
    if (given->second.element != type.getElementType())
      return inputError("{0}: value of input '{1}' has another element type than the input", state.source, name);
    if (given->second.numElements() <= state.options.maxConstantElements)
      state.inputData[value] = given->second.toAttribute();
    return llvm::Error::success();
  }

  /// A result of @main, or several: each element of a sequence is a result of its own.
  void addResults(const ValueInfoProto &output) {
    mlir::Value value = scope.values.lookup(output.name());
    const TypeProto &declared =
        output.type().has_optional_type() ? output.type().optional_type().elem_type() : output.type();
    if (value && isSequence(value)) {
      llvm::SmallVector<mlir::Value> elements = elementsOf(value);
      for (auto [index, element] : llvm::enumerate(elements))
        addResult(elementName(output.name(), index), declared.sequence_type().elem_type().tensor_type(), element);
      state.report.notes.push_back(llvm::formatv("output '{0}' is a sequence; its {1} elements become outputs {0}[0], "
                                                 "{0}[1], ...",
                                                 output.name(), elements.size()));
    } else if (value && !isAbsent(value)) {
      addResult(output.name(), declared.tensor_type(), value);
    } else if (value && output.type().has_optional_type()) {
      state.report.notes.push_back(llvm::formatv("output '{0}' is optional, and is left out", output.name()));
    } else {
      isComplete = false;
    }
  }

  void addResult(const std::string &name, const TypeProto::Tensor &declared, mlir::Value value) {
    results.push_back(value);
    resultNames.push_back(name);
    compareDeclared(name, declared, value);
  }

  /// Closes @main. The module is given up when a value is unresolved.
  llvm::Error finish() {
    for (const ValueInfoProto &output : graph.output())
      addResults(output);
    if (!isComplete || state.numFailures > 0 || !state.report.unsupported.empty()) {
      state.module = {};
      return llvm::Error::success();
    }
    mlir::func::ReturnOp::create(state.builder, state.nameLocation("return"), results);
    eraseDead();
    if (state.options.findWeights) {
      findConstantWeights(state);
      noteTiedCopies(state);
      if (llvm::Error error = findInputWeights(state, symbolic))
        return error;
    }
    eraseDead();
    eraseUnreadElements();
    auto main = llvm::cast<mlir::func::FuncOp>(state.body->getParentOp());
    // The results are read again, because some may have become parameters.
    mlir::TypeRange resultTypes = state.body->getTerminator()->getOperandTypes();
    main.setFunctionType(state.builder.getFunctionType(state.body->getArgumentTypes(), resultTypes));
    for (auto [index, name] : llvm::enumerate(state.inputNames))
      main.setArgAttr(static_cast<unsigned>(index), nameAttribute, state.builder.getStringAttr(name));
    for (const auto &[index, name] : llvm::enumerate(resultNames))
      main.setResultAttr(static_cast<unsigned>(index), nameAttribute, state.builder.getStringAttr(name));
    return llvm::Error::success();
  }

  /// "[batch, 4] of f32".
  std::string declaredText(const TypeProto::Tensor &declared) const {
    std::string text;
    for (const auto &dim : declared.shape().dim())
      text += (text.empty() ? "" : ", ") + (dim.has_dim_value()       ? std::to_string(dim.dim_value())
                                            : dim.dim_param().empty() ? "?"
                                                                      : dim.dim_param());
    mlir::Type element = elementType(declared.elem_type(), &state.context);
    text = "[" + text + "] of ";
    llvm::raw_string_ostream stream(text);
    element ? stream << element : stream << dataTypeName(declared.elem_type());
    return text;
  }

  void compareDeclared(const std::string &name, const TypeProto::Tensor &declared, mlir::Value value) {
    if (!declared.has_shape())
      return;
    llvm::ArrayRef<int64_t> dims = dimsOf(value);
    bool fits = declared.shape().dim_size() == static_cast<int>(dims.size());
    for (int i = 0; fits && i < declared.shape().dim_size(); ++i) {
      const auto &dim = declared.shape().dim(i);
      fits = !dim.has_dim_value() || dim.dim_value() < 0 || dim.dim_value() == dims[static_cast<size_t>(i)];
    }
    mlir::Type element = elementType(declared.elem_type(), &state.context);
    if (fits && (!element || element == mlir::getElementTypeOrSelf(value)))
      return;
    std::string type;
    llvm::raw_string_ostream(type) << value.getType();
    state.report.notes.push_back(
        llvm::formatv("output '{0}' is {1}, the file declares {2}", name, type, declaredText(declared)));
  }

  void eraseDead() {
    for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(*state.body)))
      if (op.use_empty() && !op.hasTrait<mlir::OpTrait::IsTerminator>() && &op != state.none.getDefiningOp())
        op.erase();
    // In the last call: no parameter will be added before it any more.
    if (state.none.use_empty() && isSettled)
      state.none.getDefiningOp()->erase();
    isSettled = true;
  }

  /// Inputs that only sequences read, which need them no more: positions, and elements that nothing takes.
  void eraseUnreadElements() {
    for (unsigned i = state.body->getNumArguments(); i-- > 0;) {
      mlir::BlockArgument argument = state.body->getArgument(i);
      if (!argument.use_empty() || !state.readBySequences.contains(argument))
        continue;
      state.report.notes.push_back(llvm::formatv("input '{0}' is not used", state.inputNames[i]));
      state.inputNames.erase(state.inputNames.begin() + i);
      state.body->eraseArgument(i);
    }
  }

  const ModelProto &model;
  const GraphProto &graph;
  ImportState &state;
  Scope scope;
  llvm::StringMap<int64_t> opsets;
  llvm::SmallVector<bool> symbolic;       ///< for each argument of @main
  llvm::SmallVector<mlir::Value> results; ///< of @main
  std::vector<std::string> resultNames;
  std::vector<std::string> unusedDims;
  bool isComplete = true;
  bool isSettled = false;
};

std::string listUnsupported(const std::map<std::string, std::vector<std::string>> &unsupported) {
  constexpr size_t maxNamed = 5;
  std::string text;
  for (const auto &[name, nodes] : unsupported) {
    text += (text.empty() ? "" : "; ") + name + " (";
    for (size_t i = 0; i < std::min(nodes.size(), maxNamed); ++i)
      text += (i ? ", " : "") + nodes[i];
    text += nodes.size() > maxNamed ? llvm::formatv(", and {0} more)", nodes.size() - maxNamed).str() : ")";
  }
  return text;
}

/// Added to the list of unsupported operators.
constexpr llvm::StringLiteral remedyForUnsupported =
    ". An operator whose results have declared types (value_info) is planned whole on every device, one with a factor "
    "rule (--operator) like any other";

llvm::Error problemOf(const ImportState &state, bool isInspection) {
  if (!state.report.unsupported.empty())
    return inputError("{0}: {1} operator(s) are not supported, here with the nodes that use them: {2}{3}{4}",
                      state.source, state.report.unsupported.size(), listUnsupported(state.report.unsupported),
                      state.lacksTypes ? remedyForUnsupported : "",
                      isInspection ? "" : ". `apc inspect` shows everything else in the model");
  if (state.firstFailure) {
    std::string more = state.numFailures > 1
                           ? llvm::formatv(" (and {0} further nodes fail)", state.numFailures - 1).str()
                           : std::string();
    return inputError("{0}{1}", *state.firstFailure, more);
  }
  if (!state.module)
    return inputError("{0}: no shape follows for {1} value(s), the first is '{2}'{3}{4}", state.source,
                      state.report.unresolved.size(),
                      state.report.unresolved.empty() ? "an output" : state.report.unresolved.front(),
                      state.firstRefused.empty() ? "" : ": ", state.firstRefused);
  return llvm::Error::success();
}

llvm::Error checkOptions(const ImportOptions &options) {
  constexpr int64_t maxDim = int64_t(1) << 48;
  for (const auto &[name, size] : options.dims)
    if (size < 0 || size > maxDim)
      return inputError("--dim {0}={1}: a dim lies between 0 and 2^48", name, size);
  return llvm::Error::success();
}

llvm::Expected<ImportedModel> importModel(llvm::StringRef bytes, llvm::StringRef source, const ImportOptions &options,
                                          mlir::MLIRContext &context, bool isInspection,
                                          llvm::StringRef modelPath = "") {
  if (llvm::Error error = checkOptions(options))
    return error;
  auto model = parseModel(bytes, source);
  if (!model)
    return model.takeError();
  auto functions = FunctionTable::build(**model, source);
  if (!functions)
    return functions.takeError();
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  ImportState state(context, options, source, std::move(*functions));
  state.modelPath = modelPath.str();
  if (llvm::Error error = ModelImporter(**model, state).run())
    return error;
  if (llvm::Error error = problemOf(state, isInspection)) {
    if (!isInspection)
      return error;
    state.report.notes.push_back(takeMessage(std::move(error)).second);
  }
  if (state.module)
    if (llvm::Error error = checkConstantIndices(state))
      return error;
  state.report.sha256 = sha256Hex(bytes);
  return ImportedModel{std::move(state.module), std::move(state.report), std::move(state.folded)};
}

llvm::Expected<ImportedModel> importFile(llvm::StringRef path, const ImportOptions &options, mlir::MLIRContext &context,
                                         bool isInspection) {
  // Elements have at most 8 bytes, so data that is left out is larger than any constant that is kept.
  if (auto lean = readLeanModel(path, 8 * (options.maxConstantElements + 1))) {
    auto model = importModel(lean->bytes, path, options, context, isInspection, path);
    if (model)
      model->report.sha256 = lean->sha256;
    return model;
  }
  auto bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  return importModel(*bytes, path, options, context, isInspection, path);
}

} // namespace

llvm::Expected<ImportedModel> importOnnx(llvm::StringRef path, const ImportOptions &options,
                                         mlir::MLIRContext &context) {
  return importFile(path, options, context, /*isInspection=*/false);
}

llvm::Expected<ImportedModel> importOnnxBytes(llvm::StringRef bytes, llvm::StringRef source,
                                              const ImportOptions &options, mlir::MLIRContext &context) {
  return importModel(bytes, source, options, context, /*isInspection=*/false);
}

llvm::Expected<ImportedModel> inspectOnnx(llvm::StringRef path, const ImportOptions &options,
                                          mlir::MLIRContext &context) {
  return importFile(path, options, context, /*isInspection=*/true);
}

} // namespace apc
