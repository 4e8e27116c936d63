// Sequences and optional values of ONNX whose structure is known when a file is read: lists of values, and values that
// are there or not.
#pragma once

#include "ImportState.h"

namespace apc::onnx {

/// True for a sequence: a value of tuple type, whose op holds the elements. `SequenceAt` of it is an element itself, so
/// no op of the dialect reads the sequence, and the op goes with all that is dead. An optional value is its element, or
/// `ImportState::none`.
bool isSequence(mlir::Value value);
/// The elements of a sequence, in their order.
llvm::SmallVector<mlir::Value> elementsOf(mlir::Value sequence);
/// A sequence of `elements`; null where the sequences of the model would hold too many elements together.
mlir::Value makeSequence(ImportState &state, llvm::StringRef name, mlir::ValueRange elements);
/// "y[2]", the name of an element as a graph input or output.
std::string elementName(llvm::StringRef sequence, size_t index);

/// A node that makes, takes or changes a sequence or an optional value.
struct SequenceNode {
  const NodeProto &proto;
  std::string name;                        ///< unique in the module
  std::string valuePrefix;                 ///< of the function call that it stands in: "call/"
  AttributeList attributes;                ///< references resolved
  llvm::SmallVector<mlir::Value> operands; ///< ImportState::none for absent ones
};

/// True for the operators of sequences and optional values (`SequenceMap`, which runs a graph, aside), and for those
/// that pass on whatever they are given.
bool isSequenceNode(const SequenceNode &node);

/// The result of a node for which `isSequenceNode` holds. Null where data decides the structure, as `remark` then says.
/// Errors name file, node and value: no such position, several element types, a tensor in place of a sequence.
llvm::Expected<mlir::Value> importSequenceNode(ImportState &state, const SequenceNode &node, std::string &remark);

/// " (position 'p' is known at run time only: say --value p=NUMBER to give graph input 'p')".
std::string tellRunTime(const ImportState &state, llvm::StringRef role, mlir::Value value, llvm::StringRef name);

} // namespace apc::onnx
