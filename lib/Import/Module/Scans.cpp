// Unrolls nodes that run a graph once for each element of sequences: those that stand along a dim of operands, and
// those that are lists of tensors.
#include "GraphImporter.h"
#include "Sequences.h"

#include "apc/IR/Unroll.h"
#include "apc/Support/Error.h"

namespace apc::onnx {

namespace {

/// Attributes of a scan: entry i of a list belongs to sequence i.
struct ScanLists {
  llvm::SmallVector<int64_t> inputAxes, outputAxes;
  llvm::SmallVector<int64_t> inputDirections, outputDirections; ///< 1: backward
};

llvm::SmallVector<int64_t> listOf(const AttributeList &attributes, llvm::StringRef name, size_t size) {
  llvm::SmallVector<int64_t> list;
  if (const AttributeProto *attribute = findAttribute(attributes, name))
    list.append(attribute->ints().begin(), attribute->ints().end());
  list.resize(size);
  return list;
}

/// The last opset of the form whose operands have a batch in front and lengths before them.
constexpr int64_t lastOpsetWithBatch = 8;

} // namespace

/// One scan over operands without a batch.
struct GraphImporter::Scan {
  Body &frame;
  const Call &call;
  size_t numStates = 0;
  ScanLists lists;
};

llvm::Error GraphImporter::importScan(const GraphProto &body, const Call &call, Scope &scope) {
  auto operands = operandsOf(call.node, scope);
  if (!operands)
    return leaveUnresolved(call.node, scope), llvm::Error::success();
  bool hasBatch = scope.opsets && scope.opsets->lookup("") <= lastOpsetWithBatch;
  if (hasBatch) {
    if (operands->empty() || !isAbsent(operands->front()))
      return markUnsupported(call, scope, " (with lengths of sequences)"), llvm::Error::success();
    operands->erase(operands->begin());
  }
  const AttributeProto *count = findAttribute(call.attributes, "num_scan_inputs");
  if (!count)
    return inputError("{0}: node '{1}' (Scan) needs the attribute num_scan_inputs", scope.where, call.name);
  int64_t numInputs = count->i();
  auto numOperands = static_cast<int64_t>(operands->size());
  if (numInputs < 1 || numInputs > numOperands || body.output_size() < numOperands - numInputs)
    return inputError("{0}: node '{1}' has {2} operands, {3} of them sequences, and its graph {4} outputs; at least "
                      "one sequence and an output for each other operand are needed",
                      scope.where, call.name, numOperands, numInputs, body.output_size());
  if (llvm::Error error = checkOutputs(body, 0, call, scope))
    return error;
  if (!llvm::all_of(*operands, [](mlir::Value value) { return !isAbsent(value); }))
    return inputError("{0}: node '{1}' lacks an operand", scope.where, call.name);
  auto numStates = static_cast<size_t>(numOperands - numInputs), numScanned = body.output_size() - numStates;
  Body frame;
  if (llvm::Error error = openBody(body, frame, call, scope))
    return error;
  auto list = [&](llvm::StringRef name, size_t size) { return listOf(call.attributes, name, size); };
  size_t sequences = operands->size() - numStates;
  Scan scan{frame, call, numStates,
            hasBatch ? ScanLists{list("", sequences), list("", numScanned), list("directions", sequences),
                                 list("", numScanned)}
                     : ScanLists{list("scan_input_axes", sequences), list("scan_output_axes", numScanned),
                                 list("scan_input_directions", sequences), list("scan_output_directions", numScanned)}};
  return hasBatch ? scanBatch(scan, scope, *operands) : scanOnce(scan, scope, *operands);
}

/// The elements of the sequences in the order of the trips, by sequence.
llvm::Expected<std::vector<llvm::SmallVector<mlir::Value>>>
GraphImporter::takeSequences(const Scan &scan, llvm::StringRef name, llvm::ArrayRef<mlir::Value> sequences) {
  std::vector<llvm::SmallVector<mlir::Value>> elements;
  std::optional<int64_t> trips;
  for (auto [index, sequence] : llvm::enumerate(sequences)) {
    llvm::ArrayRef<int64_t> dims = dimsOf(sequence);
    auto numDims = static_cast<int64_t>(dims.size());
    int64_t axis = scan.lists.inputAxes[index] + (scan.lists.inputAxes[index] < 0 ? numDims : 0);
    if (axis < 0 || axis >= numDims)
      return inputError("{0}: node '{1}' scans operand {2} of {3} dims along axis {4}", state.source, scan.call.name,
                        scan.numStates + index, numDims, scan.lists.inputAxes[index]);
    int64_t count = dims[static_cast<size_t>(axis)];
    if (trips.value_or(count) != count)
      return inputError("{0}: node '{1}' scans sequences of {2} and {3} elements; all need as many", state.source,
                        scan.call.name, *trips, count);
    // Checked before the elements are taken: there may be any number of them.
    if (!trips && !mayUnroll(*scan.frame.graph, count))
      return std::vector<llvm::SmallVector<mlir::Value>>();
    trips = count;
    elements.push_back(count == 0 ? llvm::SmallVector<mlir::Value>()
                                  : takeApart(state.builder, name + "." + llvm::Twine(index), sequence, axis));
    if (scan.lists.inputDirections[index] != 0)
      std::reverse(elements.back().begin(), elements.back().end());
  }
  return elements;
}

llvm::Expected<std::optional<GraphImporter::Scanned>>
GraphImporter::scanElements(const Scan &scan, const llvm::Twine &prefix, Scope &scope,
                            llvm::ArrayRef<mlir::Value> operands) {
  auto elements = takeSequences(scan, (scan.call.name + prefix).str(), operands.drop_front(scan.numStates));
  if (!elements)
    return elements.takeError();
  if (elements->empty())
    return refuseUnrolling(*scan.frame.graph, scan.call, scope), std::nullopt;
  Scanned scanned{llvm::SmallVector<mlir::Value>(operands.take_front(scan.numStates)), {}};
  for (int64_t axis : scan.lists.outputAxes)
    scanned.outputs.push_back({{}, axis});
  for (size_t trip = 0; trip < elements->front().size(); ++trip) {
    llvm::SmallVector<mlir::Value> inputs = scanned.states;
    for (const auto &sequence : *elements)
      inputs.push_back(sequence[trip]);
    auto outputs = importTrip(scan.frame, prefix + llvm::Twine(trip), inputs);
    if (!outputs)
      return outputs.takeError();
    if (!llvm::all_of(*outputs, [](mlir::Value value) { return value && !isAbsent(value); }))
      return leaveUnresolved(scan.call.node, scope), std::nullopt;
    llvm::copy(llvm::ArrayRef(*outputs).take_front(scan.numStates), scanned.states.begin());
    for (auto [output, value] : llvm::zip_equal(scanned.outputs, llvm::ArrayRef(*outputs).drop_front(scan.numStates)))
      output.values.push_back(value);
  }
  for (auto [output, direction] : llvm::zip_equal(scanned.outputs, scan.lists.outputDirections))
    if (direction != 0)
      std::reverse(output.values.begin(), output.values.end());
  return std::optional(std::move(scanned));
}

llvm::Error GraphImporter::scanOnce(const Scan &scan, Scope &scope, llvm::ArrayRef<mlir::Value> operands) {
  auto scanned = scanElements(scan, "", scope, operands);
  if (!scanned)
    return scanned.takeError();
  if (!*scanned)
    return llvm::Error::success();
  return finishLoop(*scan.frame.graph, scan.call, scope, std::move((*scanned)->states), (*scanned)->outputs);
}

/// Each batch element is a scan of its own; states and sequences are put together along the batch again.
llvm::Error GraphImporter::scanBatch(const Scan &scan, Scope &scope, llvm::ArrayRef<mlir::Value> operands) {
  int64_t batch = dimsOf(operands.front()).empty() ? 0 : dimsOf(operands.front()).front();
  std::vector<llvm::SmallVector<mlir::Value>> elements;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    if (dimsOf(operand).empty() || dimsOf(operand).front() != batch || batch < 1)
      return inputError("{0}: node '{1}' needs operands with one batch in front", scope.where, scan.call.name);
    if (!mayUnroll(*scan.frame.graph, batch))
      return refuseUnrolling(*scan.frame.graph, scan.call, scope), llvm::Error::success();
    elements.push_back(takeApart(state.builder, scan.call.name + ".batch" + llvm::Twine(index), operand, /*axis=*/0));
  }
  std::vector<ScanOutput> results(static_cast<size_t>(scan.frame.graph->output_size()));
  for (int64_t element = 0; element < batch; ++element) {
    llvm::SmallVector<mlir::Value> own;
    for (const auto &list : elements)
      own.push_back(list[static_cast<size_t>(element)]);
    auto scanned = scanElements(scan, llvm::Twine(element) + ".", scope, own);
    if (!scanned)
      return scanned.takeError();
    if (!*scanned)
      return llvm::Error::success();
    for (auto [result, value] : llvm::zip(results, (*scanned)->states))
      result.values.push_back(value);
    for (auto [index, output] : llvm::enumerate((*scanned)->outputs)) {
      auto stacked = output.values.empty()
                         ? emptyScan(scan.frame.graph->output(static_cast<int>(scan.numStates + index)), scan.call, "")
                         : stackScan(output, scan.call, "");
      if (!stacked)
        return stacked.takeError();
      results[scan.numStates + index].values.push_back(*stacked);
    }
  }
  return finishLoop(*scan.frame.graph, scan.call, scope, {}, results);
}

/// The operands of each run of a graph that is mapped over sequences: operands that are tensors are the same in all.
static std::vector<llvm::SmallVector<mlir::Value>> operandsOfRuns(llvm::ArrayRef<mlir::Value> operands) {
  std::vector<llvm::SmallVector<mlir::Value>> runs(elementsOf(operands.front()).size());
  for (mlir::Value operand : operands) {
    llvm::SmallVector<mlir::Value> elements(runs.size(), operand);
    if (isSequence(operand))
      elements = elementsOf(operand);
    for (auto [run, element] : llvm::zip_equal(runs, elements))
      run.push_back(element);
  }
  return runs;
}

llvm::Error GraphImporter::checkMap(const GraphProto &body, const Call &call, const Scope &scope,
                                    llvm::ArrayRef<mlir::Value> operands) {
  if (operands.empty() || !isSequence(operands.front()))
    return inputError("{0}: node '{1}' (SequenceMap): input 0 is no sequence; the graph runs for each of its elements",
                      scope.where, call.name);
  size_t count = elementsOf(operands.front()).size();
  for (auto [index, operand] : llvm::enumerate(operands))
    if (isSequence(operand) && elementsOf(operand).size() != count)
      return inputError("{0}: node '{1}' (SequenceMap): input {2} ('{3}') has {4} elements, input 0 has {5}; all "
                        "sequences need as many",
                        scope.where, call.name, index, call.node.input(static_cast<int>(index)),
                        elementsOf(operand).size(), count);
  return checkOutputs(body, 0, call, scope);
}

llvm::Error GraphImporter::importSequenceMap(const GraphProto &body, const Call &call, Scope &scope) {
  auto operands = operandsOf(call.node, scope);
  if (!operands)
    return leaveUnresolved(call.node, scope), llvm::Error::success();
  if (llvm::Error error = checkMap(body, call, scope, *operands))
    return error;
  auto runs = operandsOfRuns(*operands);
  if (!mayUnroll(body, static_cast<int64_t>(runs.size())))
    return refuseUnrolling(body, call, scope), llvm::Error::success();
  Body frame;
  if (llvm::Error error = openBody(body, frame, call, scope))
    return error;
  std::vector<llvm::SmallVector<mlir::Value>> lists(static_cast<size_t>(call.node.output_size()));
  for (const auto &[index, inputs] : llvm::enumerate(runs)) {
    auto outputs = importTrip(frame, llvm::Twine(index), inputs);
    if (!outputs)
      return outputs.takeError();
    if (llvm::is_contained(*outputs, mlir::Value()))
      return leaveUnresolved(call.node, scope), llvm::Error::success();
    for (auto [list, value] : llvm::zip(lists, *outputs))
      list.push_back(value);
  }
  llvm::SmallVector<mlir::Value> results;
  for (const auto &list : lists) {
    bool areTensors = llvm::all_of(list, [](mlir::Value value) { return shapeOf(value).has_value(); });
    results.push_back(areTensors ? makeSequence(state, call.name, list) : mlir::Value());
    if (!results.back())
      return inputError("{0}: node '{1}' (SequenceMap): its graph gives elements that are no tensors, or too many",
                        scope.where, call.name);
  }
  return define(call, results, scope), llvm::Error::success();
}

} // namespace apc::onnx
