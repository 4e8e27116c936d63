// Progressions out of constants and of the ops that rearrange them.
#include "apc/IR/Progression.h"

#include "Ops/Creation/Creation.h"
#include "Ops/MakeOp.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace apc {

namespace {

constexpr int64_t most = int64_t(1) << 53; ///< whole numbers up to it are those of f64, too

bool isWithin(const Progression &numbers, int64_t least, int64_t greatest) {
  auto [low, high] = std::minmax({numbers.first, numbers.last()});
  return low >= least && high <= greatest;
}

/// Nothing where a number is beyond `most`.
std::optional<Progression> progress(int64_t first, int64_t step, int64_t count, size_t dim) {
  int64_t way = 0, last = 0;
  if (count < 1 || llvm::MulOverflow(step, count - 1, way) || llvm::AddOverflow(first, way, last))
    return std::nullopt;
  bool isUniform = step == 0 || count == 1;
  Progression numbers = isUniform ? Progression{first} : Progression{first, step, count, dim};
  return isWithin(numbers, -most, most) ? std::optional(numbers) : std::nullopt;
}

/// Is each number one of the element type?
bool holds(mlir::Type element, const Progression &numbers) {
  if (auto real = llvm::dyn_cast<mlir::FloatType>(element)) {
    auto bits = std::min(53U, llvm::APFloat::semanticsPrecision(real.getFloatSemantics()));
    return isWithin(numbers, -(int64_t(1) << bits), int64_t(1) << bits);
  }
  auto whole = llvm::dyn_cast<mlir::IntegerType>(element);
  if (!whole || whole.getWidth() < 2)
    return false;
  unsigned bits = std::min(54U, whole.isUnsigned() ? whole.getWidth() : whole.getWidth() - 1);
  return isWithin(numbers, whole.isUnsigned() ? 0 : -(int64_t(1) << bits), (int64_t(1) << bits) - 1);
}

/// The dim, counted from the last, of `count` elements behind which there are dims of `inner` elements together.
std::optional<size_t> dimWith(llvm::ArrayRef<int64_t> dims, int64_t count, int64_t inner) {
  int64_t behind = 1;
  for (auto [index, size] : llvm::enumerate(llvm::reverse(dims))) {
    if (size == count && behind == inner)
      return index;
    behind *= size;
  }
  return std::nullopt;
}

/// Are all elements the numbers, `inner` times each, again and again?
template <typename At>
bool isRepeated(const Progression &numbers, int64_t inner, int64_t numElements, At at) {
  for (int64_t element = 0, number = 0; element < numElements; number = number + 1 < numbers.count ? number + 1 : 0)
    for (const int64_t end = element + inner; element < end; ++element)
      if (at(element) != numbers.first + numbers.step * number)
        return false;
  return true;
}

/// Numbers in row-major order, of which `at(i)` gives one, or none that is not whole.
template <typename At>
std::optional<Progression> progressionAmong(llvm::ArrayRef<int64_t> dims, int64_t numElements, At at) {
  std::optional<int64_t> first = at(0), other = first;
  int64_t inner = 0; ///< how many numbers stand before the first one that differs
  while (other == first && ++inner < numElements)
    other = at(inner);
  if (!first || inner == numElements)
    return first ? progress(*first, 0, 1, 0) : std::nullopt;
  int64_t behind = 1;
  for (auto [index, size] : llvm::enumerate(llvm::reverse(dims))) {
    int64_t step = 0;
    if (other && behind == inner && size > 1 && !llvm::SubOverflow(*other, *first, step)) {
      std::optional<Progression> numbers = progress(*first, step, size, index);
      return numbers && isRepeated(*numbers, inner, numElements, at) ? numbers : std::nullopt;
    }
    behind *= size;
  }
  return std::nullopt;
}

std::optional<int64_t> wholeNumber(double number) {
  bool isWhole = std::abs(number) <= double(most) && std::trunc(number) == number;
  return isWhole ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
}

/// Every rule of an attention asks, so integers of 64 bits are read in place.
std::optional<Progression> progressionIn(mlir::DenseElementsAttr constant) {
  llvm::ArrayRef<int64_t> dims = constant.getType().getShape();
  int64_t count = constant.getNumElements();
  if (count == 0 || !constant.getElementType().isIntOrFloat())
    return std::nullopt;
  if (auto wide = constant.tryGetValues<int64_t>(); mlir::succeeded(wide))
    return progressionAmong(dims, count, [&](int64_t i) { return std::optional((*wide)[static_cast<size_t>(i)]); });
  Tensor read = Tensor::read(constant);
  return progressionAmong(dims, count, [&](int64_t i) {
    auto index = static_cast<size_t>(i);
    return read.isFloat() ? wholeNumber(read.floats[index]) : std::optional(read.ints[index]);
  });
}

/// The one number of a constant.
std::optional<int64_t> numberOf(mlir::Value value) {
  mlir::DenseElementsAttr constant = constantOf(value);
  auto numbers = constant && constant.isSplat() ? progressionIn(constant) : std::nullopt;
  return numbers ? std::optional(numbers->first) : std::nullopt;
}

std::optional<Progression> progressionOf(mlir::Value value, unsigned depth);

std::optional<Progression> ofRange(RangeOp op) {
  std::optional<int64_t> start = numberOf(op.getStart()), delta = numberOf(op.getDelta());
  return start && delta ? progress(*start, *delta, dimsOf(op.getOutput()).front(), 0) : std::nullopt;
}

std::optional<Progression> ofFill(ConstantOfShapeOp op) {
  if (!op.getValue())
    return Progression();
  auto fill = llvm::dyn_cast<mlir::DenseElementsAttr>(*op.getValue());
  return fill ? progressionIn(fill) : std::nullopt;
}

/// The same elements in the same order under another shape: the dim of the numbers must be a dim of it.
std::optional<Progression> ofView(mlir::Operation *op, unsigned depth) {
  std::optional<Progression> numbers = progressionOf(op->getOperand(0), depth);
  if (!numbers || numbers->step == 0)
    return numbers;
  int64_t inner = 1;
  for (int64_t size : dimsOf(op->getOperand(0)).take_back(numbers->dim))
    inner *= size;
  std::optional<size_t> dim = dimWith(dimsOf(op->getResult(0)), numbers->count, inner);
  return dim ? progress(numbers->first, numbers->step, numbers->count, *dim) : std::nullopt;
}

std::optional<Progression> ofTranspose(TransposeOp op, unsigned depth) {
  std::optional<Progression> numbers = progressionOf(op.getData(), depth);
  if (!numbers || numbers->step == 0)
    return numbers;
  auto numDims = static_cast<int64_t>(dimsOf(op.getData()).size());
  for (int64_t to = 0; to < numDims; ++to)
    if ((op.getPerm() ? (*op.getPerm())[to] : numDims - 1 - to) == numDims - 1 - static_cast<int64_t>(numbers->dim))
      return progress(numbers->first, numbers->step, numbers->count, static_cast<size_t>(numDims - 1 - to));
  return std::nullopt;
}

std::optional<Progression> ofSlice(SliceOp op, unsigned depth) {
  std::optional<Progression> numbers = progressionOf(op.getData(), depth);
  if (!numbers || numbers->step == 0)
    return numbers;
  auto sliced = slicedDims(op);
  if (mlir::failed(sliced))
    return std::nullopt;
  const SlicedDim &taken = (*sliced)[sliced->size() - 1 - numbers->dim];
  const int64_t step = taken.count > 1 ? numbers->step * taken.step : 0; // below the dim where there are two
  return progress(numbers->first + numbers->step * taken.start, step, taken.count, numbers->dim);
}

/// A sum, difference or product of numbers of the result's shape with one number.
std::optional<Progression> ofArithmetic(mlir::Operation *op, unsigned depth) {
  std::optional<int64_t> number = numberOf(op->getOperand(1));
  bool isSecond = number.has_value();
  if (!isSecond)
    number = numberOf(op->getOperand(0));
  mlir::Value other = op->getOperand(isSecond ? 0 : 1);
  auto numbers = number && dimsOf(other) == dimsOf(op->getResult(0)) ? progressionOf(other, depth) : std::nullopt;
  int64_t first = 0, step = 0;
  if (!numbers)
    return std::nullopt;
  if (!llvm::isa<MulOp>(op)) {
    int64_t sign = llvm::isa<SubOp>(op) && !isSecond ? -1 : 1, added = llvm::isa<SubOp>(op) && isSecond ? -1 : 1;
    return progress(sign * numbers->first + added * *number, sign * numbers->step, numbers->count, numbers->dim);
  }
  if (llvm::MulOverflow(numbers->first, *number, first) || llvm::MulOverflow(numbers->step, *number, step))
    return std::nullopt;
  return progress(first, step, numbers->count, numbers->dim);
}

std::optional<Progression> progressionOf(mlir::Value value, unsigned depth) {
  constexpr unsigned maxDepth = 32;
  if (mlir::DenseElementsAttr constant = constantOf(value))
    return progressionIn(constant);
  mlir::Operation *op = value.getDefiningOp();
  std::optional<TensorShape> shape = shapeOf(value);
  if (!op || depth == maxDepth || !shape || shape->numElements() == 0)
    return std::nullopt;
  auto made = llvm::TypeSwitch<mlir::Operation *, std::optional<Progression>>(op)
                  .Case(ofRange)
                  .Case(ofFill)
                  .Case<CastOp, CastLikeOp, IdentityOp, ExpandOp>(
                      [&](auto op) { return progressionOf(op->getOperand(0), depth + 1); })
                  .Case<ReshapeOp, FlattenOp, SqueezeOp, UnsqueezeOp>([&](auto op) { return ofView(op, depth + 1); })
                  .Case([&](TransposeOp op) { return ofTranspose(op, depth + 1); })
                  .Case([&](SliceOp op) { return ofSlice(op, depth + 1); })
                  .Case<AddOp, SubOp, MulOp>([&](auto op) { return ofArithmetic(op, depth + 1); })
                  .Default([](mlir::Operation *) { return std::nullopt; });
  return made && holds(mlir::getElementTypeOrSelf(value), *made) ? made : std::nullopt;
}

} // namespace

std::optional<int64_t> Progression::outside(int64_t least, int64_t end) const {
  if (first < least || first >= end)
    return first;
  int64_t inside = step == 0  ? count
                   : step > 0 ? llvm::divideCeil(static_cast<uint64_t>(end - first), static_cast<uint64_t>(step))
                              : (first - least) / -step + 1;
  return inside < count ? std::optional(first + step * inside) : std::nullopt;
}

std::optional<Progression> progressionOf(mlir::Value value) { return progressionOf(value, 0); }

std::optional<Progression> progressionAmong(llvm::ArrayRef<int64_t> dims, llvm::function_ref<int64_t(int64_t)> at) {
  int64_t count = 1;
  for (int64_t size : dims)
    count *= size;
  return count == 0 ? std::nullopt : progressionAmong(dims, count, [&](int64_t i) { return std::optional(at(i)); });
}

mlir::Value makeProgression(mlir::OpBuilder &builder, llvm::StringRef name, const Progression &numbers,
                            mlir::RankedTensorType type) {
  auto named = [&](mlir::Value value, llvm::StringRef valueName) {
    value.getDefiningOp()->setAttr(valuesAttribute, builder.getStrArrayAttr({valueName}));
    return value;
  };
  auto constant = [&](llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> values, llvm::StringRef role) {
    std::string called = (name + "." + role).str();
    auto held = mlir::DenseElementsAttr::get(mlir::RankedTensorType::get(dims, builder.getI64Type()), values);
    return named(ConstantOp::create(builder, mlir::NameLoc::get(builder.getStringAttr(called)), held), called);
  };
  mlir::Value start = constant({}, numbers.first, "start"),
              limit = constant({}, numbers.last() + numbers.step, "limit"), delta = constant({}, numbers.step, "delta");
  llvm::ArrayRef<int64_t> dims = type.getShape();
  std::string row = dims.size() == 1 ? name.str() : (name + ".row").str();
  mlir::Value made = named(makeOp<RangeOp>(builder, row, {start, limit, delta}), row);
  if (dims.size() == 1)
    return made;
  mlir::Value shape = constant(static_cast<int64_t>(dims.size()), dims, "shape");
  return named(makeOp<ReshapeOp>(builder, name, {made, shape}), name);
}

} // namespace apc
