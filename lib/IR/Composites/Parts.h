// The tools with which operators of ONNX are written as ops of the dialect.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Composites.h"
#include "apc/IR/Kernels/Evaluate.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace apc {

/// Reads the node of an operator, and makes the ops that stand for it:
///
///   return {p.mul(p.sub(x, p.constant({0.5}, {}, x)), p.constant({2}, {}, x))};
///
/// The first failure counts. It leaves null values, and ops with a null operand are not made, so that an operator is
/// written without a check of each step.
class Parts {
public:
  Parts(mlir::OpBuilder &builder, const CompositeNode &node) : builder(builder), node(node) {}

  // Operands and attributes of the node. The attributes that are read are those that the operator has.
  size_t numOperands() const { return node.operands.size(); }
  mlir::Value operand(size_t index) const { return node.operands[index]; }
  bool has(llvm::StringRef attribute) const { return node.attributes.get(attribute) != nullptr; }
  int64_t integer(llvm::StringRef attribute, int64_t otherwise);
  double real(llvm::StringRef attribute, double otherwise);
  /// One of `accepted`, the first where the attribute is absent.
  llvm::StringRef text(llvm::StringRef attribute, llvm::ArrayRef<llvm::StringRef> accepted);
  llvm::ArrayRef<int64_t> integers(llvm::StringRef attribute);
  std::vector<llvm::StringRef> texts(llvm::StringRef attribute);
  /// A list of floats, or the tensor ATTRIBUTE_as_tensor instead.
  std::vector<double> reals(llvm::StringRef attribute);
  /// An attribute as it is, for an op of the dialect that has it too.
  void pass(llvm::StringRef attribute, mlir::NamedAttrList &to);
  void ignore(llvm::StringRef attribute) { known.insert(attribute); }
  /// A failure where the attribute is there, whose strings `instead` takes as numbers.
  void refuseStrings(llvm::StringRef attribute, llvm::StringRef instead);

  /// The text behind a failure of the whole node; returns null.
  mlir::Value fail(const llvm::Twine &why);
  bool hasFailed() const { return !failure.empty(); }
  const std::string &getFailure() const { return failure; }
  std::vector<std::string> unknownAttributes() const;

  /// An op of one result, whose type is inferred.
  template <typename Op>
  mlir::Value make(mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return make(Op::getOperationName(), operands, attributes);
  }
  template <typename Value>
  mlir::NamedAttribute attribute(llvm::StringRef name, Value value) {
    if constexpr (std::is_integral_v<Value>)
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
    else if constexpr (std::is_convertible_v<Value, mlir::Attribute>)
      return builder.getNamedAttr(name, value);
    else
      return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(value));
  }

  /// A constant of `dims`, of floats or integers, with the element type of `like`. With the name of a
  /// weight it becomes the parameter NAME/`weight` where it is used as one.
  template <typename Real>
  mlir::Value constant(llvm::ArrayRef<Real> values, llvm::ArrayRef<int64_t> dims, mlir::Value like,
                       llvm::StringRef weight = "") {
    return constantOf(llvm::map_to_vector(values, [](Real value) { return Number::of(value); }), dims, like, weight);
  }
  mlir::Value scalar(double value, mlir::Value like) { return constant(llvm::ArrayRef(value), {}, like); }
  mlir::Value list(llvm::ArrayRef<int64_t> values); ///< of i64
  mlir::Value index(int64_t value);                 ///< without dims
  mlir::Value absent();

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value equal(mlir::Value a, mlir::Value b);
  mlir::Value greater(mlir::Value a, mlir::Value b);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  mlir::Value concat(mlir::ValueRange values, int64_t axis);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  mlir::Value toF32(mlir::Value value) { return cast(value, builder.getF32Type()); }

  /// A failure for an operand of anything but numbers.
  bool holdsNumbers(size_t index);
  /// Operand `index`, whose numbers are made floats of at least 32 bits.
  mlir::Value floats(size_t index);
  /// The same of one or two dims, [features] or [rows, features]; a single row is made [1, features].
  mlir::Value features(size_t index, bool keepsShape = false);
  /// Numbers of an attribute for each feature, the last dim of `x`, or one for all; a failure for other counts.
  template <typename Real>
  mlir::Value perFeature(llvm::StringRef attribute, llvm::ArrayRef<Real> values, mlir::Value x) {
    if (!x || !checkPerFeature(attribute, values.size(), x))
      return {};
    if (values.size() == 1)
      return constant(values, {}, x);
    return constant(values, dimsOf(x).back(), x);
  }

private:
  mlir::Value make(llvm::StringRef op, mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attributes);
  mlir::Value constantOf(llvm::ArrayRef<Number> values, llvm::ArrayRef<int64_t> dims, mlir::Value like,
                         llvm::StringRef weight);
  mlir::Value addConstant(const Tensor &tensor, llvm::StringRef weight = "");
  bool checkPerFeature(llvm::StringRef attribute, size_t count, mlir::Value x);
  mlir::Location nextLocation(llvm::StringRef part);
  template <typename Kind>
  Kind read(llvm::StringRef attribute, llvm::StringRef needed);

  mlir::OpBuilder &builder;
  const CompositeNode &node;
  llvm::StringSet<> known;
  llvm::StringMap<unsigned> numMade;
  std::string failure;
};

using PartValues = llvm::SmallVector<mlir::Value, 2>;

/// An operator: its ONNX name, the fewest and the most operands, the results it has, and how it is made.
struct CompositeEntry {
  llvm::StringLiteral name;
  size_t fewest, most, numResults;
  PartValues (*make)(Parts &);
};

// By kind.
llvm::ArrayRef<CompositeEntry> featureComposites();
llvm::ArrayRef<CompositeEntry> linearComposites();
llvm::ArrayRef<CompositeEntry> supportComposites();
llvm::ArrayRef<CompositeEntry> treeComposites();
llvm::ArrayRef<CompositeEntry> convolutionComposites();

/// Scores [rows, n] under the attribute `post_transform`. As ONNX Runtime has it, PROBIT alone changes single scores.
mlir::Value transformed(Parts &p, mlir::Value scores);
/// Labels [rows] by the greatest score of each row [rows, n]; the first of equal scores.
mlir::Value greatestLabel(Parts &p, mlir::Value scores, llvm::ArrayRef<int64_t> labels);
/// Labels [rows] by single scores [rows, 1]: `above` for those greater than `threshold`, `below` for others.
mlir::Value labelAbove(Parts &p, mlir::Value scores, double threshold, int64_t above, int64_t below);
/// The scores [rows, 2] of two classes by a single score s of the second: 1 - s, or -s without `isShare`, and s.
/// LOGISTIC is that of -s and s.
mlir::Value pairOfScores(Parts &p, mlir::Value score, bool isShare);

} // namespace apc
