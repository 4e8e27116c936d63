// Comparisons of positions, looked through casts and views.
#include "CausalMask.h"

#include "apc/IR/Operator.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"

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

/// Are the integers 0, 1, ..., `count` - 1? Every rule of an attention asks, so those of 64 bits are read in place.
bool areNumbersUpTo(mlir::DenseElementsAttr ints, size_t count) {
  if (!ints || !ints.getElementType().isIntOrIndex() || static_cast<size_t>(ints.getNumElements()) != count)
    return false;
  auto areCounted = [](auto &&numbers) {
    return llvm::all_of(llvm::enumerate(numbers),
                        [](const auto &entry) { return entry.value() == static_cast<int64_t>(entry.index()); });
  };
  if (auto wide = ints.tryGetValues<int64_t>(); mlir::succeeded(wide))
    return areCounted(*wide);
  return areCounted(Tensor::read(ints).ints);
}

/// The dim, counted from the last, along which `value` has the numbers 0, 1, ...; none for other values.
std::optional<size_t> positionsDim(mlir::Value value) {
  auto dims = dimsOf(value);
  std::optional<size_t> along;
  size_t count = 1;
  for (auto [index, size] : llvm::enumerate(dims))
    if (size > 1) {
      if (along)
        return std::nullopt;
      along = dims.size() - 1 - index;
      count = static_cast<size_t>(size);
    }
  return along && areNumbersUpTo(constantOf(throughViews(value)), count) ? along : std::nullopt;
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

} // namespace

bool isCausalMask(mlir::Value mask, bool seen) {
  mlir::Value compared = throughViews(mask);
  std::optional<Comparison> comparison = comparisonOf(compared);
  auto scores = dimsOf(mask), dims = dimsOf(compared);
  constexpr size_t numScores = 2; // of queries, of keys
  bool isSquare = scores.size() >= numScores && dims.size() >= numScores &&
                  llvm::equal(llvm::ArrayRef(scores).take_back(numScores), llvm::ArrayRef(dims).take_back(numScores));
  if (!comparison || !isSquare)
    return false;
  constexpr size_t keys = 0, queries = 1;
  std::optional<size_t> less = positionsDim(comparison->less), more = positionsDim(comparison->more);
  // Seen where key <= query, hidden where query < key.
  return seen ? less == keys && more == queries && comparison->orEqual
              : less == queries && more == keys && !comparison->orEqual;
}

} // namespace apc
