// Reductions and running sums in StableHLO.
#include "apc/IR/Hlo/HloWriter.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

#include "llvm/ADT/Sequence.h"

namespace apc {

namespace hlo {
namespace {

/// The dims that a reduction takes; none where it has no axes and takes that as nothing to do.
template <typename Op>
std::optional<HloDims> dimsOfReduction(Op op, Hlo x) {
  HloDims dims;
  if (!isAbsent(op.getAxes())) {
    auto axes = constantInts(op.getAxes());
    if (!axes)
      return std::nullopt;
    for (int64_t axis : *axes)
      dims.push_back(axis < 0 ? axis + x.numDims() : axis);
  }
  if (dims.empty() && op.getNoopWithEmptyAxes() == 0)
    dims = llvm::to_vector<6>(llvm::seq<int64_t>(0, x.numDims()));
  return dims;
}

/// A reduction: `before` each element, then `combiner`, then `after` on the dims and the result.
template <Combiner combiner, auto before, auto after, typename Op>
HloList reduced(Op op, HloWriter &h) {
  Hlo x = h(op.getData());
  auto dims = dimsOfReduction(op, x);
  if (!dims)
    return h.refuse("axes that are no constants");
  return after(reduce(combiner, before(x), *dims, op.getKeepdims() != 0));
}
Hlo same(Hlo x) { return x; }

HloList meanOf(ReduceMeanOp op, HloWriter &h) {
  Hlo x = h(op.getData());
  auto dims = dimsOfReduction(op, x);
  if (!dims)
    return h.refuse("axes that are no constants");
  int64_t count = 1;
  for (int64_t dim : *dims)
    count *= x.size(static_cast<unsigned>(dim));
  return sum(x, *dims, op.getKeepdims() != 0) /
         static_cast<double>(op.getCount().value_or(static_cast<uint64_t>(count)));
}

template <typename Op>
HloList logOfSum(Op op, HloWriter &h) {
  Hlo x = h(op.getData());
  auto dims = dimsOfReduction(op, x);
  if (!dims)
    return h.refuse("axes that are no constants");
  auto type = llvm::cast<mlir::RankedTensorType>(op.getReduced().getType());
  return convert(logSumExp(precise(x), *dims, op.getKeepdims() != 0), type.getElementType());
}

/// The first place, or the last, of the greatest element or the least one.
template <Combiner combiner, typename Op>
HloList placeOf(Op op, HloWriter &h) {
  Hlo x = h(op.getData());
  auto axis = static_cast<int64_t>(op.getAxis());
  axis = axis < 0 ? axis + x.numDims() : axis;
  auto dim = static_cast<unsigned>(axis);
  bool isLast = op.getSelectLastIndex() != 0, keep = op.getKeepdims() != 0;
  Hlo places = iota(h, h.i64(), x.dims(), dim);
  Hlo isBest = compare(x, "EQ", reduce(combiner, x, {axis}, true));
  Hlo none = filled(places, isLast ? -1 : static_cast<double>(x.size(dim)));
  return reduce(isLast ? Combiner::Max : Combiner::Min, select(isBest, places, none), {axis}, keep);
}

HloList cumulative(CumSumOp op, HloWriter &h) {
  Hlo x = h(op.getX());
  auto axes = constantInts(op.getAxis());
  if (!axes)
    return h.refuse("an axis that is no constant");
  auto dim = static_cast<unsigned>(axes->front() < 0 ? axes->front() + x.numDims() : axes->front());
  int64_t size = x.size(dim);
  // Each window ends at its element, or begins there; the elements outside are zeros.
  x = op.getExclusive() != 0
          ? (op.getReverse() != 0 ? pad(slice(x, dim, 1, size), dim, 0, 1) : pad(slice(x, dim, 0, size - 1), dim, 1, 0))
          : x;
  x = op.getReverse() != 0 ? pad(x, dim, 0, size - 1) : pad(x, dim, size - 1, 0);
  HloDims window(x.numDims(), 1), ones(x.numDims(), 1);
  window[dim] = size;
  return reduceWindow(Combiner::Sum, x, window, ones, ones);
}

/// The other way round for order: the least becomes the greatest.
Hlo turned(Hlo x) { return x.isFloat() ? -x : isNot(x); }

/// CHLO's op takes the greatest of the last dim, equal ones in their order.
HloList topOf(TopKOp op, HloWriter &h) {
  Hlo x = h(op.getX());
  auto axis = static_cast<int64_t>(op.getAxis());
  auto dim = static_cast<unsigned>(axis < 0 ? axis + x.numDims() : axis), last = x.numDims() - 1;
  HloDims perm = llvm::to_vector<6>(llvm::seq<int64_t>(0, x.numDims())), dims(dimsOf(op.getValues()));
  std::swap(perm[dim], perm[last]), std::swap(dims[dim], dims[last]);
  x = transpose(op.getLargest() != 0 ? x : turned(x), perm);
  auto places = mlir::RankedTensorType::get(dims, h.getBuilder().getI32Type());
  HloList top = h.addMany("chlo.top_k", {x}, {mlir::RankedTensorType::get(dims, x.element()), places},
                          {h.number("k", dims[last])});
  Hlo values = transpose(top[0], perm);
  return {op.getLargest() != 0 ? values : turned(values), convert(transpose(top[1], perm), h.i64())};
}

constexpr HloLowering rows[] = {
    hloRow<ReduceSumOp, reduced<Combiner::Sum, same, same, ReduceSumOp>>(),
    hloRow<ReduceMeanOp, meanOf>(),
    hloRow<ReduceProdOp, reduced<Combiner::Product, same, same, ReduceProdOp>>(),
    hloRow<ReduceMaxOp, reduced<Combiner::Max, same, same, ReduceMaxOp>>(),
    hloRow<ReduceMinOp, reduced<Combiner::Min, same, same, ReduceMinOp>>(),
    hloRow<ReduceL1Op, reduced<Combiner::Sum, hlo::abs, same, ReduceL1Op>>(),
    hloRow<ReduceSumSquareOp, reduced<Combiner::Sum, square, same, ReduceSumSquareOp>>(),
    hloRow<ReduceL2Op, reduced<Combiner::Sum, square, hlo::sqrt, ReduceL2Op>>(),
    hloRow<ReduceLogSumOp, reduced<Combiner::Sum, same, hlo::log, ReduceLogSumOp>>(),
    hloRow<ReduceLogSumExpOp, logOfSum<ReduceLogSumExpOp>>(),
    hloRow<LogSumExpOp, logOfSum<LogSumExpOp>>(),
    hloRow<ArgMaxOp, placeOf<Combiner::Max, ArgMaxOp>>(),
    hloRow<ArgMinOp, placeOf<Combiner::Min, ArgMinOp>>(),
    hloRow<CumSumOp, cumulative>(),
    hloRow<TopKOp, topOf>(),
};

} // namespace
} // namespace hlo

llvm::ArrayRef<HloLowering> hloReduction();
llvm::ArrayRef<HloLowering> hloReduction() { return hlo::rows; }

} // namespace apc
