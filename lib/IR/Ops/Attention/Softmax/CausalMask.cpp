// Triangles out of comparisons of positions, Trilu and constants, and what ops that rearrange and combine make of them.
#include "CausalMask.h"

#include "../../Creation/Creation.h"
#include "apc/IR/Kernels/Tensor.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Progression.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

namespace apc {

namespace {

/// Matrices of one number up to a diagonal and of another beyond it, for each of the dims in front alike: element
/// (query, key) is `upTo` where key - query <= `diagonal`. A lower triangle of ones has upTo 1, beyond 0, diagonal 0.
struct Triangle {
  double upTo = 0, beyond = 0;
  int64_t diagonal = 0; ///< of no account where both numbers are equal

  bool isUniform() const { return upTo == beyond; }
};

using MaybeTriangle = std::optional<Triangle>;

/// The dims of queries and keys; fewer than two where there are no matrices.
llvm::ArrayRef<int64_t> matrixDims(mlir::Value value) {
  llvm::ArrayRef<int64_t> dims = dimsOf(value);
  return dims.take_back(std::min<size_t>(dims.size(), 2));
}

bool areMatricesAlike(mlir::Value one, mlir::Value other) {
  return matrixDims(one).size() == 2 && matrixDims(one) == matrixDims(other);
}

/// Numbers in row-major order, of which `at(i)` gives one.
MaybeTriangle triangleAmong(llvm::ArrayRef<int64_t> dims, int64_t count, llvm::function_ref<double(int64_t)> at) {
  if (dims.size() < 2)
    return std::nullopt;
  int64_t keys = dims.back(), queries = dims.end()[-2], key = 1, query = 1;
  while (key < keys && at(key) == at(0))
    ++key;
  while (query < queries && at(query * keys) == at(0))
    ++query;
  // The first row changes behind the diagonal; where it does not, the first column changes at it.
  bool isInRow = key < keys;
  if (!isInRow && query == queries)
    return std::nullopt;
  Triangle made{isInRow ? at(0) : at(query * keys), isInRow ? at(key) : at(0), isInRow ? key - 1 : -query};
  bool isMade = llvm::all_of(llvm::seq<int64_t>(0, count), [&](int64_t i) {
    return at(i) == (i % keys - i / keys % queries <= made.diagonal ? made.upTo : made.beyond);
  });
  return isMade ? MaybeTriangle(made) : std::nullopt;
}

/// Every rule of an attention asks, so bools and floats of 32 bits are read in place.
MaybeTriangle triangleIn(mlir::DenseElementsAttr constant) {
  llvm::ArrayRef<int64_t> dims = constant.getType().getShape();
  int64_t count = constant.getNumElements();
  if (count == 0 || !constant.getElementType().isIntOrFloat())
    return std::nullopt;
  if (constant.isSplat()) {
    Tensor read = Tensor::read(constant.resizeSplat(constant.getType().clone(llvm::ArrayRef<int64_t>{1})));
    double number = read.isFloat() ? read.floats.front() : static_cast<double>(read.ints.front());
    return Triangle{number, number};
  }
  if (constant.getElementType().isInteger(1)) {
    auto bools = constant.getValues<bool>();
    return triangleAmong(dims, count, [&](int64_t i) { return bools[static_cast<size_t>(i)] ? 1.0 : 0.0; });
  }
  if (auto floats = constant.tryGetValues<float>(); mlir::succeeded(floats))
    return triangleAmong(dims, count, [&](int64_t i) { return double((*floats)[static_cast<size_t>(i)]); });
  Tensor read = Tensor::read(constant);
  return triangleAmong(dims, count, [&](int64_t i) {
    auto index = static_cast<size_t>(i);
    return read.isFloat() ? read.floats[index] : static_cast<double>(read.ints[index]);
  });
}

/// `number` as the element type has it; none where an integer type does not hold it.
std::optional<double> numberAs(double number, mlir::Type element) {
  if (auto real = llvm::dyn_cast<mlir::FloatType>(element))
    return roundToElement(number, real);
  if (element.isInteger(1))
    return number != 0 ? 1 : 0;
  constexpr double most = 127; // of the narrowest integers
  bool isHeld = std::trunc(number) == number && number >= 0 && number <= most;
  return isHeld ? std::optional(number) : std::nullopt;
}

/// Numbers of step 1 along a dim, counted from the last: that of position 0.
std::optional<int64_t> startAlong(const std::optional<Progression> &numbers, size_t dim) {
  return numbers && numbers->step == 1 && numbers->dim == dim ? std::optional(numbers->first) : std::nullopt;
}

/// Where the positions of `less` are below those of `more`, or also where both are equal.
MaybeTriangle ofPositions(mlir::Value less, mlir::Value more, bool orEqual) {
  constexpr size_t keys = 0, queries = 1;
  std::optional<Progression> low = progressionOf(less), high = progressionOf(more);
  if (auto key = startAlong(low, keys), query = startAlong(high, queries); key && query)
    return Triangle{1, 0, *query - *key - (orEqual ? 0 : 1)};
  if (auto query = startAlong(low, queries), key = startAlong(high, keys); key && query)
    return Triangle{0, 1, *query - *key - (orEqual ? 1 : 0)};
  return std::nullopt;
}

/// Finds the triangle that a value is, if it is one, going back a bounded number of ops.
class TriangleFinder {
public:
  MaybeTriangle find(mlir::Value value) {
    if (mlir::DenseElementsAttr constant = constantOf(value))
      return triangleIn(constant);
    mlir::Operation *op = value.getDefiningOp();
    std::optional<TensorShape> shape = shapeOf(value);
    if (!op || opsLeft == 0 || !shape || shape->numElements() == 0)
      return std::nullopt;
    --opsLeft;
    return llvm::TypeSwitch<mlir::Operation *, MaybeTriangle>(op)
        .Case([](ConstantOfShapeOp op) { return ofFill(op); })
        .Case([&](TriluOp op) { return ofTrilu(op); })
        .Case([&](SliceOp op) { return ofSlice(op); })
        .Case([&](TransposeOp op) { return ofTranspose(op); })
        .Case<IdentityOp, ExpandOp, ReshapeOp, FlattenOp, SqueezeOp, UnsqueezeOp>(
            [&](mlir::Operation *op) { return ofView(op); })
        .Case<LessOp, LessOrEqualOp, GreaterOp, GreaterOrEqualOp>([&](mlir::Operation *op) { return ofComparison(op); })
        .Default([&](mlir::Operation *op) { return ofElementwise(op); });
  }

private:
  static MaybeTriangle ofFill(ConstantOfShapeOp op) {
    if (!op.getValue())
      return Triangle();
    auto fill = llvm::dyn_cast<mlir::DenseElementsAttr>(*op.getValue());
    MaybeTriangle made = fill ? triangleIn(fill) : std::nullopt;
    return made && made->isUniform() ? made : std::nullopt;
  }

  MaybeTriangle ofTrilu(TriluOp op) {
    MaybeTriangle from = find(op.getInput());
    auto diagonal = isAbsent(op.getK()) ? llvm::SmallVector<int64_t, 6>{0} : constantInts(op.getK());
    constexpr int64_t far = int64_t(1) << 32;
    if (!from || !from->isUniform() || !diagonal || diagonal->size() != 1 || std::abs(diagonal->front()) > far)
      return std::nullopt;
    return op.getUpper() != 0 ? Triangle{0, from->beyond, diagonal->front() - 1}
                              : Triangle{from->upTo, 0, diagonal->front()};
  }

  MaybeTriangle ofSlice(SliceOp op) {
    MaybeTriangle from = find(op.getData());
    auto sliced = slicedDims(op);
    if (!from || from->isUniform() || mlir::failed(sliced))
      return from && from->isUniform() ? from : std::nullopt;
    const SlicedDim &queries = sliced->end()[-2], &keys = sliced->back();
    if (queries.step != 1 || keys.step != 1)
      return std::nullopt;
    return Triangle{from->upTo, from->beyond, from->diagonal + queries.start - keys.start};
  }

  MaybeTriangle ofTranspose(TransposeOp op) {
    MaybeTriangle from = find(op.getData());
    auto last = static_cast<int64_t>(dimsOf(op.getData()).size()) - 1;
    if (!from || from->isUniform())
      return from;
    int64_t queries = op.getPerm() ? (*op.getPerm())[last - 1] : 1, keys = op.getPerm() ? (*op.getPerm())[last] : 0;
    if (queries == last - 1 && keys == last)
      return from;
    bool isExchanged = queries == last && keys == last - 1;
    return isExchanged ? MaybeTriangle(Triangle{from->beyond, from->upTo, -from->diagonal - 1}) : std::nullopt;
  }

  MaybeTriangle ofView(mlir::Operation *op) {
    MaybeTriangle from = find(op->getOperand(0));
    return from && (from->isUniform() || areMatricesAlike(op->getOperand(0), op->getResult(0))) ? from : std::nullopt;
  }

  MaybeTriangle ofComparison(mlir::Operation *op) {
    bool isLess = llvm::isa<LessOp, LessOrEqualOp>(op), orEqual = llvm::isa<LessOrEqualOp, GreaterOrEqualOp>(op);
    mlir::Value first = op->getOperand(0), second = op->getOperand(1);
    if (MaybeTriangle made = ofPositions(isLess ? first : second, isLess ? second : first, orEqual))
      return made;
    return combined(op, [&](llvm::ArrayRef<double> at) {
      double less = isLess ? at[0] : at[1], more = isLess ? at[1] : at[0];
      return less < more || (orEqual && less == more) ? 1.0 : 0.0;
    });
  }

  MaybeTriangle ofElementwise(mlir::Operation *op) {
    using At = llvm::ArrayRef<double>;
    auto by = [&](llvm::function_ref<double(At)> number) { return combined(op, number); };
    return llvm::TypeSwitch<mlir::Operation *, MaybeTriangle>(op)
        .Case<CastOp>([&](auto) { return by([](At at) { return at[0]; }); })
        .Case<NotOp>([&](auto) { return by([](At at) { return at[0] == 0 ? 1.0 : 0.0; }); })
        .Case<AndOp>([&](auto) { return by([](At at) { return at[0] != 0 && at[1] != 0 ? 1.0 : 0.0; }); })
        .Case<OrOp>([&](auto) { return by([](At at) { return at[0] != 0 || at[1] != 0 ? 1.0 : 0.0; }); })
        .Case<EqualOp>([&](auto) { return by([](At at) { return at[0] == at[1] ? 1.0 : 0.0; }); })
        .Case<AddOp>([&](auto) { return by([](At at) { return at[0] + at[1]; }); })
        .Case<SubOp>([&](auto) { return by([](At at) { return at[0] - at[1]; }); })
        .Case<MulOp>([&](auto) { return by([](At at) { return at[0] * at[1]; }); })
        .Case<WhereOp>([&](auto) { return by([](At at) { return at[0] != 0 ? at[1] : at[2]; }); })
        .Default([](mlir::Operation *) { return std::nullopt; });
  }

  /// The numbers that `number` makes of those of the operands, whose triangles must have one diagonal.
  MaybeTriangle combined(mlir::Operation *op, llvm::function_ref<double(llvm::ArrayRef<double>)> number) {
    llvm::SmallVector<double, 3> upTo, beyond;
    std::optional<int64_t> diagonal;
    for (mlir::Value operand : op->getOperands()) {
      MaybeTriangle from = find(operand);
      if (!from || (!from->isUniform() && (!areMatricesAlike(operand, op->getResult(0)) ||
                                           diagonal.value_or(from->diagonal) != from->diagonal)))
        return std::nullopt;
      if (!from->isUniform())
        diagonal = from->diagonal;
      upTo.push_back(from->upTo);
      beyond.push_back(from->beyond);
    }
    mlir::Type element = mlir::getElementTypeOrSelf(op->getResult(0));
    std::optional<double> one = numberAs(number(upTo), element), other = numberAs(number(beyond), element);
    return one && other ? MaybeTriangle(Triangle{*one, *other, diagonal.value_or(0)}) : std::nullopt;
  }

  unsigned opsLeft = 256;
};

/// The triangle of a mask whose numbers change behind each query's own position, of two positions or more.
MaybeTriangle causalTriangle(mlir::Value mask) {
  llvm::ArrayRef<int64_t> dims = matrixDims(mask);
  if (dims.size() < 2 || dims.front() != dims.back() || dims.back() < 2)
    return std::nullopt;
  MaybeTriangle made = TriangleFinder().find(mask);
  return made && made->diagonal == 0 ? made : std::nullopt;
}

} // namespace

bool isCausalMask(mlir::Value mask, bool seen) {
  MaybeTriangle made = causalTriangle(mask);
  return made && (made->upTo != 0) == seen && (made->beyond != 0) != seen;
}

bool isAddedCausalMask(mlir::Value mask) {
  MaybeTriangle made = causalTriangle(mask);
  return made && made->upTo == 0 && made->beyond <= hiddenScore;
}

} // namespace apc
