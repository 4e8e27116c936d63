// One rank on its way through a program.
#pragma once

#include "apc/IR/Kernels/Tensor.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <map>
#include <memory>

namespace apc {

using TensorRef = std::shared_ptr<const Tensor>;

/// The facts of a module that all ranks share: its functions, the values that nobody reads after an op, its constants.
class ProgramText {
public:
  explicit ProgramText(mlir::ModuleOp module);

  mlir::func::FuncOp main() const { return mainFunction; }
  mlir::func::FuncOp function(llvm::StringRef name) const { return functions.lookup(name); }
  llvm::ArrayRef<mlir::Value> dyingAfter(mlir::Operation *op) const;
  const TensorRef &constant(mlir::Operation *op) const { return constants.find(op)->second; }

private:
  mlir::func::FuncOp mainFunction;
  llvm::StringMap<mlir::func::FuncOp> functions;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>> dying;
  llvm::DenseMap<mlir::Operation *, TensorRef> constants;
};

/// A rank runs until it must meet others, or to the end.
class RankRun {
public:
  /// The piece of a parameter that this rank holds.
  using PieceSource = std::function<llvm::Expected<TensorRef>(mlir::Operation *parameter)>;

  RankRun(const ProgramText &text, const Mesh &mesh, int64_t rank, PieceSource parameters)
      : text(text), mesh(mesh), rank(rank), parameters(std::move(parameters)) {}

  /// Inputs are those of the first micro-batch, then those of the second, and so on.
  void start(llvm::ArrayRef<TensorRef> inputs);
  /// Runs on; afterwards the rank is done or waits at a collective.
  llvm::Error advance();
  /// The collective at which the rank waits; null when it is done.
  CollectiveInterface waitsAt() const { return waiting; }
  /// The piece that the rank brings to the collective as value `index`.
  const TensorRef &brings(unsigned index) const {
    CollectiveInterface op = waiting;
    return frames.back().values.find(op->getOperand(index))->second;
  }
  void finishCollective(llvm::ArrayRef<TensorRef> outputs);
  bool isDone() const { return done; }
  llvm::ArrayRef<TensorRef> getResults() const { return results; }

private:
  /// A function that is being run.
  struct Frame {
    mlir::Block::iterator next;
    llvm::DenseMap<mlir::Value, TensorRef> values;
  };

  void enterMain();
  void endMicroBatch(MicroBatchEndOp end);
  /// Adds the sums of the micro-batches before, in the order in which a run of `main` comes to them.
  void accumulate(Tensor &sum);
  void enter(mlir::func::FuncOp function, llvm::ArrayRef<TensorRef> arguments);
  void leave(mlir::Operation *end);
  llvm::Error runOp(mlir::Operation *op);
  llvm::Error evaluate(mlir::Operation *op);
  void forget(mlir::Operation *op);

  const ProgramText &text;
  const Mesh &mesh;
  int64_t rank;
  PieceSource parameters;
  std::vector<Frame> frames;
  std::vector<TensorRef> inputs;
  int64_t microBatch = 0;
  std::vector<Tensor> sums; ///< over micro-batches
  size_t nextSum = 0;
  CollectiveInterface waiting;
  bool done = false;
  std::vector<TensorRef> results;
};

/// `apc.matmul 'layer3/up'`: how errors call an op.
std::string describeOp(mlir::Operation *op);

/// An error unless there are as many inputs as `main` takes in all micro-batches together.
llvm::Error checkNumInputs(mlir::func::FuncOp main, size_t given);

/// An error unless a tensor has the dims and element type of `type`.
llvm::Error checkType(const Tensor &tensor, mlir::Type type, const llvm::Twine &what);

} // namespace apc
