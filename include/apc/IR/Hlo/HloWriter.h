// The lowerings of operators to StableHLO, and what they write to.
#pragma once

#include "apc/IR/Hlo/Hlo.h"
#include "apc/Sharding/Mesh.h"

#include "mlir/IR/Builders.h"

#include <map>

namespace apc {

/// States behind a loop, and what its rounds gave.
struct HloScan {
  HloList states, elements;
};

/// Adds ops of StableHLO to one function of a module. They are unregistered ops, which print in generic form; the
/// context must allow such ops.
///
///     HloWriter writer(builder, loc, mesh);
///     writer.set(original, writer.add("stablehlo.add", {a, b}, type, {}));
class HloWriter {
public:
  HloWriter(mlir::OpBuilder &builder, mlir::Location loc, Mesh mesh)
      : builder(builder), loc(loc), mesh(std::move(mesh)) {}

  /// The tensor that a value of the original program became; none for absent values. Constants are written when they
  /// are first asked for.
  Hlo operator()(mlir::Value original);
  void set(mlir::Value original, Hlo written) { values[original] = written.value; }

  /// Adds an op of one result.
  Hlo add(llvm::StringRef name, llvm::ArrayRef<Hlo> operands, mlir::Type result,
          llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// Adds an op of several results.
  HloList addMany(llvm::StringRef name, llvm::ArrayRef<Hlo> operands, llvm::ArrayRef<mlir::Type> results,
                  llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// Adds an op with a region that combines two scalars, "stablehlo.add", or takes the second ("").
  Hlo addReduction(llvm::StringRef name, llvm::ArrayRef<Hlo> operands, mlir::Type result,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes, llvm::StringRef combination, mlir::Type element);
  Hlo constant(mlir::DenseElementsAttr value);
  /// Runs \p body for each element of the sequences along their first dim, in order or from the last one: from states
  /// and the elements to states and more elements. The last states, and sequences of the elements. The body may not ask
  /// for values of the original program.
  HloScan addScan(int64_t count, bool isBackward, llvm::ArrayRef<Hlo> states, llvm::ArrayRef<Hlo> sequences,
                  llvm::function_ref<HloScan(llvm::ArrayRef<Hlo>, llvm::ArrayRef<Hlo>)> body);

  /// A number of this rank, an i64 scalar, out of a table of all ranks; a constant where it is the same for all.
  Hlo ofRank(llvm::ArrayRef<int64_t> table);

  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute value) const {
    return {builder.getStringAttr(name), value};
  }
  mlir::NamedAttribute ints(llvm::StringRef name, llvm::ArrayRef<int64_t> values) const {
    return named(name, builder.getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute number(llvm::StringRef name, int64_t value) const {
    return named(name, builder.getI64IntegerAttr(value));
  }
  /// An attribute of the dialect by its text: `#stablehlo<comparison_direction EQ>` of "comparison_direction EQ".
  mlir::NamedAttribute text(llvm::StringRef name, const llvm::Twine &value) const;
  /// A table of rows of one length, `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`.
  mlir::NamedAttribute table(llvm::StringRef name, llvm::ArrayRef<std::vector<int64_t>> rows) const;

  /// The op cannot be written, for a reason: "mode 'reflect'". Only the first refusal of an op counts.
  Hlo refuse(const llvm::Twine &reason);
  std::string takeRefusal() { return std::exchange(refusal, ""); }

  const Mesh &getMesh() const { return mesh; }
  mlir::OpBuilder &getBuilder() const { return builder; }
  mlir::Location getLoc() const { return loc; }
  mlir::Type i64() const { return builder.getI64Type(); }

private:
  mlir::OperationState stateOf(llvm::StringRef name, llvm::ArrayRef<Hlo> operands, llvm::ArrayRef<mlir::Type> results,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes) const;
  HloList create(const mlir::OperationState &state);
  /// A block of a region at work, with arguments of types.
  mlir::Block *begin(mlir::Region *region, llvm::ArrayRef<mlir::Type> types);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  Mesh mesh;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  Hlo rank;
  std::map<std::vector<int64_t>, Hlo> tables;
  std::string refusal;
};

/// How one operator is written: its results, one for each result that is not absent (an empty one where nobody asked).
struct HloLowering {
  llvm::StringLiteral name; ///< "apc.add"
  HloList (*write)(mlir::Operation *op, HloWriter &h);
};

/// The lowering of an op, a row of its family's table `hlo<Family>()` (lib/IR/Ops/<Family>/Stablehlo.cpp); null where
/// the operator has none yet.
const HloLowering *findHloLowering(mlir::Operation *op);
/// All rows, family by family.
std::vector<HloLowering> allHloLowerings();

/// The op that combines two numbers: "stablehlo.add" for sums.
llvm::StringRef hloCombination(Combiner combiner);

template <typename Op, auto write>
constexpr HloLowering hloRow() {
  return {Op::getOperationName(),
          [](mlir::Operation *op, HloWriter &h) -> HloList { return write(llvm::cast<Op>(op), h); }};
}
/// The rows of operators of one or two operands that are one function of these.
template <typename Op, Hlo (*function)(Hlo)>
constexpr HloLowering hloUnary() {
  return {Op::getOperationName(),
          [](mlir::Operation *op, HloWriter &h) -> HloList { return function(h(op->getOperand(0))); }};
}
template <typename Op, Hlo (*function)(Hlo, Hlo)>
constexpr HloLowering hloBinary() {
  return {Op::getOperationName(), [](mlir::Operation *op, HloWriter &h) -> HloList {
            return function(h(op->getOperand(0)), h(op->getOperand(1)));
          }};
}

} // namespace apc
