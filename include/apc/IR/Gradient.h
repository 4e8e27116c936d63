// The gradients of one op, built from ops of the dialect beside its definition.
#pragma once

#include "apc/IR/Operator.h"
#include "apc/Sharding/FactorRule.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"

namespace apc {

/// Holds `value` floats? The absent value holds nothing.
bool isFloat(mlir::Value value);
/// Floats, and the codes of a tensor that QuantizeLinear made of them: what may have a gradient.
bool mayHaveGradient(mlir::Value value);
/// Does the gradient of this operand lead on? That of floats, and that of codes where they are made numbers again.
bool takesGradient(mlir::OpOperand &operand);

/// The tools with which `OperatorInterface::differentiate` builds. Of y = f(x), where `incoming` is dL/dy, the operator
/// gives dL/dx, a value of x's type:
///
///   Sigmoid:  g.give(0, g.mul(g.incoming(), g.mul(g.result(), g.sub(g.scalar(1, g.result()), g.result()))));
///   Add:      g.give(0, g.sumTo(g.incoming(), g.operand(0))); g.give(1, g.sumTo(g.incoming(), g.operand(1)));
///
/// Every op that is created is tied to the op that is differentiated: where dims of its tensors are those of the
/// forward op's tensors, its factors are the forward op's factors (attribute `apc.factors`), and are cut like them,
/// inside the same parts (attribute `apc.parts`).
class GradientBuilder {
public:
  /// `incoming` has a value for each result of `forward`, null where no gradient arrives; `wanted` a flag for each
  /// operand. Ops are created at the insertion point of `builder`.
  GradientBuilder(mlir::OpBuilder &builder, mlir::Operation *forward, llvm::ArrayRef<mlir::Value> incoming,
                  llvm::ArrayRef<bool> wanted);

  mlir::Operation *getForward() const { return forward; }
  mlir::MLIRContext *getContext() const { return builder.getContext(); }
  mlir::Builder &getBuilder() const { return builder; }
  mlir::Value operand(unsigned index) const { return forward->getOperand(index); } ///< kept for the backward pass
  mlir::Value result(unsigned index = 0) const { return forward->getResult(index); }
  mlir::Value incoming(unsigned result = 0) const { return arriving[result]; }
  /// Does the gradient of this operand lead to anything that is trained? False for absent and constant operands.
  bool wants(unsigned operand) const { return wanted[operand]; }
  /// States the gradient of an operand; one that nobody wants is dropped.
  void give(unsigned operand, mlir::Value gradient);
  mlir::Value given(unsigned operand) const { return gradients[operand]; } ///< null where none was given
  /// Keeps why no gradient is built and returns false, as `differentiate` does then. The reason stands behind the
  /// operator's name and says what would be accepted: "attribute 'use_sparse_mixer' is 1, and 0 is accepted".
  bool refuse(const llvm::Twine &reason);
  llvm::StringRef getRefusal() const { return refusal; } ///< empty where no reason was given

  /// An op of the dialect with its results' types inferred. Absent operands are `absent()`.
  template <typename Op>
  mlir::Operation *create(mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return createNamed(Op::getOperationName(), operands, attributes);
  }
  /// The same for an op of one result.
  template <typename Op>
  mlir::Value make(mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return create<Op>(operands, attributes)->getResult(0);
  }
  mlir::NamedAttribute attribute(llvm::StringRef name, int64_t value) const;
  mlir::NamedAttribute attribute(llvm::StringRef name, llvm::StringRef value) const;
  mlir::NamedAttribute attribute(llvm::StringRef name, llvm::ArrayRef<int64_t> values) const;
  mlir::NamedAttribute attribute(llvm::StringRef name, mlir::Attribute value) const;

  /// A constant of no dims in the element type of `like`; a list of i64; the absent operand.
  mlir::Value scalar(double value, mlir::Value like);
  mlir::Value integers(llvm::ArrayRef<int64_t> values);
  mlir::Value absent();

  // Arithmetic with broadcasting.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  /// `a` where the condition holds, 0 elsewhere.
  mlir::Value where(mlir::Value condition, mlir::Value a);

  /// The equation over letters, as ONNX's Einsum has it.
  mlir::Value einsum(llvm::StringRef equation, mlir::ValueRange operands);
  /// The sum over the dims along which `like` was broadcast to the shape of `value`: [4, 3, 8] to [3, 1] sums dims 0
  /// and 2. The result has the shape of `like`.
  mlir::Value sumTo(mlir::Value value, mlir::Value like);
  /// `value` with the shape of `like`, which has as many elements.
  mlir::Value reshapeTo(mlir::Value value, mlir::Value like);
  /// `value` with the element type of `like`.
  mlir::Value castTo(mlir::Value value, mlir::Value like);

private:
  /// The forward op's factors that make up one dim, none where they are unknown, and the parts inside which it is cut.
  struct TracedDim {
    std::optional<DimFactors> factors;
    llvm::SmallVector<int64_t, 4> parts;
  };
  using TracedDims = llvm::SmallVector<TracedDim, 4>;
  /// By factor of an op.
  using LeadingFactors = std::vector<std::optional<FactorId>>;

  mlir::Operation *createNamed(llvm::StringRef name, mlir::ValueRange operands,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes);
  /// Ties `op`: finds its factors among those of the forward op, and what the dims of its results are.
  void trace(mlir::Operation *op);
  /// The forward op's factors that those of `op` are, read off its operands; their parts are entered in its rule `own`.
  LeadingFactors leadingFactors(mlir::Operation *op, FactorRule &own) const;
  LeadingFactors namedFactors(llvm::ArrayRef<mlir::Attribute> names) const;
  static TracedDims tracedDims(const FactorRule &own, const RuleTensor &tensor, const LeadingFactors &leading);
  /// Finds further factors of the op that makes the gradient of an operand: those of the operand's dims.
  void traceTo(unsigned operand, mlir::Value gradient);

  mlir::OpBuilder &builder;
  mlir::Operation *forward;
  llvm::SmallVector<mlir::Value, 2> arriving;
  llvm::SmallVector<bool, 4> wanted;
  llvm::SmallVector<mlir::Value, 4> gradients;
  std::string refusal;
  std::optional<FactorRule> rule; ///< of the forward op
  llvm::DenseMap<mlir::Value, TracedDims> traced;
};

} // namespace apc
