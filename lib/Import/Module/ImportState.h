// The state that the steps of one import share: the module under construction, the tables, and the report.
#pragma once

#include "../Onnx/Functions.h"
#include "../Onnx/Tensors.h"
#include "OperatorTable.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/Import/Import.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <deque>

namespace apc::onnx {

struct ImportState {
  ImportState(mlir::MLIRContext &context, const ImportOptions &options, llvm::StringRef source,
              FunctionTable functions);

  mlir::Location nameLocation(llvm::StringRef name);
  /// `name`, or `name#2` when an op of that name exists.
  std::string uniqueName(llvm::StringRef name);
  /// Remembers the first failure of a node; the walk goes on, to list everything that is not supported.
  void fail(llvm::Error error);
  /// Notes an attribute that the operator of a node has not, once for all nodes of the operator.
  void noteUnknownAttribute(llvm::StringRef attribute, const NodeProto &proto, llvm::StringRef node);
  /// MLIR's first error since the last call, without "'apc.add' op "; empty when there was none.
  std::string takeDiagnostic();

  /// A constant op, or a parameter when it is too large to keep.
  mlir::Value addConstant(mlir::DenseElementsAttr value, llvm::StringRef name);
  /// A constant whose numbers stand in the file, as opposed to one that importing computes.
  mlir::Value addStoredConstant(mlir::DenseElementsAttr value, llvm::StringRef name);
  mlir::Value addParameter(mlir::RankedTensorType type, llvm::StringRef name, llvm::StringRef kind);
  /// An initializer or the value of a constant node. Float tensors of more than one element are parameters when
  /// `isWeight`; integers and bools are constants while small, otherwise parameters with the role "constant". External
  /// data is read where it makes a constant of one element, or of integers or bools; a tensor whose file cannot be read
  /// is a parameter.
  llvm::Expected<mlir::Value> addTensor(const TensorProto &tensor, llvm::StringRef name, bool isWeight);
  llvm::Expected<mlir::Value> addSparse(const SparseTensorProto &tensor, llvm::StringRef name);

  /// The data behind a value as far as the model holds it: of constants, of small parameters stored in the model or
  /// beside it, and of ops on such values. Null when there is none. Needed where a shape depends on a tensor that is
  /// otherwise a weight.
  ///
  /// With `guessRest`, a single integer that is declared without its data counts as -1 where it is an entry of a list:
  /// "the rest" in the target of a reshape.
  mlir::DenseElementsAttr findData(mlir::Value value, bool guessRest = false);

  mlir::MLIRContext &context;
  const ImportOptions &options;
  std::string source;
  OperatorTable operators;
  FunctionTable functions;
  DiagnosticCapture diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Block *body = nullptr; ///< of @main
  mlir::OpBuilder builder;
  mlir::Value none; ///< parameters stand before it
  ImportReport report;
  std::optional<std::string> firstFailure;
  int64_t numFailures = 0;
  FoldedWeights folded;
  /// Constant ops whose numbers stand in the file, as they are or rearranged (Module/Weights.h).
  llvm::DenseSet<mlir::Operation *> storedConstants;
  /// "Conv.padding": attributes that a note names.
  llvm::StringSet<> unknownAttributes;
  /// Some operator that nobody knows has results of undeclared types.
  bool lacksTypes = false;
  /// Names of ImportOptions::conditions that are names of values.
  llvm::StringSet<> usedConditions;
  /// Nodes, inputs and outputs that the trips of loops have become.
  int64_t numUnrolled = 0;
  /// Arguments of @main that nodes of sequences read: some go where a sequence leaves elements out, or as positions.
  llvm::DenseSet<mlir::Value> readBySequences;
  /// Elements of sequences that nodes have made.
  int64_t numSequenceElements = 0;
  /// Elements of constants that nodes have folded to.
  int64_t numFolded = 0;
  /// ONNX names of the arguments of @main.
  std::vector<std::string> inputNames;
  /// Initializers of element types that are not supported, by name, with the remark on each.
  llvm::StringMap<std::string> refusedInitializers;
  /// The remark on the first of them that a node reads; "" where none does.
  std::string firstRefused;
  /// Values of graph inputs that the caller knows (ImportOptions::inputValues).
  llvm::DenseMap<mlir::Value, mlir::DenseElementsAttr> inputData;
  /// Types that the file declares for inner values; those of dims that are numbers or bound symbols are a last resort
  /// where a shape depends on data that is not there.
  llvm::StringMap<const TypeProto::Tensor *> declaredTypes;
  std::optional<llvm::SmallVector<int64_t, 4>> declaredDims(llvm::StringRef value);
  /// One of these dims: --dim VALUE.0=N, or else as the file declares it. None where neither tells a number.
  std::optional<int64_t> declaredDim(llvm::StringRef value, unsigned dim);
  /// Entries of ImportOptions::dims that dims of results took.
  llvm::StringSet<> usedDims;
  /// Parameters whose data the model file, or a file beside it, holds.
  llvm::DenseMap<mlir::Value, const TensorProto *> storedData;
  /// The file of the model, beside which external data stands; empty when the model comes from memory.
  std::string modelPath;
  /// Parameters whose external data was looked for in vain, with the reason.
  llvm::DenseMap<mlir::Value, std::string> unreadable;
  /// The attribute with its tensor's data in it, when that is external and can be read; else as it is.
  const AttributeProto &withData(const AttributeProto &attribute);

private:
  using DataMemo = llvm::DenseMap<mlir::Value, mlir::DenseElementsAttr>;
  mlir::DenseElementsAttr findData(mlir::Value value, DataMemo &memo, unsigned depth, bool guessRest);
  mlir::DenseElementsAttr readStored(mlir::Value parameter, const TensorProto &tensor);
  /// Stored positions of great number are a Range that is made: their value, or null for other numbers.
  mlir::Value addPositions(const TensorProto &tensor, const TensorHeader &header, llvm::StringRef name);
  /// An initializer of one element holds a weight, by its name or by ImportOptions::parameters.
  bool isNamedWeight(llvm::StringRef name) const;
  llvm::Expected<mlir::Value> addExternal(const TensorProto &tensor, const TensorHeader &header, llvm::StringRef name);

  std::deque<AttributeProto> filledAttributes;

  llvm::StringMap<unsigned> usedNames;
};

/// True for types whose values are numbers to count with rather than weights: bool, and integers of 16 bits and more.
bool isCountingType(mlir::Type element);
/// True for names that exporters give to weights and to nothing else: "h.0.ln_1.weight", "dense/kernel:0".
bool isWeightName(llvm::StringRef name);

} // namespace apc::onnx
