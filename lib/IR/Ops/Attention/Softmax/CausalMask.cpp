// Comparisons of positions, looked through casts and views, and their bools where short sequences leave these.
#include "CausalMask.h"

#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Progression.h"

namespace apc {

namespace {

mlir::Value throughViews(mlir::Value value) {
  while (mlir::Operation *op = value.getDefiningOp()) {
    if (!llvm::isa<CastOp, UnsqueezeOp, ReshapeOp, IdentityOp, ExpandOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The number of position 0, where `value` has numbers that grow by 1 along a dim, counted from the last.
std::optional<int64_t> startAlong(mlir::Value value, size_t dim) {
  std::optional<Progression> numbers = progressionOf(value);
  return numbers && numbers->step == 1 && numbers->dim == dim ? std::optional(numbers->first) : std::nullopt;
}

/// Holds where `less` is below `more`, or also where both are equal.
struct Comparison {
  mlir::Value less, more;
  bool orEqual = false;
};

std::optional<Comparison> comparisonOf(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (llvm::isa_and_present<LessOp, LessOrEqualOp>(op))
    return Comparison{op->getOperand(0), op->getOperand(1), llvm::isa<LessOrEqualOp>(op)};
  if (llvm::isa_and_present<GreaterOp, GreaterOrEqualOp>(op))
    return Comparison{op->getOperand(1), op->getOperand(0), llvm::isa<GreaterOrEqualOp>(op)};
  return std::nullopt;
}

/// Do bools of n x n positions, for each of the dims in front, say `seen` up to the diagonal and nowhere else?
bool isTriangle(mlir::DenseElementsAttr bools, bool seen) {
  auto dims = bools.getType().getShape();
  if (!bools.getElementType().isInteger(1) || dims.size() < 2 || dims.back() < 2 || dims.back() != dims.end()[-2])
    return false;
  int64_t index = 0, positions = dims.back();
  return llvm::all_of(bools.getValues<bool>(), [&](bool value) {
    int64_t key = index % positions, query = index / positions % positions;
    ++index;
    return (key <= query) == (value == seen);
  });
}

} // namespace

bool isCausalMask(mlir::Value mask, bool seen) {
  mlir::Value compared = throughViews(mask);
  std::optional<Comparison> comparison = comparisonOf(compared);
  auto scores = dimsOf(mask), dims = dimsOf(compared);
  constexpr size_t numScores = 2; // of queries, of keys
  bool isSquare = scores.size() >= numScores && dims.size() >= numScores &&
                  llvm::equal(llvm::ArrayRef(scores).take_back(numScores), llvm::ArrayRef(dims).take_back(numScores));
  if (mlir::DenseElementsAttr bools = constantOf(compared))
    return isSquare && isTriangle(bools, seen);
  if (!comparison || !isSquare)
    return false;
  constexpr size_t keys = 0, queries = 1;
  std::optional<int64_t> less = startAlong(comparison->less, seen ? keys : queries),
                         more = startAlong(comparison->more, seen ? queries : keys);
  // Holds where the position of `less` is below the other's plus so much. Seen where key < query + 1, hidden where
  // query < key.
  return less && more && *more - *less + (comparison->orEqual ? 1 : 0) == (seen ? 1 : 0);
}

} // namespace apc
