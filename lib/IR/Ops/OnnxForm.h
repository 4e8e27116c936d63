// The tools with which families write the forms of their operators in ONNX.
#pragma once

#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

#include "MakeOp.h"

namespace apc {

/// Builds the form of one op from ops of the dialect that ONNX has. Operands and attributes are known by their declared
/// names:
///
///   form.where(form.binary<GreaterOp>(form.operand("X"), form.scalar(0, form.operand("X"))), form.operand("dY"), ...)
class OnnxForm {
public:
  OnnxForm(mlir::OpBuilder &builder, mlir::Operation *op) : builder(builder), op(op) {}

  mlir::Operation *getOp() const { return op; }
  mlir::Builder &getBuilder() const { return builder; }
  mlir::Value operand(llvm::StringRef name) const; ///< null where it is absent
  /// Operands behind the declared ones: where pieces begin.
  mlir::ValueRange offsets() const;
  int64_t integer(llvm::StringRef attribute, int64_t otherwise = 0) const;
  double real(llvm::StringRef attribute, double otherwise = 0) const;
  llvm::StringRef text(llvm::StringRef attribute) const;
  bool has(llvm::StringRef attribute) const { return op->getAttr(attribute) != nullptr; }
  /// Says why there is no form; returns none.
  llvm::SmallVector<mlir::Value, 1> refuse(const llvm::Twine &why) {
    reason = why.str();
    return {};
  }
  const std::string &refusal() const { return reason; }

  template <typename Op>
  mlir::Value make(mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return makeOp<Op>(builder, name(), operands, attributes);
  }
  mlir::Operation *create(const mlir::OperationState &state) { return builder.create(state); }
  mlir::NamedAttribute attribute(llvm::StringRef name, int64_t value) const {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  }

  /// A constant of no dims in the element type of `like`; a list of i64, and one number of i64 without dims; nothing.
  mlir::Value scalar(double value, mlir::Value like);
  mlir::Value integers(llvm::ArrayRef<int64_t> values);
  mlir::Value index(int64_t value);
  mlir::Value zeros(mlir::RankedTensorType type);
  mlir::Value absent();

  // Arithmetic with broadcasting.
  template <typename Op>
  mlir::Value binary(mlir::Value a, mlir::Value b) {
    return make<Op>({a, b});
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return make<AddOp>({a, b}); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return make<SubOp>({a, b}); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return make<MulOp>({a, b}); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return make<DivOp>({a, b}); }
  mlir::Value add(mlir::Value a, double b) { return add(a, scalar(b, a)); }
  mlir::Value mul(mlir::Value a, double b) { return b == 1 ? a : mul(a, scalar(b, a)); }
  mlir::Value oneLess(mlir::Value a) { return sub(scalar(1, a), a); } ///< 1 - a
  mlir::Value exp(mlir::Value a) { return make<ExpOp>({a}); }
  mlir::Value log(mlir::Value a) { return make<LogOp>({a}); }
  mlir::Value sqrt(mlir::Value a) { return make<SqrtOp>({a}); }
  /// By logic where elements are bools: runtimes choose among numbers only.
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value where(mlir::Value condition, mlir::Value a) { return where(condition, a, scalar(0, a)); }
  mlir::Value greater(mlir::Value a, mlir::Value b) { return make<GreaterOp>({a, b}); }
  mlir::Value less(mlir::Value a, mlir::Value b) { return make<LessOp>({a, b}); }
  mlir::Value equal(mlir::Value a, mlir::Value b) { return make<EqualOp>({a, b}); }
  mlir::Value both(mlir::Value a, mlir::Value b) { return make<AndOp>({a, b}); }

  // Shapes.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> perm);
  mlir::Value swapLast(mlir::Value value); ///< the last two dims change places
  /// Elements [begin, end) of a dim.
  mlir::Value slice(mlir::Value value, unsigned dim, int64_t begin, int64_t end);
  /// Elements of a dim from `begin` on, a number that is known where the program runs.
  mlir::Value window(mlir::Value value, unsigned dim, mlir::Value begin, int64_t count);
  mlir::Value concat(mlir::ValueRange values, unsigned dim);
  /// With zeros behind a dim up to `size`.
  mlir::Value padTo(mlir::Value value, unsigned dim, int64_t size);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  /// In 32 bits at least, as statistics are taken.
  mlir::Value precise(mlir::Value value);
  /// With the element type of a result.
  mlir::Value asResult(mlir::Value value, unsigned result = 0);

  // Reductions of floats.
  mlir::Value sum(mlir::Value value, llvm::ArrayRef<int64_t> axes, bool keepdims = true);
  mlir::Value mean(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  mlir::Value greatest(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  /// Sums along dims that `like` has not, or has with one element: what broadcasting of `like` repeated.
  mlir::Value sumTo(mlir::Value value, llvm::ArrayRef<int64_t> like);

  /// The first position of a piece, and the one behind its last (null where only the first is given), without dims.
  mlir::Value begin(mlir::Value offset);
  mlir::Value end(mlir::Value offset);
  /// Indices counted from the front, of a dim of `size`.
  mlir::Value wrapped(mlir::Value indices, int64_t size);

private:
  std::string name() const;
  mlir::Value at(mlir::Value list, int64_t place);

  mlir::OpBuilder &builder;
  mlir::Operation *op;
  std::string reason;
};

/// The results of an op, or none with a reason (`refuse`). An op that stays as it is gives its own results.
using OnnxFormFunction = llvm::SmallVector<mlir::Value, 1> (*)(OnnxForm &);
struct OnnxFormEntry {
  llvm::StringLiteral op; ///< "apc.relu_grad"
  OnnxFormFunction make;
};

// By family.
llvm::ArrayRef<OnnxFormEntry> attentionForms();
llvm::ArrayRef<OnnxFormEntry> elementwiseForms();
llvm::ArrayRef<OnnxFormEntry> indexingForms();
llvm::ArrayRef<OnnxFormEntry> convolutionForms();
llvm::ArrayRef<OnnxFormEntry> lossForms();
llvm::ArrayRef<OnnxFormEntry> normalizationForms();
llvm::ArrayRef<OnnxFormEntry> recurrentForms();
llvm::ArrayRef<OnnxFormEntry> reductionForms();
llvm::ArrayRef<OnnxFormEntry> spmdForms();

} // namespace apc
