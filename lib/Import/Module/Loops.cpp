// Unrolls nodes that run a graph several times: so many times as a number that is known, or once for each element of
// their operands.
#include "GraphImporter.h"
#include "Sequences.h"

#include "apc/IR/Unroll.h"
#include "apc/Support/Error.h"

namespace apc::onnx {

namespace {

/// From so many trips on, their numbers are values that a program carries: the trips are then alike, and are planned
/// once, as the layers of a model are. Numbers of fewer trips are constants, and fold.
constexpr int64_t minAlikeTrips = 8;

/// A tensor without elements: the scan output of a loop that makes no trip, whose elements have `dims`.
mlir::DenseElementsAttr emptyTensor(llvm::ArrayRef<int64_t> dims, mlir::Type element) {
  llvm::SmallVector<int64_t, 4> all = {0};
  llvm::append_range(all, dims);
  return mlir::DenseElementsAttr::get(mlir::RankedTensorType::get(all, element), llvm::ArrayRef<mlir::Attribute>());
}

/// Absent values count, for optional values are absent or not.
bool isWhole(llvm::ArrayRef<mlir::Value> values) { return !llvm::is_contained(values, mlir::Value()); }

} // namespace

llvm::Error GraphImporter::openBody(const GraphProto &body, Body &frame, const Call &call, Scope &scope) {
  frame.graph = &body;
  frame.shared.parent = &scope;
  frame.shared.where = llvm::formatv("{0}: graph '{1}' of node '{2}'", state.source, body.name(), call.name);
  frame.shared.prefix = call.name + "/";
  frame.shared.bindings = scope.bindings;
  frame.shared.opsets = scope.opsets;
  auto given = givenNames(body, frame.shared.where);
  if (!given)
    return given.takeError();
  if (llvm::Error error = importInitializers(body, frame.shared))
    return error;
  // Each trip reads the same constants.
  for (const auto &[index, node] : llvm::enumerate(body.node()))
    if (node.input_size() == 0 && !state.functions.find(node)) {
      Call constant{node, frame.shared.prefix + nodeName(node, static_cast<int>(index)),
                    resolveAttributes(node, scope.bindings)};
      if (importConstant(constant, frame.shared))
        frame.done.insert(&node);
    }
  return llvm::Error::success();
}

llvm::Expected<llvm::SmallVector<mlir::Value>> GraphImporter::importTrip(Body &frame, const llvm::Twine &name,
                                                                         llvm::ArrayRef<mlir::Value> inputs) {
  Scope trip;
  trip.parent = &frame.shared;
  trip.where = frame.shared.where;
  trip.prefix = (frame.shared.prefix + name + "/").str();
  trip.bindings = frame.shared.bindings;
  trip.opsets = frame.shared.opsets;
  trip.done = &frame.done;
  if (frame.graph->input_size() != static_cast<int>(inputs.size()))
    return inputError("{0} has {1} inputs, but its node gives {2}", trip.where, frame.graph->input_size(),
                      inputs.size());
  for (auto [input, value] : llvm::zip_equal(frame.graph->input(), inputs))
    trip.values[input.name()] = value;
  return importOutputs(*frame.graph, trip);
}

llvm::Error GraphImporter::checkOutputs(const GraphProto &body, int numOwn, const Call &call, const Scope &scope) {
  if (call.node.output_size() <= body.output_size() - numOwn)
    return llvm::Error::success();
  return inputError("{0}: node '{1}' ({2}) has {3} outputs, but its graph '{4}' gives {5}", scope.where, call.name,
                    call.node.op_type(), call.node.output_size(), body.name(), body.output_size() - numOwn);
}

int64_t GraphImporter::sizeOfTrip(const GraphProto &body) const {
  return std::max<int64_t>(1, state.functions.expandedSize(body) + body.input_size() + body.output_size());
}

bool GraphImporter::mayUnroll(const GraphProto &body, int64_t trips) {
  int64_t each = sizeOfTrip(body);
  if (trips > (state.options.maxUnrolled - state.numUnrolled) / each)
    return false;
  state.numUnrolled += trips * each;
  return true;
}

void GraphImporter::refuseUnrolling(const GraphProto &body, const Call &call, Scope &scope) {
  markUnsupported(call, scope,
                  llvm::formatv(" (its trips, of {0} nodes, inputs and outputs each, would make more than {1} of them)",
                                sizeOfTrip(body), state.options.maxUnrolled)
                      .str());
}

std::optional<bool> GraphImporter::knownCondition(mlir::Value value) {
  mlir::DenseElementsAttr data = isAbsent(value) ? nullptr : state.findData(value);
  if (!data || data.getNumElements() != 1 || !data.getElementType().isInteger(1))
    return std::nullopt;
  return data.getValues<bool>()[0];
}

namespace {

mlir::DenseElementsAttr scalarOf(mlir::Builder &builder, int64_t value, unsigned bits) {
  return Tensor{{}, builder.getIntegerType(bits), {value}, {}}.toAttribute();
}

std::string tellCondition(llvm::StringRef name) {
  return llvm::formatv(" (condition '{0}' is known at run time only: say --condition {0}=true or =false)", name);
}

} // namespace

llvm::Error GraphImporter::importLoop(const GraphProto &body, const Call &call, Scope &scope) {
  auto operands = operandsOf(call.node, scope);
  if (!operands)
    return leaveUnresolved(call.node, scope), llvm::Error::success();
  if (operands->size() < 2)
    return inputError("{0}: node '{1}' needs a trip count and a condition, each of which may be empty", scope.where,
                      call.name);
  size_t numCarried = operands->size() - 2;
  if (body.output_size() < static_cast<int>(numCarried) + 1)
    return inputError("{0}: graph '{1}' of node '{2}' has {3} outputs; a condition and {4} carried values are needed",
                      scope.where, body.name(), call.name, body.output_size(), numCarried);
  if (llvm::Error error = checkOutputs(body, 1, call, scope))
    return error;
  if (llvm::any_of(llvm::drop_begin(call.node.input(), 2), [](const std::string &name) { return name.empty(); }))
    return inputError("{0}: node '{1}' carries {2} values, and one of them is missing", scope.where, call.name,
                      numCarried);
  int64_t trips = std::numeric_limits<int64_t>::max();
  if (mlir::Value count = (*operands)[0]; !isAbsent(count)) {
    auto data = state.findData(count);
    if (!data || data.getNumElements() != 1 || !data.getElementType().isSignlessInteger(64))
      return markUnsupported(call, scope, tellRunTime(state, "trip count", count, call.node.input(0))),
             llvm::Error::success();
    trips = data.getValues<int64_t>()[0];
  }
  std::optional<bool> goesOn = isAbsent((*operands)[1]) ? std::optional(true) : knownCondition((*operands)[1]);
  if (!goesOn)
    return markUnsupported(call, scope, tellCondition(call.node.input(1))), llvm::Error::success();
  return unrollLoop(body, call, scope, *goesOn ? trips : 0, llvm::ArrayRef(*operands).drop_front(2));
}

llvm::Error GraphImporter::unrollLoop(const GraphProto &body, const Call &call, Scope &scope, int64_t trips,
                                      llvm::ArrayRef<mlir::Value> initial) {
  Body frame;
  if (llvm::Error error = openBody(body, frame, call, scope))
    return error;
  // A count that is too large may stand for a loop that its condition ends.
  bool isCounted = mayUnroll(body, std::max<int64_t>(0, trips));
  llvm::SmallVector<mlir::Value> numbers;
  if (isCounted && trips >= minAlikeTrips)
    numbers = countUp(state.builder, call.name + ".trips", trips);
  mlir::Value always = state.addConstant(scalarOf(state.builder, 1, 1), call.name + ".always");
  llvm::SmallVector<mlir::Value> carried(initial);
  std::vector<llvm::SmallVector<mlir::Value>> scanned(body.output_size() - 1 - carried.size());
  for (int64_t trip = 0; trip < trips; ++trip) {
    if (!isCounted && !mayUnroll(body, 1))
      return refuseUnrolling(body, call, scope), llvm::Error::success();
    std::string name = std::to_string(trip);
    mlir::Value number = numbers.empty() ? state.addConstant(scalarOf(state.builder, trip, 64), call.name + "." + name)
                                         : numbers[static_cast<size_t>(trip)];
    llvm::SmallVector<mlir::Value> inputs = {number, always};
    llvm::append_range(inputs, carried);
    auto outputs = importTrip(frame, name, inputs);
    if (!outputs)
      return outputs.takeError();
    if (!isWhole(*outputs))
      return leaveUnresolved(call.node, scope), llvm::Error::success();
    std::optional<bool> goesOn = knownCondition(outputs->front());
    if (!goesOn)
      return markUnsupported(call, scope, tellCondition(body.output(0).name())), llvm::Error::success();
    llvm::copy(llvm::ArrayRef(*outputs).slice(1, carried.size()), carried.begin());
    for (auto [list, value] : llvm::zip_equal(scanned, llvm::ArrayRef(*outputs).drop_front(1 + carried.size())))
      list.push_back(value);
    if (!*goesOn)
      break;
  }
  std::vector<ScanOutput> lists;
  for (auto &list : scanned)
    lists.push_back({std::move(list), 0});
  return finishLoop(body, call, scope, std::move(carried), lists);
}

llvm::Error GraphImporter::finishLoop(const GraphProto &body, const Call &call, Scope &scope,
                                      llvm::SmallVector<mlir::Value> results, llvm::ArrayRef<ScanOutput> scanned) {
  int first = body.output_size() - static_cast<int>(scanned.size());
  for (auto [index, list] : llvm::enumerate(scanned)) {
    auto at = static_cast<int>(results.size());
    std::string name = at < call.node.output_size() ? call.node.output(at) : "";
    if (name.empty()) {
      results.push_back({});
      continue;
    }
    name = scope.prefix + name;
    auto value = list.values.empty() ? emptyScan(body.output(first + static_cast<int>(index)), call, name)
                                     : stackScan(list, call, name);
    if (!value) {
      state.fail(value.takeError());
      return leaveUnresolved(call.node, scope), llvm::Error::success();
    }
    results.push_back(*value);
  }
  define(call, results, scope);
  return llvm::Error::success();
}

llvm::Expected<mlir::Value> GraphImporter::stackScan(const ScanOutput &list, const Call &call, llvm::StringRef name) {
  mlir::Type type = list.values.front().getType();
  if (!llvm::isa<mlir::RankedTensorType>(type))
    return inputError("{0}: node '{1}': scan output '{2}' has elements that are no tensors", state.source, call.name,
                      name);
  auto numDims = static_cast<int64_t>(dimsOf(list.values.front()).size());
  int64_t axis = list.axis < 0 ? list.axis + numDims + 1 : list.axis;
  if (axis < 0 || axis > numDims)
    return inputError("{0}: node '{1}' puts scan output '{2}' together along axis {3}; its elements have {4} dims",
                      state.source, call.name, name, list.axis, numDims);
  for (mlir::Value value : list.values)
    if (value.getType() != type)
      return inputError("{0}: node '{1}': scan output '{2}' has elements of several types, {3} and {4}", state.source,
                        call.name, name, type, value.getType());
  llvm::SmallVector<int64_t, 4> dims(dimsOf(list.values.front()));
  dims.push_back(static_cast<int64_t>(list.values.size()));
  if (!countElements(dims))
    return inputError("{0}: node '{1}': scan output '{2}' would have 2^60 or more elements", state.source, call.name,
                      name);
  mlir::Value stacked = putTogether(state.builder, call.name + "." + name, list.values, axis);
  stacked.getDefiningOp()->setAttr(valuesAttribute, state.builder.getStrArrayAttr({name}));
  return stacked;
}

llvm::Expected<mlir::Value> GraphImporter::emptyScan(const ValueInfoProto &output, const Call &call,
                                                     llvm::StringRef name) {
  const TypeProto::Tensor &declared = output.type().tensor_type();
  mlir::Type element = elementType(declared.elem_type(), &state.context);
  llvm::SmallVector<int64_t, 4> dims;
  bool isKnown = element && declared.has_shape();
  if (isKnown)
    for (const auto &dim : declared.shape().dim()) {
      isKnown = isKnown && dim.has_dim_value() && dim.dim_value() >= 0;
      dims.push_back(dim.dim_value());
    }
  if (!isKnown || !countElements(dims))
    return inputError("{0}: node '{1}' makes no trip, and its graph declares no shape for scan output '{2}'",
                      state.source, call.name, output.name());
  return state.addConstant(emptyTensor(dims, element), name);
}

} // namespace apc::onnx
