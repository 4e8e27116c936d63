// Local functions: look-up, recursion and size.
#include "Functions.h"

#include "Graph.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/DenseMap.h"

namespace apc::onnx {

namespace {

constexpr unsigned maxDepth = 64;
constexpr int64_t maxNodes = 1'000'000;

std::string functionKey(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload) {
  return (normalDomain(domain) + "\n" + name + "\n" + overload).str();
}

/// Walks the calls from a list of nodes and adds up the nodes that they expand to.
class CallChecker {
public:
  CallChecker(const FunctionTable &table, llvm::StringRef source) : table(table), source(source) {}

  /// The number of nodes after expansion, at most maxNodes + 1.
  llvm::Expected<int64_t> expandedSize(const NodeList &nodes) {
    int64_t total = 0;
    for (const NodeProto &node : nodes) {
      int64_t size = 1;
      if (const FunctionProto *function = table.find(node)) {
        auto body = expandedSize(*function);
        if (!body)
          return body;
        size = *body;
      }
      for (const AttributeProto &attribute : node.attribute()) {
        if (!attribute.has_g())
          continue;
        auto inner = expandedSize(attribute.g().node());
        if (!inner)
          return inner;
        size += *inner;
      }
      total = std::min(total + size, maxNodes + 1);
    }
    return total;
  }

private:
  llvm::Expected<int64_t> expandedSize(const FunctionProto &function) {
    auto known = sizes.find(&function);
    if (known != sizes.end())
      return known->second;
    if (llvm::is_contained(path, &function))
      return inputError("{0}: function '{1}' calls itself: {2}; functions of a model must not recurse", source,
                        function.name(), pathTo(function));
    if (path.size() == maxDepth)
      return inputError("{0}: function calls are nested deeper than {1}, at function '{2}'", source, maxDepth,
                        function.name());
    path.push_back(&function);
    auto size = expandedSize(function.node());
    path.pop_back();
    if (size)
      sizes[&function] = *size;
    return size;
  }

  std::string pathTo(const FunctionProto &function) const {
    std::string text;
    for (const FunctionProto *caller : llvm::ArrayRef(path).drop_while([&](auto *f) { return f != &function; }))
      text += caller->name() + " -> ";
    return text + function.name();
  }

  const FunctionTable &table;
  llvm::StringRef source;
  llvm::SmallVector<const FunctionProto *> path;
  llvm::DenseMap<const FunctionProto *, int64_t> sizes;
};

} // namespace

llvm::Expected<FunctionTable> FunctionTable::build(const ModelProto &model, llvm::StringRef source) {
  FunctionTable table;
  for (const FunctionProto &function : model.functions()) {
    std::string key = functionKey(function.domain(), function.name(), function.overload());
    if (!table.functions.try_emplace(key, &function).second)
      return inputError("{0}: function '{1}' is defined twice", source,
                        operatorName(function.domain(), function.name()));
  }
  CallChecker checker(table, source);
  auto size = checker.expandedSize(model.graph().node());
  if (!size)
    return size.takeError();
  if (*size > maxNodes)
    return inputError("{0}: the graph has more than {1} nodes after its functions are expanded", source, maxNodes);
  return table;
}

int64_t FunctionTable::expandedSize(const GraphProto &graph) const {
  auto size = CallChecker(*this, "").expandedSize(graph.node());
  if (size)
    return *size;
  // Calls of inner graphs are those of the model, which have been checked.
  llvm::consumeError(size.takeError());
  return maxNodes + 1;
}

const FunctionProto *FunctionTable::find(const NodeProto &node) const {
  if (functions.empty())
    return nullptr;
  return functions.lookup(functionKey(node.domain(), node.op_type(), node.overload()));
}

AttributeBindings bindAttributes(const FunctionProto &function, const AttributeList &call) {
  AttributeBindings bindings;
  for (const AttributeProto &fallback : function.attribute_proto())
    bindings[fallback.name()] = &fallback;
  for (const NamedAttributeProto &attribute : call)
    bindings[attribute.name] = attribute.proto;
  return bindings;
}

} // namespace apc::onnx
