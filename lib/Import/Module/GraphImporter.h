// Walks a graph in topological order and imports its nodes; function calls and branches are walked in place.
#pragma once

#include "../Onnx/Graph.h"
#include "ImportState.h"

namespace apc::onnx {

/// The values behind the names of one graph or function body. A null value could not be derived, because a node before
/// it is not supported or has failed.
struct Scope {
  const Scope *parent = nullptr; ///< the enclosing graph; null for the main graph and for function bodies
  std::string where;             ///< for messages: "model.onnx", "model.onnx: function 'f'"
  std::string prefix;            ///< of nodes and values: "" or "call/"
  llvm::DenseMap<llvm::StringRef, mlir::Value> values;
  const AttributeBindings *bindings = nullptr;      ///< of a function body
  const llvm::StringMap<int64_t> *opsets = nullptr; ///< domain -> version

  /// The value of a name here or in an enclosing graph; empty when there is none.
  std::optional<mlir::Value> find(llvm::StringRef name) const;
};

class GraphImporter {
public:
  explicit GraphImporter(ImportState &state) : state(state) {}

  /// Imports the nodes that `outputs` need. `scope` holds the graph's inputs and initializers, and all values
  /// afterwards. Errors are those of the file's structure; a node that fails or is not supported is recorded in the
  /// state.
  llvm::Error importNodes(const NodeList &nodes, llvm::ArrayRef<llvm::StringRef> outputs, Scope &scope);
  /// The initializers of a graph, as constants or parameters.
  llvm::Error importInitializers(const GraphProto &graph, Scope &scope);

private:
  struct Call {
    const NodeProto &node;
    std::string name; ///< unique
    AttributeList attributes;
  };

  llvm::Expected<const std::vector<int> *> orderOf(const NodeList &nodes, const Scope &scope);
  std::vector<bool> findLive(const NodeList &nodes, llvm::ArrayRef<int> order, llvm::ArrayRef<llvm::StringRef> outputs);
  llvm::Error importNode(const NodeProto &node, int index, Scope &scope);
  llvm::Error importFunction(const FunctionProto &function, const Call &call, Scope &scope);
  llvm::Error importBranch(const Call &call, Scope &scope);
  llvm::Error importBranchGraph(const GraphProto &graph, const Call &call, Scope &scope);
  bool importConstant(const Call &call, Scope &scope);
  llvm::Expected<mlir::Value> constantValue(const Call &call, llvm::StringRef name);
  void importOperator(const OperatorEntry &entry, const Call &call, Scope &scope);
  void markUnsupported(const Call &call, Scope &scope, llvm::StringRef remark = "");
  /// The names of values in the attributes of a node whose operator has such, by attribute.
  llvm::SmallVector<llvm::StringRef> namedValues(const NodeProto &node) const;
  /// The operands of a node, `none` for absent ones; empty when an operand could not be derived.
  std::optional<llvm::SmallVector<mlir::Value>> operandsOf(const NodeProto &node, const Scope &scope) const;
  void define(const Call &call, llvm::ArrayRef<mlir::Value> results, Scope &scope);
  void leaveUnresolved(const NodeProto &node, Scope &scope);

  ImportState &state;
  llvm::DenseMap<const NodeList *, std::vector<int>> orders;
};

/// domain -> version of the imports of a model or a function.
llvm::StringMap<int64_t> opsetVersions(const google::protobuf::RepeatedPtrField<OperatorSetIdProto> &imports);

} // namespace apc::onnx
