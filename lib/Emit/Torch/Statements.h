// Ops as statements of Python.
#pragma once

#include "LayerWeights.h"
#include "PythonText.h"
#include "TorchFunctions.h"
#include "ValueNames.h"

#include "apc/IR/Ops/Spmd/Spmd.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringSet.h"

namespace apc {

/// The parts of a program's text that its functions share.
struct TorchText {
  TorchText(const TorchFunctions &functions, const Mesh &mesh) : functions(functions), mesh(mesh) {}

  const TorchFunctions &functions;
  Mesh mesh;
  std::set<std::string> used;                                             ///< functions of `ops`
  std::vector<AxisList> groups;                                           ///< over which ranks exchange data
  std::vector<std::pair<std::string, mlir::DenseElementsAttr>> constants; ///< tensors, by name
  llvm::DenseMap<mlir::Attribute, std::string> nameOfConstant;
  llvm::StringMap<double> seconds;                       ///< predicted, of ops by name
  llvm::StringMap<double> collectiveSeconds;             ///< by op and collective: "/fc/Gemm AllReduce{device}"
  llvm::StringMap<LayerWeights> layerWeights;            ///< of functions that take them together
  llvm::StringSet<> withSums;                            ///< functions that add to sums over micro-batches
  llvm::StringMap<std::vector<std::string>> resultNames; ///< of the functions that `main` calls
};

/// The key of a collective's predicted seconds: the op whose result it takes, with kind and axes of `collective`, which
/// is as plans have it: "AllGather{device} 0".
std::string collectiveKey(llvm::StringRef op, llvm::StringRef collective);

/// The statements of one function of the program. `rank` is where it runs, `weights` the tensors that the rank holds.
class Statements {
public:
  /// \p names: those of the function's values (`nameValues`). \p sums: the expression of its sums over micro-batches.
  Statements(TorchText &text, llvm::DenseMap<mlir::Value, std::string> names, llvm::StringRef sums);

  /// The Python expression of a value: a name, or `weights["w"]`, a constant.
  std::string nameOf(mlir::Value value) { return tensorText(value); }
  /// Sets the expression of an argument.
  void setName(mlir::BlockArgument argument, std::string name) { names[argument] = std::move(name); }
  /// The expression that a value is assigned to, in place of a name: `weights["w"]`.
  void assign(mlir::Value value, std::string target) { targets[value] = std::move(target); }
  /// Adds the statement of an op. Errors (input): an op without a function in PyTorch, a type that it does not have.
  llvm::Error add(mlir::Operation &op);
  /// The lines since the last call, and none from then on.
  std::vector<std::string> take() { return std::exchange(lines, {}); }

  /// The lines of the functions that these statements call, each a step of an optimizer, and none from then on.
  std::vector<std::string> takeFunctions();

private:
  llvm::Error addOperator(mlir::Operation &op);
  llvm::Error addCollective(CollectiveInterface op);
  llvm::Error addOnRank(mlir::Operation &op);
  void addConstant(ConstantOp op);
  /// An update of a parameter and its states, `update("w", gradient)`.
  void addUpdate(mlir::Operation &op, const std::string &call);
  /// A sum over micro-batches.
  void addSum(mlir::Operation &op);
  void addCall(mlir::func::CallOp op);
  /// `a, b = expression  # comment`; results that nobody reads are `_`.
  void addLine(mlir::Operation &op, std::string expression, std::string comment = "");
  /// Takes back the last line where it makes a value that this op alone reads, by a method: `x = f(a)` before
  /// `x.reshape((3, 5))` becomes `f(a).reshape((3, 5))`, with the comment of the line.
  void joinLast(mlir::Operation &op, std::string &expression, std::string &comment);
  /// The names that the results of an op are assigned to.
  std::vector<std::string> assignedNames(mlir::Operation &op);
  std::string commentOn(mlir::Operation &op) const;
  std::string commentOn(CollectiveInterface op) const;
  std::string argumentOf(mlir::Operation &op, const TorchParameter &parameter, std::string &missing);
  std::string operandText(mlir::Value value, llvm::StringRef annotation);
  std::string tensorText(mlir::Value value);

  TorchText &text;
  llvm::DenseMap<mlir::Value, std::string> names, targets;
  std::string sums;
  llvm::StringMap<unsigned> numCalls; ///< of each function
  std::vector<std::string> lines;
  PythonNames functionNames; ///< taken where functions inside of this one are named
  /// Functions inside of this one, each a step of an optimizer: name and body.
  llvm::SmallVector<std::pair<std::string, std::string>, 1> updates;
};

} // namespace apc
