// Kernels of Resize and Upsample: each dim in turn, every point of the result mixed from points of the operand.
#include "Convolution.h"
#include "Resize.h"
#include "Taps.h"
#include "WindowWalk.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

/// The attributes, with the behaviour of older opsets that lack them.
struct ResizeMode {
  llvm::StringRef transformation, mode, nearest;
  bool antialias = false, excludeOutside = false;
  double cubicA = -0.75;
};

/// One dim with the part [begin, end] that is read, in shares of the whole.
struct ResizeDim {
  Resized resized;
  int64_t length = 1;
  double begin = 0, end = 1;
};

/// The place in the operand of point x of the result; empty outside of the region of tf_crop_and_resize.
std::optional<double> originalOf(int64_t x, const ResizeDim &dim, llvm::StringRef transformation) {
  auto at = static_cast<double>(x), length = static_cast<double>(dim.length);
  auto size = static_cast<double>(dim.resized.size);
  double scale = dim.resized.scale, exactSize = scale * length;
  if (transformation == "align_corners")
    return exactSize == 1 ? 0 : at * (length - 1) / (exactSize - 1);
  if (transformation == "asymmetric")
    return at / scale;
  if (transformation == "tf_half_pixel_for_nn")
    return (at + 0.5) / scale;
  if (transformation == "tf_crop_and_resize") {
    double part = (dim.end - dim.begin) * (length - 1);
    double original = (size == 1 ? part / 2 : at * part / (size - 1)) + dim.begin * (length - 1);
    return original < 0 || original > length - 1 ? std::nullopt : std::optional(original);
  }
  if (transformation == "pytorch_half_pixel" && exactSize == 1)
    return -0.5;
  double offset = transformation == "half_pixel_symmetric" ? length / 2 * (1 - size / exactSize) : 0;
  return offset + (at + 0.5) / scale - 0.5;
}

/// The share of the upper of two neighbours, `ratio` in (0, 1] from the lower: 0 or 1.
double nearestShare(double ratio, llvm::StringRef mode) {
  if (ratio == 1 || mode == "ceil")
    return 1;
  if (mode == "floor")
    return 0;
  return mode == "round_prefer_ceil" ? ratio >= 0.5 : ratio > 0.5;
}

/// Points outside of the dim are read as its first or last, or take no part.
Taps tapsAt(double at, const ResizeDim &dim, const ResizeMode &mode) {
  double below = std::ceil(at) - 1, ratio = at - below;
  bool isCubic = mode.mode == "cubic", isNearest = mode.mode == "nearest";
  // An antialiasing filter is as wide as the points of the result are apart.
  double scale = mode.antialias && !isNearest ? std::min(dim.resized.scale, 1.0) : 1;
  auto start = static_cast<int64_t>(std::floor(-(isCubic ? 2.0 : 1.0) / scale)) + 1;
  Taps taps;
  double sum = 0;
  for (int64_t offset = start; offset <= 1 - start; ++offset) {
    double distance = scale * (static_cast<double>(offset) - ratio);
    double weight = isCubic ? cubicWeight(distance, mode.cubicA) : std::clamp(1 - std::fabs(distance), 0.0, 1.0);
    if (isNearest)
      weight = offset == 1 ? nearestShare(ratio, mode.nearest) : 1 - nearestShare(ratio, mode.nearest);
    int64_t index = static_cast<int64_t>(below) + offset, nearest = std::clamp<int64_t>(index, 0, dim.length - 1);
    if (weight == 0 || (mode.excludeOutside && index != nearest))
      continue;
    taps.push_back({nearest, weight});
    sum += weight;
  }
  for (Tap &tap : taps)
    tap.weight /= sum;
  return taps;
}

/// `data` [outer, length, inner] with the dim in the middle resized.
std::vector<double> resizeDim(const std::vector<double> &data, int64_t outer, int64_t inner, const ResizeDim &dim,
                              const ResizeMode &mode, double extrapolated) {
  std::vector<double> result(outer * dim.resized.size * inner, 0);
  for (int64_t x = 0; x < dim.resized.size; ++x) {
    auto at = originalOf(x, dim, mode.transformation);
    Taps taps = at ? tapsAt(*at, dim, mode) : Taps();
    for (int64_t line = 0; line < outer; ++line) {
      double *to = result.data() + (line * dim.resized.size + x) * inner;
      if (!at)
        std::fill(to, to + inner, extrapolated);
      for (const Tap &tap : taps)
        for (int64_t i = 0; i < inner; ++i)
          to[i] += tap.weight * data[(line * dim.length + tap.index) * inner + i];
    }
  }
  return result;
}

/// All dims with the region that operand `region` gives; empty when the region is needed and not known.
std::optional<llvm::SmallVector<ResizeDim, 5>> readDims(mlir::Operation *op, Operands operands, bool crops) {
  auto resized = readResize(op);
  auto axes = resizedAxes(op, operands[0]->dims.size());
  if (mlir::failed(resized) || mlir::failed(axes))
    return std::nullopt;
  llvm::SmallVector<ResizeDim, 5> dims;
  for (auto [dim, length] : llvm::zip_equal(*resized, operands[0]->dims))
    dims.push_back({dim, length});
  if (!crops)
    return dims;
  unsigned index = resizeOperands(op).region;
  const Tensor *region = index < operands.size() ? operands[index] : nullptr;
  if (!region || region->numElements() != static_cast<int64_t>(2 * axes->size()))
    return std::nullopt;
  for (auto [position, dim] : llvm::enumerate(*axes)) {
    dims[dim].begin = getElement(*region, static_cast<int64_t>(position)).asReal();
    dims[dim].end = getElement(*region, static_cast<int64_t>(position + axes->size())).asReal();
  }
  return dims;
}

ResizeMode modeOf(mlir::Operation *op) {
  if (auto upsample = llvm::dyn_cast<UpsampleOp>(op))
    return {"asymmetric", upsample.getMode() == "bilinear" ? "linear" : upsample.getMode(), ""};
  auto resize = llvm::cast<ResizeOp>(op);
  if (resize.getOpsetVersion() < 11)
    return {"asymmetric", resize.getMode(), ""};
  return {resize.getCoordinateTransformationMode(),
          resize.getMode(),
          resize.getNearestMode(),
          resize.getAntialias() != 0,
          resize.getExcludeOutside() != 0,
          resize.getCubicCoeffA().convertToDouble()};
}

/// The mode of one dim: before opset 11, shrinking took the next point, growing the one before.
ResizeMode modeOf(const ResizeMode &mode, const ResizeDim &dim) {
  ResizeMode own = mode;
  if (own.nearest.empty())
    own.nearest = dim.resized.scale < 1 ? "ceil" : "floor";
  return own;
}

Evaluated evaluateResize(mlir::Operation *op, Operands operands, double extrapolated) {
  if (!operands[0])
    return std::nullopt;
  ResizeMode mode = modeOf(op);
  auto dims = readDims(op, operands, mode.transformation == "tf_crop_and_resize");
  if (!dims)
    return std::nullopt;
  std::vector<double> values = realsOf(*operands[0]);
  int64_t outer = 1;
  for (auto [index, dim] : llvm::enumerate(*dims)) {
    int64_t inner = 1;
    for (int64_t size : llvm::ArrayRef(operands[0]->dims).drop_front(index + 1))
      inner *= size;
    if (dim.resized.moved && dim.length > 0)
      values = resizeDim(values, outer, inner, dim, modeOf(mode, dim), extrapolated);
    outer *= dim.resized.size;
  }
  return evaluatedAsReals(op, std::move(values));
}

/// [size, length]: how much of each point of the operand is in each point of the result.
Tensor sharesOf(const ResizeDim &dim, const ResizeMode &mode, mlir::Type element) {
  Tensor shares = zeros(mlir::RankedTensorType::get({dim.resized.size, dim.length}, element));
  for (int64_t x = 0; x < dim.resized.size; ++x)
    if (auto at = originalOf(x, dim, mode.transformation))
      for (const Tap &tap : tapsAt(*at, dim, mode))
        shares.floats[x * dim.length + tap.index] += tap.weight;
  roundToElement(shares);
  return shares;
}

} // namespace

Evaluated ResizeOp::evaluate(Operands operands) {
  return evaluateResize(*this, operands, getOpsetVersion() < 11 ? 0 : getExtrapolationValue().convertToDouble());
}

Evaluated UpsampleOp::evaluate(Operands operands) { return evaluateResize(*this, operands, 0); }

bool differentiateResize(GradientBuilder &g) {
  mlir::Operation *op = g.getForward();
  std::vector<Tensor> constants(op->getNumOperands());
  llvm::SmallVector<const Tensor *, 4> operands(op->getNumOperands());
  constants[0].dims.assign(dimsOf(op->getOperand(0)).begin(), dimsOf(op->getOperand(0)).end());
  operands[0] = constants.data();
  for (unsigned i = 1; i < op->getNumOperands(); ++i)
    if (mlir::DenseElementsAttr value = constantOf(op->getOperand(i))) {
      constants[i] = Tensor::read(value);
      operands[i] = &constants[i];
    }
  ResizeMode mode = modeOf(op);
  auto dims = readDims(op, operands, mode.transformation == "tf_crop_and_resize");
  constexpr int64_t maxElements = int64_t(1) << 20;
  constexpr size_t maxDims = 20;
  if (!dims)
    return g.refuse("operand 'roi' is no constant, and a constant one is accepted");
  if (dims->size() > maxDims)
    return false;
  mlir::Value gradient = g.incoming();
  std::string letters;
  for (size_t dim = 0; dim < dims->size(); ++dim)
    letters += static_cast<char>('a' + dim);
  for (auto [index, dim] : llvm::enumerate(*dims)) {
    if (!dim.resized.moved)
      continue;
    if (dim.resized.size * dim.length > maxElements)
      return false;
    Tensor shares = sharesOf(dim, modeOf(mode, dim), mlir::getElementTypeOrSelf(gradient));
    mlir::Value matrix = g.make<ConstantOp>({}, g.attribute("value", shares.toAttribute()));
    std::string after = letters;
    after[index] = 'z';
    gradient = g.einsum(letters + "," + letters[index] + "z->" + after, {gradient, matrix});
  }
  g.give(0, gradient);
  return true;
}

} // namespace apc
