// Shared by the definitions of operators: shape inference and rules from rule text, constants, errors.
#pragma once

#include "apc/IR/Kernels/Tensor.h"
#include "apc/IR/OperandTypes.h"
#include "apc/Sharding/FactorRule.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace apc {

/// Traits of a rule beside its factors, as the operator's definition gives them.
struct RuleTraits {
  Work work = Work::Stream;
  double flopsPerPoint = 0;
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2> linear;
  llvm::SmallVector<unsigned, 2> sparse;
};

/// The shape of a tensor value with its element bits (bool counts 8); empty for `none`.
std::optional<TensorShape> shapeOf(mlir::Type type);
inline std::optional<TensorShape> shapeOf(mlir::Value value) { return shapeOf(value.getType()); }
/// The dims of a tensor value; none for `none`.
llvm::ArrayRef<int64_t> dimsOf(mlir::Value value);
bool isAbsent(mlir::Value value); ///< of type `none`

/// Element types for `inferTypesFromRule`: that of operand `index`, of the first present operand after it when absent;
/// i1; i64.
mlir::Type operandElement(mlir::Operation *op, unsigned index);
mlir::Type boolElement(mlir::Operation *op);
mlir::Type indexElement(mlir::Operation *op);
/// f64 where operand 0 is, f32 otherwise: statistics of tensors of 16 bits.
mlir::Type preciseElement(mlir::Operation *op);

/// Trait of an op whose result is a sum over micro-batches: each run of `main` adds to it (see `micro_batch_end`).
template <typename Op>
class Accumulates : public mlir::OpTrait::TraitBase<Op, Accumulates> {};

/// Trait of an op whose attributes of text are names of values of the model: the importer adds these values behind the
/// operands, in the alphabetical order of the attributes.
template <typename Op>
class NamesValues : public mlir::OpTrait::TraitBase<Op, NamesValues> {};

/// The text of a rule, or a failure whose error has been emitted at the op.
struct RuleSource {
  RuleSource(const char *text) : text(std::string(text)) {}
  RuleSource(llvm::StringRef text) : text(text.str()) {}
  RuleSource(std::string text) : text(std::move(text)) {}
  RuleSource(mlir::FailureOr<std::string> text) : text(std::move(text)) {}

  mlir::FailureOr<std::string> text;
};

/// Result types read off a rule: dims from the bound factors, element type `element` for all results.
mlir::LogicalResult inferTypesFromRule(mlir::Operation *op, const RuleSource &rule, mlir::Type element,
                                       llvm::SmallVectorImpl<mlir::Type> &types);
/// The same with one element type for each result.
mlir::LogicalResult inferTypesFromRule(mlir::Operation *op, const RuleSource &rule, llvm::ArrayRef<mlir::Type> elements,
                                       llvm::SmallVectorImpl<mlir::Type> &types);
/// Binds a rule's text to the shapes of `op`. For a variadic operator the last operand of the text stands for all the
/// rest.
mlir::FailureOr<FactorRule> bindRule(mlir::Operation *op, const RuleSource &rule, const RuleTraits &traits);

/// Operands have the element types that the operator takes; an error at `op` that names operand and types otherwise.
mlir::LogicalResult checkOperandTypes(mlir::Operation *op);
/// The same for tensors (null: absent, or not known), each of which holds as many elements as its dims say.
bool areTaken(mlir::Operation *op, Operands operands);
/// Operands have types that the operator takes, and every result the type that `inferTypes` gives, or `none`.
mlir::LogicalResult verifyOperator(mlir::Operation *op);

/// `k, k -> `, `k, ... k n -> ... n`, `... m k, k -> ... m` or `... m k, ... k n -> ... m n`, by the numbers of dims.
std::string matMulRule(mlir::Operation *op);

/// The constant that `value` is, looking at its defining op only; null when it is not constant.
mlir::DenseElementsAttr constantOf(mlir::Value value);
/// A constant integer tensor read as a list (a scalar is a list of one); empty when not constant or not integer.
std::optional<llvm::SmallVector<int64_t, 6>> constantInts(mlir::Value value);
/// The same, with an error at `op` that names the operand when it is not a constant or has more than one dim.
mlir::FailureOr<llvm::SmallVector<int64_t, 6>> requireInts(mlir::Operation *op, unsigned operand);

/// `axis` counted from the front, for a tensor of `numDims`; an error at `op` that names attribute and range otherwise.
mlir::FailureOr<unsigned> normalizeAxis(mlir::Operation *op, int64_t axis, size_t numDims,
                                        llvm::StringRef what = "axis");
/// NumPy broadcasting of two shapes; an error at `op` that prints both.
mlir::FailureOr<llvm::SmallVector<int64_t, 4>> broadcastDims(mlir::Operation *op, llvm::ArrayRef<int64_t> a,
                                                             llvm::ArrayRef<int64_t> b);
/// The declared name of an operand, as in ONNX's schema; "#7" for operands behind the declared ones.
std::string operandName(mlir::Operation *op, unsigned index);

} // namespace apc
