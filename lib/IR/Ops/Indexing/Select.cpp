// Operators whose number of results depends on values, which are constants unless the op has a bound.
#include "apc/IR/Ops/Indexing/Indexing.h"

#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/RuleBuilder.h"

#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <map>
#include <numeric>

namespace apc {

static constexpr int64_t maxWalked = 1 << 12;

mlir::FailureOr<Tensor> requireSelecting(mlir::Operation *op, unsigned operand) {
  // A tensor without elements may have dims without bound, along which nobody should walk.
  mlir::DenseElementsAttr attribute = constantOf(op->getOperand(operand));
  if (attribute && attribute.empty() &&
      llvm::any_of(attribute.getType().getShape(), [](int64_t dim) { return dim > maxWalked; }))
    return op->emitOpError() << "operand '" << operandName(op, operand) << "' has shape "
                             << printDims(attribute.getType().getShape()) << " without elements; dims of at most "
                             << maxWalked << " are needed",
           mlir::failure();
  if (attribute)
    return Tensor::read(attribute);
  return op->emitOpError() << "operand '" << operandName(op, operand)
                           << "' decides a shape, the number of results, by its values, so they must follow from "
                              "constants, unless 'bound' gives the number",
         mlir::failure();
}

namespace {

/// The places where Compress's condition is true, at most `size` entries of it read.
llvm::SmallVector<int64_t, 4> selectedPlaces(const Tensor &condition, int64_t size) {
  llvm::SmallVector<int64_t, 4> places;
  for (auto [place, taken] : llvm::enumerate(condition.ints))
    if (taken != 0 && static_cast<int64_t>(place) < size)
      places.push_back(static_cast<int64_t>(place));
  return places;
}

/// [outer, size, inner]: the products of the dims before and behind `axis`; one dim of all elements without an axis.
struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;
};

mlir::FailureOr<AxisView> axisView(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, std::optional<uint64_t> axis) {
  AxisView view;
  if (!axis) {
    view.size = checkedProduct(dims).value_or(0);
    return view;
  }
  auto dim = normalizeAxis(op, static_cast<int64_t>(*axis), dims.size());
  if (mlir::failed(dim))
    return mlir::failure();
  view.outer = checkedProduct(dims.take_front(*dim)).value_or(0);
  view.size = dims[*dim];
  view.inner = checkedProduct(dims.drop_front(*dim + 1)).value_or(0);
  return view;
}

/// `dims` with `count` along the axis; [count] without one.
llvm::SmallVector<int64_t, 4> selectedDims(llvm::ArrayRef<int64_t> dims, std::optional<uint64_t> axis, int64_t count) {
  if (!axis)
    return {count};
  llvm::SmallVector<int64_t, 4> selected(dims);
  auto signedAxis = static_cast<int64_t>(*axis);
  selected[signedAxis < 0 ? signedAxis + static_cast<int64_t>(dims.size()) : signedAxis] = count;
  return selected;
}

/// The slices of `from` at `places` along the middle dim of `view`.
Tensor selectSlices(const Tensor &from, const AxisView &view, llvm::ArrayRef<int64_t> places,
                    llvm::ArrayRef<int64_t> dims) {
  Tensor to;
  to.dims.assign(dims.begin(), dims.end());
  to.element = from.element;
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t place : places)
      for (int64_t inner = 0; inner < view.inner; ++inner)
        appendElement(to, from, (outer * view.size + place) * view.inner + inner);
  return to;
}

Tensor indexList(mlir::Operation *op, llvm::ArrayRef<int64_t> values) {
  return {{static_cast<int64_t>(values.size())}, indexElement(op), values.vec(), {}};
}

} // namespace

Tensor withCount(const Tensor &tensor, unsigned dim, int64_t count) {
  Tensor counted;
  counted.element = tensor.element;
  counted.dims = tensor.dims;
  counted.dims[dim] = count;
  counted.ints.resize(tensor.isFloat() ? 0 : counted.numElements());
  counted.floats.resize(tensor.isFloat() ? counted.numElements() : 0);
  int64_t inner = checkedProduct(llvm::ArrayRef(tensor.dims).drop_front(dim + 1)).value_or(0);
  int64_t at = 0;
  forEachIndex(counted.dims, [&](llvm::ArrayRef<int64_t> index) {
    if (index[dim] < tensor.dims[dim]) {
      // A place of the shorter or longer tensor: all dims beside `dim` are the same.
      int64_t outer = inner * count == 0 ? 0 : at / (inner * count);
      int64_t from = (outer * tensor.dims[dim] + index[dim]) * inner + at % std::max<int64_t>(inner, 1);
      setElement(counted, at, getElement(tensor, from));
    }
    ++at;
  });
  return counted;
}

mlir::LogicalResult CompressOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  auto view = axisView(*this, dims, getAxis());
  if (mlir::failed(view))
    return mlir::failure();
  auto count = static_cast<int64_t>(getBound().value_or(0));
  if (!getBound()) {
    auto condition = requireSelecting(*this, 1);
    if (mlir::failed(condition))
      return mlir::failure();
    count = static_cast<int64_t>(selectedPlaces(*condition, view->size).size());
  }
  return addType(*this, selectedDims(dims, getAxis(), count), operandElement(*this, 0), types);
}

mlir::FailureOr<FactorRule> CompressOp::getRule() {
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  if (!getAxis())
    return RuleBuilder(*this).take(Work::Stream);
  auto axis = normalizeAxis(*this, static_cast<int64_t>(*getAxis()), dims.size());
  if (mlir::failed(axis))
    return mlir::failure();
  llvm::SmallBitVector touched(dims.size());
  touched.set(*axis);
  return alignedRule(*this, 1, touched, /*linear=*/true);
}

Evaluated CompressOp::evaluate(Operands operands) {
  if (!operands[0] || !operands[1])
    return std::nullopt;
  llvm::ArrayRef<int64_t> shape = dimsOf(getInput());
  auto view = axisView(*this, shape, getAxis());
  if (mlir::failed(view))
    return std::nullopt;
  auto places = selectedPlaces(*operands[1], view->size);
  auto dims = selectedDims(shape, getAxis(), static_cast<int64_t>(places.size()));
  Tensor taken = selectSlices(*operands[0], *view, places, dims);
  if (!getBound())
    return evaluatedAs(std::move(taken));
  auto axis = static_cast<int64_t>(getAxis().value_or(0));
  auto dim = static_cast<unsigned>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
  return evaluatedAs(withCount(taken, dim, static_cast<int64_t>(*getBound())));
}

namespace {

/// NonZero's table, one row for each dim: [[1, 0], [0, 3]] gives 0 1 and 0 1.
Tensor nonZeroPlaces(const Tensor &tensor, mlir::Type element) {
  Tensor table;
  table.element = element;
  std::vector<llvm::SmallVector<int64_t, 4>> places;
  int64_t position = 0;
  forEachIndex(tensor.dims, [&](llvm::ArrayRef<int64_t> index) {
    bool isZero = tensor.isFloat() ? tensor.floats[position] == 0 : tensor.ints[position] == 0;
    ++position;
    if (!isZero)
      places.emplace_back(index);
  });
  table.dims = {static_cast<int64_t>(tensor.dims.size()), static_cast<int64_t>(places.size())};
  for (size_t dim = 0; dim < tensor.dims.size(); ++dim)
    for (const auto &place : places)
      table.ints.push_back(place[dim]);
  return table;
}

} // namespace

mlir::LogicalResult NonZeroOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  if (getBound())
    return addType(*this, {static_cast<int64_t>(dimsOf(getX()).size()), static_cast<int64_t>(*getBound())},
                   indexElement(*this), types);
  auto tensor = requireSelecting(*this, 0);
  if (mlir::failed(tensor))
    return mlir::failure();
  return addType(*this, nonZeroPlaces(*tensor, indexElement(*this)).dims, indexElement(*this), types);
}

mlir::FailureOr<FactorRule> NonZeroOp::getRule() { return RuleBuilder(*this).take(Work::Stream); }

Evaluated NonZeroOp::evaluate(Operands operands) {
  if (!operands[0])
    return std::nullopt;
  Tensor places = nonZeroPlaces(*operands[0], indexElement(*this));
  return evaluatedAs(getBound() ? withCount(places, 1, static_cast<int64_t>(*getBound())) : std::move(places));
}

namespace {

/// Unique's results as places: of 2 1 2 5 sorted, first places 1 0 3, inverse 1 0 1 2, counts 1 2 1.
struct DistinctSlices {
  llvm::SmallVector<int64_t, 4> first, inverse, counts;
};

/// True when the slice at one place comes before the slice at another, comparing elements in order.
std::function<bool(int64_t, int64_t)> sliceOrder(const Tensor &tensor, const AxisView &view) {
  std::vector<std::vector<double>> reals(view.size);
  std::vector<std::vector<int64_t>> ints(view.size);
  for (int64_t place = 0; place < view.size; ++place)
    for (int64_t outer = 0; outer < view.outer; ++outer)
      for (int64_t inner = 0; inner < view.inner; ++inner) {
        int64_t position = (outer * view.size + place) * view.inner + inner;
        if (tensor.isFloat())
          reals[place].push_back(tensor.floats[position]);
        else
          ints[place].push_back(tensor.ints[position]);
      }
  return [isFloat = tensor.isFloat(), reals = std::move(reals), ints = std::move(ints)](int64_t a, int64_t b) {
    return isFloat ? reals[a] < reals[b] : ints[a] < ints[b];
  };
}

DistinctSlices distinctSlices(const Tensor &tensor, const AxisView &view, bool sorted) {
  auto isBefore = sliceOrder(tensor, view);
  std::vector<int64_t> order(view.size), firstOf(view.size);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), isBefore);
  std::map<int64_t, int64_t> counts;
  DistinctSlices distinct;
  for (auto [i, place] : llvm::enumerate(order)) {
    if (i == 0 || isBefore(order[i - 1], place))
      distinct.first.push_back(place);
    firstOf[place] = distinct.first.back();
    ++counts[firstOf[place]];
  }
  if (!sorted)
    llvm::sort(distinct.first);
  std::map<int64_t, int64_t> newIndex;
  for (auto [i, place] : llvm::enumerate(distinct.first)) {
    newIndex[place] = static_cast<int64_t>(i);
    distinct.counts.push_back(counts[place]);
  }
  for (int64_t place = 0; place < view.size; ++place)
    distinct.inverse.push_back(newIndex[firstOf[place]]);
  return distinct;
}

} // namespace

mlir::LogicalResult UniqueOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto view = axisView(*this, dimsOf(getX()), getAxis());
  if (mlir::failed(view))
    return mlir::failure();
  auto count = static_cast<int64_t>(getBound().value_or(0));
  if (!getBound()) {
    auto tensor = requireSelecting(*this, 0);
    if (mlir::failed(tensor))
      return mlir::failure();
    count = static_cast<int64_t>(distinctSlices(*tensor, *view, getSorted() != 0).first.size());
  }
  if (mlir::failed(addType(*this, selectedDims(dimsOf(getX()), getAxis(), count), operandElement(*this, 0), types)))
    return mlir::failure();
  for (int64_t size : {count, view->size, count})
    if (mlir::failed(addType(*this, {size}, indexElement(*this), types)))
      return mlir::failure();
  return mlir::success();
}

mlir::FailureOr<FactorRule> UniqueOp::getRule() { return RuleBuilder(*this).take(Work::Stream); }

Evaluated UniqueOp::evaluate(Operands operands) {
  auto view = axisView(*this, dimsOf(getX()), getAxis());
  if (!operands[0] || mlir::failed(view))
    return std::nullopt;
  DistinctSlices distinct = distinctSlices(*operands[0], *view, getSorted() != 0);
  llvm::ArrayRef<int64_t> shape = dimsOf(getX());
  auto dims = selectedDims(shape, getAxis(), static_cast<int64_t>(distinct.first.size()));
  llvm::SmallVector<Tensor, 1> results{selectSlices(*operands[0], *view, distinct.first, dims),
                                       indexList(*this, distinct.first), indexList(*this, distinct.inverse),
                                       indexList(*this, distinct.counts)};
  if (!getBound())
    return results;
  auto count = static_cast<int64_t>(*getBound());
  auto axis = static_cast<int64_t>(getAxis().value_or(0));
  auto dim = static_cast<unsigned>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
  results[0] = withCount(results[0], dim, count);
  results[1] = withCount(results[1], 0, count);
  results[3] = withCount(results[3], 0, count);
  return results;
}

} // namespace apc
