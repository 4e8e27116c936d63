// Values of a model that are equal for all inputs, and ops found by the values that they read.
#pragma once

#include "apc/IR/Program/PlanNames.h"

#include <map>

namespace apc {

/// Numbers values so that equal computations have equal numbers: the casts of one mask in 96 layers have one number.
/// Two constants are equal when their attributes are.
class ValueNumbering {
public:
  explicit ValueNumbering(mlir::func::FuncOp main);

  /// Null values have a number of their own.
  unsigned classOf(mlir::Value value) const { return value ? classes.lookup(value) : 0; }
  bool areEqual(mlir::Value a, mlir::Value b) const { return classOf(a) == classOf(b); }
  /// Ops of this kind that read values of these classes, constants counting as 0; in the order of the model.
  llvm::ArrayRef<mlir::Operation *> readers(llvm::StringRef kind, llvm::ArrayRef<unsigned> operands) const;

private:
  llvm::DenseMap<mlir::Value, unsigned> classes;
  std::map<std::pair<std::string, std::vector<unsigned>>, llvm::SmallVector<mlir::Operation *, 1>> byOperands;
};

/// The attributes that say what an op computes: all but those that name things.
mlir::DictionaryAttr meaningOf(mlir::Operation *op);
mlir::DictionaryAttr meaningOf(mlir::NamedAttrList attributes, mlir::MLIRContext *context);

} // namespace apc
