// The proof of one op of a program: from the facts known of the values that it reads to facts about its results.
#pragma once

#include "ValueNumbering.h"

#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Partition/VerifyProgram.h"

#include <map>
#include <set>

namespace apc {

/// The facts known of a value of the program.
struct Abstract {
  mlir::Value whole; ///< the model's value; null for constants and for values that follow from the rank alone
  Sharding sharding;
  std::map<unsigned, Combiner> maskedDims; ///< dims whose padding is neutral for a combiner
  AxisList keptAxes;                       ///< axes along which only the first device holds the value, others zeros
  mlir::DenseElementsAttr constant;        ///< the whole constant that the value is a piece of

  llvm::ArrayRef<int64_t> dims() const { return whole ? dimsOf(whole) : constant.getType().getShape(); }
  bool isModified() const { return !maskedDims.empty() || !keptAxes.empty(); }
};

/// Proves ops one after the other, in the order of the program; the values that no op makes are assumed before.
class OpVerifier {
public:
  /// The verifier refers to `names` and `model`, those of `main`.
  OpVerifier(MeshAttr mesh, const PlanNames &names, const ValueNumbering &model, mlir::func::FuncOp main);

  /// Takes the facts of an argument or parameter for granted.
  void assume(mlir::Value value, Abstract abstract) { state[value] = std::move(abstract); }
  /// The facts assumed or proven of `value`, or null. There are none of constants.
  const Abstract *find(mlir::Value value) const;
  /// From here on, ops are of the next part of the work: another one for each micro-batch, or, behind the last of
  /// these, what runs once.
  void endPart() { ++part; }
  /// The op of the model belongs to the part that is being proven.
  bool isInPart(mlir::Operation *op) const { return parts.lookup(op) == part; }
  /// Errors name the op, what was found and what was expected.
  llvm::Error prove(mlir::Operation *op);

  ProgramProof proof; ///< the numbers of ops, collectives and masks so far

private:
  llvm::Error addCollective(CollectiveInterface op);
  llvm::Error addMoved(CollectiveInterface op, unsigned index);
  llvm::Error addRankOp(mlir::Operation *op);
  llvm::Error addOp(mlir::Operation *op);
  /// The proof that `op` is the piece of `candidate`, an op of the model, under the strategy that it names.
  llvm::Error addPieceOf(mlir::Operation *candidate, mlir::Operation *op, StrategyAttr named);

  llvm::Error checkGroups(mlir::Operation *op, const AxisList &axes);
  llvm::Error checkOperand(mlir::Operation *op, unsigned index, mlir::Value whole, const FactorRule &rule,
                           const Strategy &strategy) const;
  llvm::Error checkPadding(mlir::Operation *op, unsigned index, const Abstract &abstract, const FactorRule &rule,
                           const Strategy &strategy) const;
  /// The facts known of a value; constants are whole on every device.
  std::optional<Abstract> abstractOf(mlir::Value value) const;
  using Candidates = llvm::SmallVector<mlir::Operation *>;
  /// The ops of the model that read the values that `op` reads pieces of, the likeliest first: several parts of one
  /// value may be sliced, and names tell them apart only in the first of the layers that share a function.
  llvm::Expected<Candidates> findOriginals(mlir::Operation *op) const;

  MeshAttr meshAttr;
  const Mesh &mesh;
  const PlanNames &names;
  const ValueNumbering &model;
  llvm::DenseMap<mlir::Operation *, unsigned> parts; ///< by op of the model: the parts that end before it
  unsigned numParts = 1;
  unsigned part = 0; ///< of the program, up to here
  llvm::DenseMap<mlir::Value, Abstract> state;
  std::set<AxisList> checkedGroups;
};

} // namespace apc
