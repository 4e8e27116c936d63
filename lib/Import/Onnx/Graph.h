// The nodes of one graph in an order in which they can be imported.
#pragma once

#include "OnnxModel.pb.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <vector>

namespace apc::onnx {

using NodeList = google::protobuf::RepeatedPtrField<NodeProto>;

/// "Add_17" for the unnamed 17th node, its name otherwise.
std::string nodeName(const NodeProto &node, int index);

/// "MatMul" in the default domain, which may also be spelled "ai.onnx"; "com.microsoft.FusedMatMul" in another.
std::string operatorName(llvm::StringRef domain, llvm::StringRef type);
/// The default domain's other spelling made empty.
llvm::StringRef normalDomain(llvm::StringRef domain);

/// Names that the graphs of an attribute, and those inside them, read from outside.
llvm::DenseSet<llvm::StringRef> capturedNames(const AttributeProto &attribute);

/// The names that a graph starts with, and its own name in messages.
struct GraphScope {
  std::string where;                                     ///< "model.onnx" or "model.onnx: function 'f'"
  llvm::DenseSet<llvm::StringRef> given;                 ///< inputs and initializers
  std::function<bool(llvm::StringRef)> isVisibleOutside; ///< names of enclosing graphs
};

/// The nodes of a graph in the order of import.
struct NodeOrder {
  std::vector<int> nodes;
  /// Names of constants that are defined more than once.
  std::vector<std::string> redefined;
};

/// Indices of `nodes` so that producers stand before users; a file that is sorted already keeps its order. Nodes that
/// hold graphs come after the values that these graphs capture. Errors name node and value: a value defined twice, a
/// value that nothing defines, a cycle (its nodes are listed).
///
/// Constants (nodes without inputs) may share a name, because tools that edit constants write such files: the last one
/// is used.
llvm::Expected<NodeOrder> sortNodes(const NodeList &nodes, const GraphScope &scope);

/// The names that a graph starts with: its inputs and initializers; an initializer may also be an input. Errors: two
/// inputs or two initializers of one name.
llvm::Expected<llvm::DenseSet<llvm::StringRef>> givenNames(const GraphProto &graph, llvm::StringRef where);

} // namespace apc::onnx
