// Walks a graph in topological order and imports its nodes; function calls, branches and the trips of loops are walked
// in place.
#pragma once

#include "../Onnx/Graph.h"
#include "ImportState.h"

#include "apc/IR/Composites.h"

namespace apc::onnx {

/// The values behind the names of one graph or function body. A null value could not be derived, because a node before
/// it is not supported or has failed.
struct Scope {
  const Scope *parent = nullptr; ///< the enclosing graph; null for the main graph and for function bodies
  std::string where;             ///< for messages: "model.onnx", "model.onnx: function 'f'"
  std::string prefix;            ///< of nodes and values: "" or "call/"
  llvm::DenseMap<llvm::StringRef, mlir::Value> values;
  const AttributeBindings *bindings = nullptr;             ///< of a function body
  const llvm::StringMap<int64_t> *opsets = nullptr;        ///< domain -> version
  const llvm::DenseSet<const NodeProto *> *done = nullptr; ///< nodes whose values the enclosing scope has

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
  /// The nodes of an inner graph, and the values of its outputs; null where they could not be derived.
  llvm::Expected<llvm::SmallVector<mlir::Value>> importOutputs(const GraphProto &graph, Scope &scope);

  /// A graph that is run several times, with what all trips share: initializers and constants.
  struct Body {
    const GraphProto *graph = nullptr;
    Scope shared;
    llvm::DenseSet<const NodeProto *> done;
  };
  /// The values of one scan output, trip by trip, and the dim along which they stand side by side.
  struct ScanOutput {
    llvm::SmallVector<mlir::Value> values;
    int64_t axis = 0;
  };
  struct Scanned {
    llvm::SmallVector<mlir::Value> states;
    std::vector<ScanOutput> outputs;
  };
  struct Scan;
  llvm::Error importLoop(const GraphProto &body, const Call &call, Scope &scope);
  llvm::Error importScan(const GraphProto &body, const Call &call, Scope &scope);
  llvm::Error importSequenceMap(const GraphProto &body, const Call &call, Scope &scope);
  llvm::Error checkMap(const GraphProto &body, const Call &call, const Scope &scope,
                       llvm::ArrayRef<mlir::Value> operands);
  llvm::Error openBody(const GraphProto &body, Body &frame, const Call &call, Scope &scope);
  /// The outputs of the graph for `inputs`; null where they could not be derived.
  llvm::Expected<llvm::SmallVector<mlir::Value>> importTrip(Body &frame, const llvm::Twine &name,
                                                            llvm::ArrayRef<mlir::Value> inputs);
  /// An error where a node has more outputs than its graph gives, which keeps the first `numOwn` for itself.
  llvm::Error checkOutputs(const GraphProto &body, int numOwn, const Call &call, const Scope &scope);
  /// Counts the nodes, inputs and outputs of further trips; false when there would be too many.
  int64_t sizeOfTrip(const GraphProto &body) const;
  bool mayUnroll(const GraphProto &body, int64_t trips);
  void refuseUnrolling(const GraphProto &body, const Call &call, Scope &scope);
  std::optional<bool> knownCondition(mlir::Value value);
  llvm::Error unrollLoop(const GraphProto &body, const Call &call, Scope &scope, int64_t trips,
                         llvm::ArrayRef<mlir::Value> initial);
  /// Defines the node's outputs: `results`, then the scan outputs, which belong to the last outputs of the graph.
  llvm::Error finishLoop(const GraphProto &body, const Call &call, Scope &scope, llvm::SmallVector<mlir::Value> results,
                         llvm::ArrayRef<ScanOutput> scanned);
  llvm::Expected<mlir::Value> stackScan(const ScanOutput &list, const Call &call, llvm::StringRef name);
  llvm::Expected<mlir::Value> emptyScan(const ValueInfoProto &output, const Call &call, llvm::StringRef name);
  llvm::Expected<std::vector<llvm::SmallVector<mlir::Value>>> takeSequences(const Scan &scan, llvm::StringRef name,
                                                                            llvm::ArrayRef<mlir::Value> sequences);
  /// None where the node is marked as not supported.
  llvm::Expected<std::optional<Scanned>> scanElements(const Scan &scan, const llvm::Twine &prefix, Scope &scope,
                                                      llvm::ArrayRef<mlir::Value> operands);
  llvm::Error scanOnce(const Scan &scan, Scope &scope, llvm::ArrayRef<mlir::Value> operands);
  llvm::Error scanBatch(const Scan &scan, Scope &scope, llvm::ArrayRef<mlir::Value> operands);

  /// The bool that --condition gives a value, as a constant; the value itself otherwise.
  mlir::Value conditioned(mlir::Value value, llvm::StringRef name, const Scope &scope);
  bool importConstant(const Call &call, Scope &scope);
  llvm::Expected<mlir::Value> constantValue(const Call &call, llvm::StringRef name);
  void importOperator(const OperatorEntry &entry, const Call &call, Scope &scope);
  /// The ops that stand for a node of an operator that is made of several.
  void importComposite(const Call &call, Scope &scope);
  llvm::Expected<CompositeNode> readComposite(const Call &call, llvm::ArrayRef<mlir::Value> operands);
  /// False for nodes that have nothing to do with sequences and optional values.
  bool importSequence(const Call &call, Scope &scope);
  /// True, with an error, where an operator of tensors is given a sequence.
  bool refusesSequences(const Call &call, Scope &scope);
  /// False where an operator that nobody knows cannot be planned: the file declares no types for its results, it holds
  /// graphs, or the caller wants none.
  bool importOpaque(const Call &call, Scope &scope);
  mlir::Type declaredType(const Call &call, const Scope &scope, int index, llvm::ArrayRef<mlir::Value> operands,
                          bool hasRule);
  mlir::Operation *makeOpaque(const Call &call, const Scope &scope, llvm::ArrayRef<mlir::Value> operands,
                              llvm::ArrayRef<mlir::Type> types, const OperatorRule *rule);
  /// Gives the results the dims that the factor rule tells.
  llvm::Error applyRule(const Call &call, const Scope &scope, mlir::Operation *op);
  void markUnsupported(const Call &call, Scope &scope, llvm::StringRef remark = "");
  /// The operator as which a node is read: one that is none of ONNX's as ONNX Runtime's of that name, which some of its
  /// tools leave without their domain.
  std::string readAs(const NodeProto &node) const;
  /// The declaration of a node's operator; null for those that nobody knows.
  const OperatorEntry *entryOf(const NodeProto &node) const;
  /// The names of values in the attributes of a node whose operator has such, by attribute.
  llvm::SmallVector<llvm::StringRef> namedValues(const NodeProto &node) const;
  /// The operands of a node, `none` for absent ones; empty when an operand could not be derived.
  std::optional<llvm::SmallVector<mlir::Value>> operandsOf(const NodeProto &node, const Scope &scope) const;
  void define(const Call &call, llvm::ArrayRef<mlir::Value> results, Scope &scope);
  void leaveUnresolved(const NodeProto &node, Scope &scope);

  ImportState &state;
  llvm::DenseMap<const NodeList *, std::vector<int>> orders;
  llvm::StringSet<> readElsewhere; ///< operators of ONNX Runtime without their domain, named in a note once
};

/// The graph input that alone decides `value`, as far as ops with one operand lead to it; empty otherwise.
std::optional<unsigned> decidingInput(mlir::Value value);

/// A note for each operator that nobody knows, and for factor rules that no node has.
void noteOpaque(ImportState &state);

/// domain -> version of the imports of a model or a function.
llvm::StringMap<int64_t> opsetVersions(const google::protobuf::RepeatedPtrField<OperatorSetIdProto> &imports);

} // namespace apc::onnx
