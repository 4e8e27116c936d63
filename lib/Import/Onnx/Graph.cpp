// Topological order of a graph, stable where the file is already sorted.
#include "Graph.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <utility>

namespace apc::onnx {

std::string nodeName(const NodeProto &node, int index) {
  return node.name().empty() ? node.op_type() + "_" + std::to_string(index) : node.name();
}

llvm::StringRef normalDomain(llvm::StringRef domain) { return domain == "ai.onnx" ? llvm::StringRef() : domain; }

std::string operatorName(llvm::StringRef domain, llvm::StringRef type) {
  domain = normalDomain(domain);
  return domain.empty() ? type.str() : (domain + "." + type).str();
}

namespace {

void collectCaptured(const AttributeProto &attribute, llvm::DenseSet<llvm::StringRef> &captured);

/// \p givesInputs: its node gives the graph values for its inputs.
void collectCaptured(const GraphProto &graph, bool givesInputs, llvm::DenseSet<llvm::StringRef> &captured) {
  llvm::DenseSet<llvm::StringRef> own, used;
  for (const ValueInfoProto &input : graph.input())
    if (givesInputs)
      own.insert(input.name());
  for (const TensorProto &initializer : graph.initializer())
    own.insert(initializer.name());
  for (const SparseTensorProto &initializer : graph.sparse_initializer())
    own.insert(initializer.values().name());
  for (const NodeProto &node : graph.node()) {
    for (const std::string &output : node.output())
      own.insert(output);
    for (const std::string &input : node.input())
      used.insert(input);
    for (const AttributeProto &attribute : node.attribute())
      collectCaptured(attribute, used);
  }
  for (const ValueInfoProto &output : graph.output())
    used.insert(output.name());
  for (llvm::StringRef name : used)
    if (!name.empty() && !own.contains(name))
      captured.insert(name);
}

/// A branch is given nothing: inputs that some tools declare for it are the values of those names around it.
void collectCaptured(const AttributeProto &attribute, llvm::DenseSet<llvm::StringRef> &captured) {
  bool isBranch = attribute.name() == "then_branch" || attribute.name() == "else_branch";
  if (attribute.has_g())
    collectCaptured(attribute.g(), !isBranch, captured);
  for (const GraphProto &inner : attribute.graphs())
    collectCaptured(inner, /*givesInputs=*/true, captured);
}

/// Calls `visit` for each value that a node reads, captured ones included.
template <typename Visit>
void forEachRead(const NodeProto &node, Visit visit) {
  for (const std::string &input : node.input())
    if (!input.empty())
      visit(llvm::StringRef(input));
  for (const AttributeProto &attribute : node.attribute())
    for (llvm::StringRef name : capturedNames(attribute))
      visit(name);
}

class NodeSorter {
public:
  NodeSorter(const NodeList &nodes, const GraphScope &scope) : nodes(nodes), scope(scope) {}

  llvm::Error collectProducers() {
    producers.reserve(static_cast<unsigned>(nodes.size()));
    for (int i = 0; i < nodes.size(); ++i)
      for (const std::string &output : nodes[i].output()) {
        if (output.empty())
          continue;
        auto [entry, inserted] = producers.try_emplace(output, i);
        if (!inserted && isConstant(nodes[i]) && isConstant(nodes[entry->second]))
          replaced[std::exchange(entry->second, i)] = output;
        else if (!inserted)
          return inputError("{0}: value '{1}' is defined twice: by node '{2}' and by node '{3}'; every value needs one "
                            "definition",
                            scope.where, output, nodeName(nodes[entry->second], entry->second), nodeName(nodes[i], i));
        if (scope.given.contains(output))
          return inputError("{0}: value '{1}' is defined twice: as an input or initializer and by node '{2}'",
                            scope.where, output, nodeName(nodes[i], i));
      }
    return llvm::Error::success();
  }

  /// Fills `reads` with the producers of the values that each node reads.
  llvm::Error collectReads() {
    reads.resize(static_cast<size_t>(nodes.size()));
    for (int i = 0; i < nodes.size(); ++i) {
      llvm::StringRef missing;
      forEachRead(nodes[i], [&](llvm::StringRef name) {
        auto producer = producers.find(name);
        if (producer != producers.end())
          reads[static_cast<size_t>(i)].push_back(producer->second);
        else if (missing.empty() && !scope.given.contains(name) && !scope.isVisibleOutside(name))
          missing = name;
      });
      if (!missing.empty())
        return inputError("{0}: node '{1}' ({2}) reads value '{3}', which no input, initializer or node defines",
                          scope.where, nodeName(nodes[i], i), nodes[i].op_type(), missing);
    }
    return llvm::Error::success();
  }

  llvm::Expected<NodeOrder> order() {
    NodeOrder result;
    std::vector<int> &sorted = result.nodes;
    sorted.reserve(static_cast<size_t>(nodes.size()));
    states.assign(static_cast<size_t>(nodes.size()), State::New);
    for (const auto &[node, name] : replaced) {
      result.redefined.push_back(name.str());
      states[static_cast<size_t>(node)] = State::Done;
    }
    for (int i = 0; i < nodes.size(); ++i)
      if (llvm::Error error = visit(i, sorted))
        return error;
    return result;
  }

private:
  static bool isConstant(const NodeProto &node) { return node.input_size() == 0 && node.output_size() == 1; }

  enum class State : uint8_t { New, Open, Done };
  struct Frame {
    int node;
    size_t next;
  };

  /// Depth-first from `root`, without recursion: files may hold chains of any length.
  llvm::Error visit(int root, std::vector<int> &sorted) {
    if (states[static_cast<size_t>(root)] == State::Done)
      return llvm::Error::success();
    llvm::SmallVector<Frame> stack = {{root, 0}};
    states[static_cast<size_t>(root)] = State::Open;
    while (!stack.empty()) {
      Frame &frame = stack.back();
      auto &producersOfFrame = reads[static_cast<size_t>(frame.node)];
      if (frame.next == producersOfFrame.size()) {
        states[static_cast<size_t>(frame.node)] = State::Done;
        sorted.push_back(frame.node);
        stack.pop_back();
        continue;
      }
      int producer = producersOfFrame[frame.next++];
      State &state = states[static_cast<size_t>(producer)];
      if (state == State::Open)
        return cycleError(stack, producer);
      if (state == State::New) {
        state = State::Open;
        stack.push_back({producer, 0});
      }
    }
    return llvm::Error::success();
  }

  llvm::Error cycleError(llvm::ArrayRef<Frame> stack, int start) const {
    constexpr size_t maxNamed = 8;
    std::string names;
    size_t count = 0;
    // The stack runs from users to producers; the reader wants the direction of the data.
    for (const Frame &frame : llvm::reverse(stack)) {
      if (count++ < maxNamed)
        names += (names.empty() ? "'" : "' -> '") + nodeName(nodes[frame.node], frame.node);
      if (frame.node == start)
        break;
    }
    names += count > maxNamed ? "' -> ..." : "'";
    return inputError("{0}: the graph has a cycle of {1} node(s): {2}; an ONNX graph must be free of cycles",
                      scope.where, count, names);
  }

  const NodeList &nodes;
  const GraphScope &scope;
  llvm::DenseMap<llvm::StringRef, int> producers;
  std::map<int, llvm::StringRef> replaced; ///< constants before the last of their name
  std::vector<llvm::SmallVector<int, 4>> reads;
  std::vector<State> states;
};

} // namespace

llvm::DenseSet<llvm::StringRef> capturedNames(const AttributeProto &attribute) {
  llvm::DenseSet<llvm::StringRef> captured;
  collectCaptured(attribute, captured);
  return captured;
}

llvm::Expected<NodeOrder> sortNodes(const NodeList &nodes, const GraphScope &scope) {
  NodeSorter sorter(nodes, scope);
  if (llvm::Error error = sorter.collectProducers())
    return error;
  if (llvm::Error error = sorter.collectReads())
    return error;
  return sorter.order();
}

llvm::Expected<llvm::DenseSet<llvm::StringRef>> givenNames(const GraphProto &graph, llvm::StringRef where) {
  llvm::DenseSet<llvm::StringRef> inputs, initializers;
  for (const ValueInfoProto &input : graph.input())
    if (!inputs.insert(input.name()).second)
      return inputError("{0}: two graph inputs are named '{1}'", where, input.name());
  for (const TensorProto &initializer : graph.initializer())
    if (!initializers.insert(initializer.name()).second)
      return inputError("{0}: two initializers are named '{1}'", where, initializer.name());
  for (const SparseTensorProto &initializer : graph.sparse_initializer())
    if (!initializers.insert(initializer.values().name()).second)
      return inputError("{0}: two initializers are named '{1}'", where, initializer.values().name());
  inputs.insert(initializers.begin(), initializers.end());
  return inputs;
}

} // namespace apc::onnx
