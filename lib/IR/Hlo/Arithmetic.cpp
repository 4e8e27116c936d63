// Elementwise functions, and ops that move elements.
#include "apc/IR/Hlo/HloWriter.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/Sequence.h"

#include <numbers>

namespace apc {

namespace {

mlir::RankedTensorType typeOf(llvm::ArrayRef<int64_t> dims, mlir::Type element) {
  return mlir::RankedTensorType::get(dims, element);
}

/// NumPy's shape of two shapes that fit.
HloDims broadcastShape(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  HloDims dims(a);
  for (auto [dim, size] : llvm::zip(llvm::reverse(dims), llvm::reverse(b)))
    dim = dim == 1 ? size : dim;
  return dims;
}

Hlo arithmetic(llvm::StringRef name, Hlo a, Hlo b) { return hlo::binary(("stablehlo." + name).str(), a, b); }

/// Starts, ends and steps that keep all of a tensor but for one dim.
Hlo sliceOf(Hlo x, llvm::ArrayRef<int64_t> begins, llvm::ArrayRef<int64_t> ends, llvm::ArrayRef<int64_t> steps) {
  HloDims dims;
  for (auto [begin, end, step] : llvm::zip_equal(begins, ends, steps))
    dims.push_back(end > begin ? (end - begin + step - 1) / step : 0);
  HloWriter &h = *x.writer;
  return h.add("stablehlo.slice", {x}, typeOf(dims, x.element()),
               {h.ints("start_indices", begins), h.ints("limit_indices", ends), h.ints("strides", steps)});
}

} // namespace

Hlo operator+(Hlo a, Hlo b) { return arithmetic("add", a, b); }
Hlo operator-(Hlo a, Hlo b) { return arithmetic("subtract", a, b); }
Hlo operator*(Hlo a, Hlo b) { return arithmetic("multiply", a, b); }
Hlo operator/(Hlo a, Hlo b) { return arithmetic("divide", a, b); }
Hlo operator&(Hlo a, Hlo b) { return arithmetic("and", a, b); }
Hlo operator|(Hlo a, Hlo b) { return arithmetic("or", a, b); }
Hlo operator-(Hlo a) { return hlo::unary("stablehlo.negate", a); }
Hlo operator+(Hlo a, double b) { return a + hlo::filled(a, b); }
Hlo operator-(Hlo a, double b) { return a - hlo::filled(a, b); }
Hlo operator*(Hlo a, double b) { return b == 1 ? a : a * hlo::filled(a, b); }
Hlo operator/(Hlo a, double b) { return b == 1 ? a : a / hlo::filled(a, b); }
Hlo operator-(double a, Hlo b) { return hlo::filled(b, a) - b; }

namespace hlo {

Hlo unary(llvm::StringRef name, Hlo x) { return x.writer->add(name, {x}, x.type()); }

Hlo binary(llvm::StringRef name, Hlo a, Hlo b) {
  HloDims dims = broadcastShape(a.dims(), b.dims());
  return a.writer->add(name, {broadcast(a, dims), broadcast(b, dims)}, typeOf(dims, a.element()));
}

Hlo exp(Hlo x) { return unary("stablehlo.exponential", x); }
Hlo log(Hlo x) { return unary("stablehlo.log", x); }
Hlo sqrt(Hlo x) { return unary("stablehlo.sqrt", x); }
Hlo rsqrt(Hlo x) { return unary("stablehlo.rsqrt", x); }
Hlo tanh(Hlo x) { return unary("stablehlo.tanh", x); }
Hlo sigmoid(Hlo x) { return unary("stablehlo.logistic", x); }
Hlo sin(Hlo x) { return unary("stablehlo.sine", x); }
Hlo cos(Hlo x) { return unary("stablehlo.cosine", x); }
Hlo erf(Hlo x) { return unary("chlo.erf", x); }
Hlo probit(Hlo x) { return unary("chlo.erf_inv", x * 2 - 1) * std::numbers::sqrt2; }
Hlo abs(Hlo x) { return unary("stablehlo.abs", x); }
Hlo square(Hlo x) { return x * x; }
Hlo isNot(Hlo x) { return unary("stablehlo.not", x); }
Hlo max(Hlo a, Hlo b) { return binary("stablehlo.maximum", a, b); }
Hlo min(Hlo a, Hlo b) { return binary("stablehlo.minimum", a, b); }
Hlo power(Hlo a, Hlo b) { return binary("stablehlo.power", a, b); }
Hlo remainder(Hlo a, Hlo b) { return binary("stablehlo.remainder", a, b); }

Hlo compare(Hlo a, llvm::StringRef direction, Hlo b) {
  HloWriter &h = *a.writer;
  HloDims dims = broadcastShape(a.dims(), b.dims());
  return h.add("stablehlo.compare", {broadcast(a, dims), broadcast(b, dims)}, typeOf(dims, h.getBuilder().getI1Type()),
               {h.text("comparison_direction", "comparison_direction " + direction)});
}
Hlo compare(Hlo a, llvm::StringRef direction, double b) { return compare(a, direction, filled(a, b)); }

Hlo select(Hlo condition, Hlo a, Hlo b) {
  HloDims dims = broadcastShape(condition.dims(), broadcastShape(a.dims(), b.dims()));
  return a.writer->add("stablehlo.select", {broadcast(condition, dims), broadcast(a, dims), broadcast(b, dims)},
                       typeOf(dims, a.element()));
}

Hlo convert(Hlo x, mlir::Type element) {
  return x.element() == element ? x : x.writer->add("stablehlo.convert", {x}, typeOf(x.dims(), element));
}

Hlo precise(Hlo x) {
  return x.isFloat() && x.element().getIntOrFloatBitWidth() < 32 ? convert(x, x.writer->getBuilder().getF32Type()) : x;
}

Hlo filled(HloWriter &h, mlir::Type element, llvm::ArrayRef<int64_t> dims, double value) {
  auto type = typeOf(dims, element);
  if (auto floating = llvm::dyn_cast<mlir::FloatType>(element)) {
    llvm::APFloat number(value);
    bool loses = false;
    number.convert(floating.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return h.constant(mlir::DenseElementsAttr::get(type, number));
  }
  llvm::APInt number(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(static_cast<int64_t>(value)), true, true);
  return h.constant(mlir::DenseElementsAttr::get(type, number));
}
Hlo filled(Hlo like, double value) { return filled(*like.writer, like.element(), like.dims(), value); }

Hlo iota(HloWriter &h, mlir::Type element, llvm::ArrayRef<int64_t> dims, unsigned dim) {
  return h.add("stablehlo.iota", {}, typeOf(dims, element), {h.number("iota_dimension", dim)});
}

Hlo reshape(Hlo x, llvm::ArrayRef<int64_t> dims) {
  return x.dims() == dims ? x : x.writer->add("stablehlo.reshape", {x}, typeOf(dims, x.element()));
}

Hlo broadcastInDim(Hlo x, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> places) {
  HloWriter &h = *x.writer;
  return h.add("stablehlo.broadcast_in_dim", {x}, typeOf(dims, x.element()), {h.ints("broadcast_dimensions", places)});
}

Hlo broadcast(Hlo x, llvm::ArrayRef<int64_t> dims) {
  if (x.dims() == dims)
    return x;
  auto first = static_cast<int64_t>(dims.size()) - x.numDims();
  return broadcastInDim(x, dims, llvm::to_vector(llvm::seq<int64_t>(first, first + x.numDims())));
}

Hlo transpose(Hlo x, llvm::ArrayRef<int64_t> perm) {
  if (llvm::equal(perm, llvm::seq<int64_t>(0, x.numDims())))
    return x;
  HloDims dims;
  for (int64_t dim : perm)
    dims.push_back(x.size(static_cast<unsigned>(dim)));
  return x.writer->add("stablehlo.transpose", {x}, typeOf(dims, x.element()), {x.writer->ints("permutation", perm)});
}

Hlo flip(Hlo x) {
  auto perm = llvm::to_vector(llvm::seq<int64_t>(0, x.numDims()));
  std::swap(perm[x.numDims() - 1], perm[x.numDims() - 2]);
  return transpose(x, perm);
}

Hlo reverse(Hlo x, llvm::ArrayRef<int64_t> dims) {
  return dims.empty() ? x : x.writer->add("stablehlo.reverse", {x}, x.type(), {x.writer->ints("dimensions", dims)});
}

Hlo unsqueeze(Hlo x, unsigned dim) {
  HloDims dims(x.dims());
  dims.insert(dims.begin() + dim, 1);
  return reshape(x, dims);
}

Hlo slice(Hlo x, unsigned dim, int64_t begin, int64_t end, int64_t step) {
  if (begin == 0 && end == x.size(dim) && step == 1)
    return x;
  HloDims begins(x.numDims(), 0), ends(x.dims()), steps(x.numDims(), 1);
  begins[dim] = begin, ends[dim] = end, steps[dim] = step;
  return sliceOf(x, begins, ends, steps);
}

Hlo pad(Hlo x, unsigned dim, int64_t before, int64_t behind, double value) {
  if (before == 0 && behind == 0)
    return x;
  HloDims low(x.numDims(), 0), high(x.numDims(), 0), none(x.numDims(), 0), dims(x.dims());
  low[dim] = before, high[dim] = behind, dims[dim] += before + behind;
  HloWriter &h = *x.writer;
  return h.add("stablehlo.pad", {x, filled(h, x.element(), {}, value)}, typeOf(dims, x.element()),
               {h.ints("edge_padding_low", low), h.ints("edge_padding_high", high), h.ints("interior_padding", none)});
}

Hlo concat(llvm::ArrayRef<Hlo> parts, unsigned dim) {
  if (parts.size() == 1)
    return parts.front();
  HloDims dims(parts.front().dims());
  dims[dim] = 0;
  for (Hlo part : parts)
    dims[dim] += part.size(dim);
  HloWriter &h = *parts.front().writer;
  return h.add("stablehlo.concatenate", parts, typeOf(dims, parts.front().element()), {h.number("dimension", dim)});
}

Hlo dynamicSlice(Hlo x, unsigned dim, Hlo begin, int64_t size) {
  HloWriter &h = *x.writer;
  HloDims dims(x.dims());
  dims[dim] = size;
  HloList operands(x.numDims(), filled(h, begin.element(), {}, 0));
  operands[dim] = begin;
  operands.insert(operands.begin(), x);
  return h.add("stablehlo.dynamic_slice", operands, typeOf(dims, x.element()), {h.ints("slice_sizes", dims)});
}

Hlo dynamicUpdate(Hlo x, unsigned dim, Hlo begin, Hlo part) {
  HloWriter &h = *x.writer;
  HloList operands = {x, part};
  for (unsigned i = 0; i < x.numDims(); ++i)
    operands.push_back(i == dim ? begin : filled(h, begin.element(), {}, 0));
  return h.add("stablehlo.dynamic_update_slice", operands, x.type());
}

} // namespace hlo
} // namespace apc
