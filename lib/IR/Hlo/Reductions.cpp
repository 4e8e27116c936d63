// Reductions, sums of products, and slices at places that the data say.
#include "apc/IR/Hlo/HloWriter.h"

#include "apc/IR/Ops/Spmd/Spmd.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

llvm::StringRef hloCombination(Combiner combiner) {
  switch (combiner) {
  case Combiner::Sum:
  case Combiner::LogSumExp:
    return "stablehlo.add";
  case Combiner::Product:
    return "stablehlo.multiply";
  case Combiner::Max:
    return "stablehlo.maximum";
  case Combiner::Min:
    return "stablehlo.minimum";
  case Combiner::And:
    return "stablehlo.and";
  case Combiner::Or:
    return "stablehlo.or";
  }
  llvm_unreachable("every combiner combines");
}

namespace hlo {

static Hlo neutral(Combiner combiner, Hlo like) {
  auto type = mlir::RankedTensorType::get({}, like.element());
  return like.writer->constant(
      mlir::DenseElementsAttr::get(type, mlir::Attribute(neutralAttribute(combiner, like.element()))));
}

Hlo reduce(Combiner combiner, Hlo x, llvm::ArrayRef<int64_t> dims, bool keep) {
  if (dims.empty())
    return x;
  HloDims rest, kept(x.dims());
  for (unsigned dim = 0; dim < x.numDims(); ++dim)
    if (!llvm::is_contained(dims, dim))
      rest.push_back(x.size(dim));
    else
      kept[dim] = 1;
  HloWriter &h = *x.writer;
  llvm::SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  mlir::Type type = mlir::RankedTensorType::get(rest, x.element());
  Hlo result = h.addReduction("stablehlo.reduce", {x, neutral(combiner, x)}, type, {h.ints("dimensions", sorted)},
                              hloCombination(combiner), x.element());
  return keep ? reshape(result, kept) : result;
}

Hlo sum(Hlo x, llvm::ArrayRef<int64_t> dims, bool keep) { return reduce(Combiner::Sum, x, dims, keep); }

Hlo mean(Hlo x, llvm::ArrayRef<int64_t> dims, bool keep) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= x.size(static_cast<unsigned>(dim));
  return sum(x, dims, keep) / static_cast<double>(count);
}

Hlo sumTo(Hlo x, llvm::ArrayRef<int64_t> dims) {
  size_t first = x.numDims() - dims.size();
  HloDims summed;
  for (unsigned dim = 0; dim < x.numDims(); ++dim)
    if (dim < first || (dims[dim - first] == 1 && x.size(dim) != 1))
      summed.push_back(dim);
  return reshape(sum(x, summed), dims);
}

Hlo reduceWindow(Combiner combiner, Hlo x, llvm::ArrayRef<int64_t> window, llvm::ArrayRef<int64_t> strides,
                 llvm::ArrayRef<int64_t> dilations) {
  HloDims dims;
  for (auto [size, length, stride, dilation] : llvm::zip_equal(x.dims(), window, strides, dilations))
    dims.push_back((size - (length - 1) * dilation - 1) / stride + 1);
  HloWriter &h = *x.writer;
  mlir::Type type = mlir::RankedTensorType::get(dims, x.element());
  return h.addReduction(
      "stablehlo.reduce_window", {x, neutral(combiner, x)}, type,
      {h.ints("window_dimensions", window), h.ints("window_strides", strides), h.ints("window_dilations", dilations)},
      hloCombination(combiner), x.element());
}

Hlo logSumExp(Hlo x, llvm::ArrayRef<int64_t> dims, bool keep) {
  auto lowest = llvm::APFloat::getLargest(llvm::cast<mlir::FloatType>(x.element()).getFloatSemantics(), true);
  Hlo greatest =
      max(reduce(Combiner::Max, x, dims, true), filled(*x.writer, x.element(), {}, lowest.convertToDouble()));
  Hlo result = log(sum(exp(x - greatest), dims, true)) + greatest;
  if (keep)
    return result;
  HloDims rest;
  for (unsigned dim = 0; dim < x.numDims(); ++dim)
    if (!llvm::is_contained(dims, dim))
      rest.push_back(x.size(dim));
  return reshape(result, rest);
}

Hlo softmax(Hlo x, unsigned dim) {
  Hlo shares = exp(x - reduce(Combiner::Max, x, {dim}, true));
  return shares / sum(shares, {dim}, true);
}

Hlo take(Hlo x, Hlo places, unsigned dim) {
  HloDims dims(x.dims()), slice(x.dims()), offsets;
  dims[dim] = places.size(0), slice[dim] = 1;
  for (unsigned other = 0; other < x.numDims(); ++other)
    if (other != dim)
      offsets.push_back(other);
  auto listed = llvm::map_range(offsets, [](int64_t at) { return std::to_string(at); });
  HloWriter &h = *x.writer;
  std::string at = std::to_string(dim);
  return h.add(
      "stablehlo.gather", {x, places}, mlir::RankedTensorType::get(dims, x.element()),
      {h.text("dimension_numbers", "gather<offset_dims = [" + llvm::join(listed, ", ") + "], collapsed_slice_dims = [" +
                                       at + "], start_index_map = [" + at + "], index_vector_dim = 1>"),
       h.ints("slice_sizes", slice)});
}

/// "0, 1, 2": all dims of x.
static std::string dimsAsText(Hlo x) {
  return llvm::join(llvm::map_range(llvm::seq(0U, x.numDims()), [](unsigned dim) { return std::to_string(dim); }),
                    ", ");
}

Hlo pick(Hlo x, Hlo places) {
  std::string all = dimsAsText(x), last = std::to_string(places.numDims() - 1);
  HloWriter &h = *x.writer;
  return h.add("stablehlo.gather", {x, places}, mlir::RankedTensorType::get(places.dims().drop_back(), x.element()),
               {h.text("dimension_numbers", "gather<collapsed_slice_dims = [" + all + "], start_index_map = [" + all +
                                                "], index_vector_dim = " + last + ">"),
                h.ints("slice_sizes", HloDims(x.numDims(), 1))});
}

Hlo put(Hlo x, Hlo places, Hlo updates, llvm::StringRef combination) {
  std::string all = dimsAsText(x), last = std::to_string(places.numDims() - 1);
  HloWriter &h = *x.writer;
  return h.addReduction("stablehlo.scatter", {x, places, updates}, x.type(),
                        {h.text("scatter_dimension_numbers", "scatter<inserted_window_dims = [" + all +
                                                                 "], scatter_dims_to_operand_dims = [" + all +
                                                                 "], index_vector_dim = " + last + ">")},
                        combination, x.element());
}

Hlo addAt(llvm::ArrayRef<int64_t> dims, Hlo places, Hlo updates, unsigned dim) {
  HloWriter &h = *updates.writer;
  llvm::SmallVector<std::string> windows;
  for (unsigned other = 0; other < dims.size(); ++other)
    if (other != dim)
      windows.push_back(std::to_string(other));
  Hlo zeros = filled(h, updates.element(), dims, 0);
  std::string at = std::to_string(dim);
  return h.addReduction(
      "stablehlo.scatter", {zeros, places, updates}, {zeros.type()},
      {h.text("scatter_dimension_numbers",
              "scatter<update_window_dims = [" + llvm::join(windows, ", ") + "], inserted_window_dims = [" + at +
                  "], scatter_dims_to_operand_dims = [" + at + "], index_vector_dim = 1>")},
      "stablehlo.add", updates.element());
}

} // namespace hlo
} // namespace apc
