// What is proven of one op of a program: from what is known of the values that it reads to what they make.
#pragma once

#include "ValueNumbering.h"

#include "apc/Partition/VerifyProgram.h"
#include "apc/Sharding/Strategy.h"

#include <map>
#include <set>

namespace apc {

/// What is known of a value of the program.
struct Abstract {
  mlir::Value whole; ///< of the model; null for constants and what depends on the rank alone
  Sharding sharding;
  std::map<unsigned, std::string> maskedDims; ///< dims whose padding is neutral for a combiner
  AxisList keptAxes;                          ///< zero but on the first device along these
  mlir::DenseElementsAttr constant;           ///< the whole constant that this is a piece of

  llvm::ArrayRef<int64_t> dims() const { return whole ? dimsOf(whole) : constant.getType().getShape(); }
  bool isModified() const { return !maskedDims.empty() || !keptAxes.empty(); }
};

/// Proves ops one after the other, in the order of the program; the values that no op makes are assumed before.
class OpVerifier {
public:
  /// All three outlive it.
  OpVerifier(const Mesh &mesh, const PlanNames &names, const ValueNumbering &model)
      : mesh(mesh), names(names), model(model) {}

  /// Takes `abstract` for what `value` is: arguments and parameters.
  void assume(mlir::Value value, Abstract abstract) { state[value] = std::move(abstract); }
  /// What was assumed or proven of `value`, or null. Constants are not among them.
  const Abstract *find(mlir::Value value) const;
  /// Errors name the op, what is and what should be.
  llvm::Error prove(mlir::Operation *op);

  ProgramProof proof; ///< the numbers of ops, steps and masks so far

private:
  llvm::Error addStep(mlir::Operation *op);
  llvm::Error addRankOp(mlir::Operation *op);
  llvm::Error addOp(mlir::Operation *op);

  llvm::Error checkGroups(mlir::Operation *op, const AxisList &axes);
  llvm::Error checkOperand(mlir::Operation *op, unsigned index, mlir::Value whole, const FactorRule &rule,
                           const Strategy &strategy) const;
  llvm::Error checkPadding(mlir::Operation *op, unsigned index, const Abstract &abstract, const FactorRule &rule,
                           const Strategy &strategy) const;
  /// What is known of a value; constants are whole on every device.
  std::optional<Abstract> abstractOf(mlir::Value value) const;
  /// The op of the model that reads what `op` reads.
  llvm::Expected<mlir::Operation *> findOriginal(mlir::Operation *op) const;

  const Mesh &mesh;
  const PlanNames &names;
  const ValueNumbering &model;
  llvm::DenseMap<mlir::Value, Abstract> state;
  std::set<AxisList> checkedGroups;
};

} // namespace apc
