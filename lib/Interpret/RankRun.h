// One rank on its way through a program.
#pragma once

#include "apc/IR/Kernels/Tensor.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace apc {

using TensorRef = std::shared_ptr<const Tensor>;

/// The facts of a module that all ranks share: its functions, the values that nobody reads after an op, its constants.
class ProgramText {
public:
  explicit ProgramText(mlir::ModuleOp module);

  mlir::func::FuncOp main() const { return mainFunction; }
  mlir::func::FuncOp function(llvm::StringRef name) const { return functions.lookup(name); }
  bool hasParts() const { return parted; }
  llvm::ArrayRef<mlir::Value> dyingAfter(mlir::Operation *op) const;
  const TensorRef &constant(mlir::Operation *op) const { return constants.find(op)->second; }

private:
  mlir::func::FuncOp mainFunction;
  bool parted = false; ///< `main` has several parts for a micro-batch
  llvm::StringMap<mlir::func::FuncOp> functions;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>> dying;
  llvm::DenseMap<mlir::Operation *, TensorRef> constants;
};

/// A sum over the runs of micro-batches and their copies, in the order of their numbers, whichever comes first: so that
/// all ranks round alike.
struct RunningSum {
  std::shared_ptr<Tensor> total = std::make_shared<Tensor>();
  int64_t next = 0;                  ///< the run that is added next
  std::map<int64_t, Tensor> waiting; ///< of later runs
};
/// By the calls that lead to their op, and the op.
using RunningSums = std::map<std::vector<mlir::Operation *>, RunningSum>;

/// A rank on its way through the module of its stage. It runs `main` part by part (`isPartEnd`), once for each
/// micro-batch, then what stands below the end of micro-batches; values of a micro-batch stay from part to part. It
/// runs on until it must meet others, or to the end of the part.
class RankRun {
public:
  /// The piece of a parameter that this rank holds.
  using PieceSource = std::function<llvm::Expected<TensorRef>(mlir::Operation *parameter)>;

  /// \p sums: what the runs of all copies of micro-batches add to.
  RankRun(const ProgramText &text, const Mesh &mesh, int64_t rank, PieceSource parameters,
          std::shared_ptr<RunningSums> sums = std::make_shared<RunningSums>())
      : text(text), mesh(mesh), rank(rank), parameters(std::move(parameters)), sums(std::move(sums)) {}

  /// Takes the inputs of the first micro-batch, then those of the second, and so on.
  void take(llvm::ArrayRef<TensorRef> given) { inputs.assign(given.begin(), given.end()); }
  /// Enters the next part of a micro-batch, the first one where none has been run. False: it has no part left, or no
  /// inputs.
  bool enterPart(int64_t index);
  /// Enters what runs once, with the values of the micro-batch that was finished last. False: none was.
  bool enterUpdate();
  /// Runs on; afterwards the rank waits for others, is at the end of a part, or done.
  llvm::Error advance();
  /// The collective, send or receive at which the rank waits for others; null when it does not.
  mlir::Operation *waitsAt() const { return waiting; }
  /// The op that ended the part which was entered last: `part_end` or `micro_batch_end`; null while that part runs.
  mlir::Operation *partEnd() const { return end; }
  /// The micro-batch that is being run, or, in the update, that was finished last.
  int64_t getMicroBatch() const { return microBatch; }
  int64_t numFinished() const { return finishedCount; }
  /// `main` has several parts for a micro-batch.
  bool hasParts() const { return text.hasParts(); }
  /// The piece that the rank brings to the op at which it waits, as value `index`.
  const TensorRef &brings(unsigned index) const {
    return frames.back().values.find(waiting->getOperand(index))->second;
  }
  /// Goes on with the results of the op at which it waits.
  void finish(llvm::ArrayRef<TensorRef> outputs);
  bool isDone() const { return done; }
  llvm::ArrayRef<TensorRef> getResults() const { return results; }

private:
  /// A function that is being run.
  struct Frame {
    mlir::Block::iterator next;
    llvm::DenseMap<mlir::Value, TensorRef> values;
  };

  void endPart(mlir::Operation *op);
  /// Adds a micro-batch's value to the sum that `op` makes, one tensor for all of them.
  TensorRef accumulate(mlir::Operation *op, Tensor value);
  void enter(mlir::func::FuncOp function, llvm::ArrayRef<TensorRef> arguments);
  void leave(mlir::Operation *end);
  llvm::Error runOp(mlir::Operation *op);
  llvm::Error evaluate(mlir::Operation *op);
  void forget(mlir::Operation *op);

  const ProgramText &text;
  const Mesh &mesh;
  int64_t rank;
  PieceSource parameters;
  std::vector<Frame> frames; ///< of `main` and the functions that are being run
  std::vector<TensorRef> inputs;
  int64_t microBatch = 0;                ///< the one being run
  std::map<int64_t, Frame> betweenParts; ///< of `main`, by micro-batch
  std::set<int64_t> started;             ///< micro-batches
  int64_t finishedCount = 0;
  std::optional<Frame> finished; ///< of the micro-batch that was finished last
  std::shared_ptr<RunningSums> sums;
  mlir::Operation *waiting = nullptr;
  mlir::Operation *end = nullptr;
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
