// Convolutions, pools and resizing in StableHLO.
#include "Convolution.h"
#include "apc/IR/Hlo/HloWriter.h"

#include "Windows.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace hlo {
namespace {

using Windows = llvm::SmallVector<WindowDim, 3>;

/// A convolution of data [n, c, ...] with weights, whose dims are "oi" or "io" by `weights`, into [n, o, ...].
struct Convolution {
  std::string data = "b, f", weights = "o, i", result = "b, f";
  HloDims strides, dilations, dataDilations, before, behind;
  int64_t groups = 1, batchGroups = 1;

  Hlo of(Hlo x, Hlo w, mlir::Type type) const {
    HloWriter &h = *x.writer;
    std::string space;
    std::vector<std::vector<int64_t>> padding;
    for (auto [dim, pair] : llvm::enumerate(llvm::zip_equal(before, behind))) {
      space += ", " + std::to_string(dim);
      padding.push_back({std::get<0>(pair), std::get<1>(pair)});
    }
    return h.add("stablehlo.convolution", {x, w}, type,
                 {h.text("dimension_numbers",
                         "conv<[" + data + space + "]x[" + weights + space + "]->[" + result + space + "]>"),
                  h.ints("window_strides", strides), h.ints("lhs_dilation", dataDilations),
                  h.ints("rhs_dilation", dilations), h.table("padding", padding),
                  h.number("feature_group_count", groups), h.number("batch_group_count", batchGroups)});
  }
};

HloDims spaceOf(mlir::Value value) { return HloDims(dimsOf(value).drop_front(2)); }
HloDims orElse(std::optional<llvm::ArrayRef<int64_t>> list, size_t count, int64_t standard) {
  return list ? HloDims(*list) : HloDims(count, standard);
}

/// Windows with the padding behind that gives results of `space`.
std::optional<Windows> windowsOf(mlir::Operation *op, llvm::ArrayRef<int64_t> data, llvm::ArrayRef<int64_t> kernel,
                                 llvm::ArrayRef<int64_t> space) {
  auto windows = readWindows(op, data, kernel);
  if (mlir::failed(windows))
    return std::nullopt;
  for (auto [window, size] : llvm::zip_equal(*windows, space)) {
    window.output = size;
    window.padEnd = (size - 1) * window.stride + window.span() - window.input - window.padBegin;
  }
  return *windows;
}

Hlo besideChannels(Hlo numbers, Hlo x) {
  HloDims dims(x.numDims() - 1, 1);
  dims.front() = numbers.size(0);
  return reshape(numbers, dims);
}

HloList conv(ConvOp op, HloWriter &h) {
  Hlo x = h(op.getX()), bias = h(op.getB());
  auto windows = windowsOf(op, spaceOf(op.getX()), spaceOf(op.getW()), spaceOf(op.getY()));
  if (!windows)
    return h.refuse("windows that cannot be read");
  Convolution form;
  form.groups = static_cast<int64_t>(op.getGroup());
  for (const WindowDim &window : *windows) {
    form.strides.push_back(window.stride), form.dilations.push_back(window.dilation);
    form.before.push_back(window.padBegin), form.behind.push_back(window.padEnd);
    form.dataDilations.push_back(1);
  }
  Hlo y = form.of(x, h(op.getW()), op.getY().getType());
  return bias ? y + besideChannels(bias, y) : y;
}

/// Weights with their windows turned round and, in each group, inputs and outputs exchanged: [o, i / g, ...] as [g i/g,
/// o/g].
Hlo turned(Hlo w, int64_t groups) {
  HloDims space;
  for (unsigned dim = 2; dim < w.numDims(); ++dim)
    space.push_back(dim);
  w = reverse(w, space);
  HloDims split = {groups, w.size(0) / groups}, perm = {0, 2, 1}, joined = {groups * w.size(1), w.size(0) / groups};
  for (unsigned dim = 1; dim < w.numDims(); ++dim)
    split.push_back(w.size(dim));
  for (unsigned dim = 3; dim < split.size(); ++dim)
    perm.push_back(dim), joined.push_back(split[dim]);
  return reshape(transpose(reshape(w, split), perm), joined);
}

/// A transposed convolution: data spread by the strides, convolved with the turned weights. `begin` elements
/// are left out in front.
Hlo spreadOver(Hlo x, Hlo w, int64_t groups, llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> dilations,
               llvm::ArrayRef<int64_t> begin, mlir::Type type) {
  Convolution form;
  form.groups = groups;
  llvm::ArrayRef<int64_t> dims = llvm::cast<mlir::RankedTensorType>(type).getShape();
  for (size_t dim = 0; dim < strides.size(); ++dim) {
    int64_t span = (w.size(static_cast<unsigned>(dim) + 2) - 1) * dilations[dim];
    int64_t spread = (x.size(static_cast<unsigned>(dim) + 2) - 1) * strides[dim] + 1;
    form.strides.push_back(1), form.dilations.push_back(dilations[dim]), form.dataDilations.push_back(strides[dim]);
    form.before.push_back(span - begin[dim]);
    form.behind.push_back(dims[dim + 2] - spread + begin[dim]);
  }
  return form.of(x, turned(w, groups), type);
}

HloList convInputGradient(ConvInputGradOp op, HloWriter &h) {
  Hlo dy = h(op.getDY()), w = h(op.getW());
  size_t count = dy.numDims() - 2;
  HloDims pads = orElse(op.getPads(), 2 * count, 0);
  pads.resize(count);
  return spreadOver(dy, w, static_cast<int64_t>(op.getGroup()), orElse(op.getStrides(), count, 1),
                    orElse(op.getDilations(), count, 1), pads, op.getDX().getType());
}

HloList convTranspose(ConvTransposeOp op, HloWriter &h) {
  Hlo x = h(op.getX()), w = h(op.getW()), bias = h(op.getB());
  size_t count = x.numDims() - 2;
  if (op.getAutoPad() != "NOTSET" || op->hasAttr("output_shape"))
    return h.refuse("padding that follows from the result's size");
  HloDims pads = orElse(op.getPads(), 2 * count, 0);
  pads.resize(count);
  Hlo y = spreadOver(x, w, static_cast<int64_t>(op.getGroup()), orElse(op.getStrides(), count, 1),
                     orElse(op.getDilations(), count, 1), pads, op.getY().getType());
  return bias ? y + besideChannels(bias, y) : y;
}

/// Channels as the batch, the batch as channels: each window of the weights is a window over the data.
HloList convWeightGradient(ConvWeightGradOp op, HloWriter &h) {
  Hlo x = h(op.getX()), dy = h(op.getDY());
  size_t count = dy.numDims() - 2;
  HloDims strides = orElse(op.getStrides(), count, 1), dilations = orElse(op.getDilations(), count, 1),
          pads = orElse(op.getPads(), 2 * count, 0);
  Convolution form;
  form.data = "f, b", form.weights = "i, o", form.result = "f, b";
  form.batchGroups = static_cast<int64_t>(op.getGroup());
  form.strides = dilations, form.dilations = strides;
  for (size_t dim = 0; dim < count; ++dim) {
    auto at = static_cast<unsigned>(dim) + 2;
    int64_t used = (op.getKernelShape()[dim] - 1) * dilations[dim] + (dy.size(at) - 1) * strides[dim] + 1;
    form.before.push_back(pads[dim]), form.behind.push_back(used - x.size(at) - pads[dim]);
    form.dataDilations.push_back(1);
  }
  return form.of(x, dy, op.getDW().getType());
}

Hlo padSpace(Hlo x, const Windows &windows, double value) {
  for (auto [dim, window] : llvm::enumerate(windows))
    x = pad(x, static_cast<unsigned>(dim) + 2, window.padBegin, window.padEnd, value);
  return x;
}
/// One number for each dim of a tensor with batch and channels in front.
template <typename Number>
HloDims ofDims(const Windows &windows, Number number) {
  HloDims dims = {1, 1};
  for (const WindowDim &window : windows)
    dims.push_back(number(window));
  return dims;
}
Hlo pooled(Combiner combiner, Hlo x, const Windows &windows) {
  return reduceWindow(combiner, x, ofDims(windows, [](const WindowDim &w) { return w.kernel; }),
                      ofDims(windows, [](const WindowDim &w) { return w.stride; }),
                      ofDims(windows, [](const WindowDim &w) { return w.dilation; }));
}
double lowestOf(Hlo x) {
  return x.isFloat() ? -std::numeric_limits<double>::infinity() : x.element().isUnsignedInteger() ? 0 : -128;
}

HloList maxPool(MaxPoolOp op, HloWriter &h) {
  Hlo x = h(op.getX());
  auto windows = windowsOf(op, spaceOf(op.getX()), {}, spaceOf(op.getY()));
  if (!windows || !isAbsent(op.getIndices()))
    return h.refuse("places of the greatest elements");
  return {pooled(Combiner::Max, padSpace(x, *windows, lowestOf(x)), *windows), Hlo()};
}

/// A place of the first window, by dim of the space.
HloDims placeOf(const Windows &windows, int64_t place) {
  HloDims begins;
  for (const WindowDim &window : llvm::reverse(windows)) {
    begins.insert(begins.begin(), place % window.kernel * window.dilation);
    place /= window.kernel;
  }
  return begins;
}
/// The elements of \p padded at the same place of all windows.
Hlo atPlace(Hlo padded, const Windows &windows, int64_t place) {
  HloDims begins = placeOf(windows, place);
  for (auto [dim, window] : llvm::enumerate(windows))
    padded = slice(padded, static_cast<unsigned>(dim) + 2, begins[dim],
                   begins[dim] + (window.output - 1) * window.stride + 1, window.stride);
  return padded;
}

/// The gradient goes to the first greatest element of each window: one pass over the places in a window finds it,
/// another brings the gradient there. Elements are not held against the greatest one: XLA computes them again in other
/// kernels, with other roundings, and then no element may equal it.
HloList maxPoolGradient(MaxPoolGradOp op, HloWriter &h) {
  Hlo x = h(op.getX()), dy = h(op.getDY());
  auto windows = windowsOf(op, spaceOf(op.getX()), {}, spaceOf(op.getDY()));
  if (!windows)
    return h.refuse("windows that cannot be read");
  Hlo padded = padSpace(x, *windows, lowestOf(x)), greatest = atPlace(padded, *windows, 0), total;
  mlir::Type number = mlir::IntegerType::get(op.getContext(), 64);
  Hlo found = filled(h, number, dimsOf(op.getDY()), 0);
  int64_t count = 1;
  for (const WindowDim &window : *windows)
    count *= window.kernel;
  for (int64_t place = 1; place < count; ++place) {
    Hlo own = atPlace(padded, *windows, place), isGreater = compare(own, "GT", greatest);
    found = select(isGreater, filled(found, static_cast<double>(place)), found);
    greatest = select(isGreater, own, greatest);
  }
  for (int64_t place = 0; place < count; ++place) {
    HloDims begins = placeOf(*windows, place), low = {0, 0}, high = {0, 0}, between = {0, 0};
    for (auto [dim, window] : llvm::enumerate(*windows)) {
      low.push_back(begins[dim]), between.push_back(window.stride - 1);
      high.push_back(padded.size(static_cast<unsigned>(dim) + 2) - begins[dim] - (window.output - 1) * window.stride -
                     1);
    }
    Hlo isHere = compare(found, "EQ", filled(found, static_cast<double>(place)));
    Hlo spread = h.add(
        "stablehlo.pad", {select(isHere, dy, filled(dy, 0)), filled(h, dy.element(), {}, 0)}, padded.type(),
        {h.ints("edge_padding_low", low), h.ints("edge_padding_high", high), h.ints("interior_padding", between)});
    total = total ? total + spread : spread;
  }
  for (auto [dim, window] : llvm::enumerate(*windows))
    total = slice(total, static_cast<unsigned>(dim) + 2, window.padBegin, window.padBegin + window.input);
  return total;
}

/// The number of elements in each window; padding counts, or does not.
Hlo countsOf(Hlo like, const Windows &windows, bool countsPadding, HloWriter &h) {
  HloDims dims = ofDims(windows, [](const WindowDim &w) { return w.input; });
  return pooled(Combiner::Sum, padSpace(filled(h, like.element(), dims, 1), windows, countsPadding ? 1 : 0), windows);
}

HloList averagePool(AveragePoolOp op, HloWriter &h) {
  Hlo x = h(op.getX());
  auto windows = windowsOf(op, spaceOf(op.getX()), {}, spaceOf(op.getY()));
  if (!windows || (op.getCountIncludePad() != 0 && op.getCeilMode() != 0))
    return h.refuse("windows beyond the padding that counts");
  Hlo sums = pooled(Combiner::Sum, padSpace(x, *windows, 0), *windows);
  if (auto whole = op.getWholeKernel()) {
    int64_t count = 1;
    for (int64_t size : *whole)
      count *= size;
    return sums / static_cast<double>(count);
  }
  return sums / countsOf(x, *windows, op.getCountIncludePad() != 0, h);
}

HloList averagePoolGradient(AveragePoolGradOp op, HloWriter &h) {
  Hlo dy = h(op.getDY());
  auto windows = windowsOf(op, op.getDataShape(), {}, spaceOf(op.getDY()));
  if (!windows || (op.getCountIncludePad() != 0 && op.getCeilMode() != 0))
    return h.refuse("windows beyond the padding that counts");
  Hlo shares = dy / countsOf(dy, *windows, op.getCountIncludePad() != 0, h);
  HloDims strides, dilations, begins, kernel = {1, 1}, planes = {dy.size(0) * dy.size(1), 1}, data = planes;
  for (const WindowDim &window : *windows) {
    strides.push_back(window.stride), dilations.push_back(window.dilation), begins.push_back(window.padBegin);
    kernel.push_back(window.kernel), planes.push_back(window.output), data.push_back(window.input);
  }
  Hlo spread = spreadOver(reshape(shares, planes), filled(h, dy.element(), kernel, 1), 1, strides, dilations, begins,
                          mlir::RankedTensorType::get(data, dy.element()));
  return reshape(spread, dimsOf(op.getDX()));
}

HloList globalAveragePool(GlobalAveragePoolOp op, HloWriter &h) {
  Hlo x = h(op.getX());
  int64_t own = 1;
  HloDims space = llvm::to_vector<6>(llvm::seq<int64_t>(2, x.numDims()));
  for (int64_t dim : space)
    own *= x.size(static_cast<unsigned>(dim));
  return sum(x, space, true) / static_cast<double>(op.getCount().value_or(static_cast<uint64_t>(own)));
}

/// Each point of the result is one of the operand: by whole factors, rounded down.
HloList resize(ResizeOp op, HloWriter &h) {
  Hlo x = h(op.getX());
  llvm::ArrayRef<int64_t> dims = dimsOf(op.getY());
  if (op.getMode() != "nearest" || op.getCoordinateTransformationMode() != "asymmetric" ||
      op.getNearestMode() != "floor")
    return h.refuse("other than nearest neighbours, rounded down");
  for (unsigned dim = 0; dim < x.numDims(); ++dim) {
    if (dims[dim] % x.size(dim) != 0)
      return h.refuse("sizes that are no multiples");
    HloDims wide(x.dims()), joined(x.dims()), places;
    wide.insert(wide.begin() + dim + 1, dims[dim] / x.size(dim));
    joined[dim] = dims[dim];
    for (unsigned place = 0; place < wide.size(); ++place)
      if (place != dim + 1)
        places.push_back(place);
    x = dims[dim] == x.size(dim) ? x : reshape(broadcastInDim(x, wide, places), joined);
  }
  return x;
}

constexpr HloLowering rows[] = {
    hloRow<ConvOp, conv>(),
    hloRow<ConvInputGradOp, convInputGradient>(),
    hloRow<ConvWeightGradOp, convWeightGradient>(),
    hloRow<ConvTransposeOp, convTranspose>(),
    hloRow<MaxPoolOp, maxPool>(),
    hloRow<MaxPoolGradOp, maxPoolGradient>(),
    hloRow<AveragePoolOp, averagePool>(),
    hloRow<AveragePoolGradOp, averagePoolGradient>(),
    hloRow<GlobalAveragePoolOp, globalAveragePool>(),
    hloRow<ResizeOp, resize>(),
};

} // namespace
} // namespace hlo

llvm::ArrayRef<HloLowering> hloConvolution();
llvm::ArrayRef<HloLowering> hloConvolution() { return hlo::rows; }

} // namespace apc
