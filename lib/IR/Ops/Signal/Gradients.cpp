// Gradients of Fourier transforms, which are transforms the other way, and of determinants, which are cofactors.
#include "Signal.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

#include <numeric>

namespace apc {

namespace {

using mlir::Value;

Value reshaped(GradientBuilder &g, Value value, llvm::ArrayRef<int64_t> dims) {
  if (dimsOf(value) == dims)
    return value;
  return g.make<ReshapeOp>({value, g.integers(dims)}, g.attribute("allowzero", int64_t(1)));
}

/// The first `size` elements of a dim, with zeros behind those that are there.
Value fitted(GradientBuilder &g, Value value, size_t dim, int64_t size) {
  int64_t found = dimsOf(value)[dim];
  Value axis = g.integers({static_cast<int64_t>(dim)});
  if (found < size)
    return g.make<PadOp>({value, g.integers({0, size - found}), g.absent(), axis});
  if (found > size)
    return g.make<SliceOp>({value, g.integers({0}), g.integers({size}), axis, g.absent()});
  return value;
}

/// Real and imaginary parts, or real ones alone.
Value withParts(GradientBuilder &g, Value value, int64_t parts) {
  return fitted(g, value, dimsOf(value).size() - 1, parts);
}

struct Direction {
  bool inverse = false, onesided = false;
};

Value transformed(GradientBuilder &g, Value points, size_t dim, int64_t length, Direction direction) {
  return g.make<DFTOp>({points, g.integers({length}), g.integers({static_cast<int64_t>(dim)})},
                       {g.attribute("inverse", static_cast<int64_t>(direction.inverse)),
                        g.attribute("onesided", static_cast<int64_t>(direction.onesided))});
}

Value scaled(GradientBuilder &g, Value value, double factor) { return g.mul(value, g.scalar(factor, value)); }

/// How often a transform back from half a spectrum of `length` points counts each of them, over `length`: those whose
/// mirror image is another point twice. Broadcasts along the dims behind `dim`.
Value sharesOfHalf(GradientBuilder &g, Value half, size_t dim, int64_t length) {
  llvm::SmallVector<int64_t, 4> dims(dimsOf(half).drop_front(dim));
  std::fill(dims.begin() + 1, dims.end(), 1);
  Tensor shares = zeros(mlir::RankedTensorType::get(dims, mlir::getElementTypeOrSelf(half)));
  for (auto [k, share] : llvm::enumerate(shares.floats)) {
    auto mirrored = (length - static_cast<int64_t>(k)) % length;
    share = (mirrored == static_cast<int64_t>(k) ? 1.0 : 2.0) / static_cast<double>(length);
  }
  roundToElement(shares);
  return g.make<ConstantOp>({}, g.attribute("value", shares.toAttribute()));
}

} // namespace

// Of y[k] = sum of x[j] w^(jk) with w of length 1 the gradient for x[j] is the sum of g[k] conj(w)^(jk), which the
// transform the other way gives but for the factor. Points behind the transformed ones have none, and the imaginary
// parts of real ones are dropped.
bool DFTOp::differentiate(GradientBuilder &g) {
  auto dft = readDft(*this);
  if (mlir::failed(dft))
    return false;
  bool isBack = getInverse() != 0, isHalf = isBack && getOnesided() != 0;
  auto length = static_cast<double>(dft->length);
  Value gradient = transformed(g, g.incoming(), dft->dim, dft->length, {.inverse = !isBack, .onesided = isHalf});
  gradient = isHalf ? g.mul(gradient, sharesOfHalf(g, gradient, dft->dim, dft->length))
                    : scaled(g, gradient, isBack ? 1 / length : length);
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  g.give(0, withParts(g, fitted(g, gradient, dft->dim, dims[dft->dim]), dims.back()));
  return true;
}

namespace {

/// The way back from the spectra of frames to the signal and the window.
class Frames {
public:
  Frames(GradientBuilder &g, const Stft &stft) : g(g), stft(stft), signal(dimsOf(g.operand(0))) {
    std::vector<int64_t> firsts(stft.frames), steps(stft.length);
    for (auto [frame, first] : llvm::enumerate(firsts))
      first = static_cast<int64_t>(frame) * stft.step;
    std::iota(steps.begin(), steps.end(), 0);
    places = g.add(reshaped(g, g.integers(firsts), {stft.frames, 1}), g.integers(steps));
    Value spectra = transformed(g, g.incoming(), 2, stft.length, {.inverse = true});
    frames = withParts(g, scaled(g, spectra, static_cast<double>(stft.length)), isComplex() ? 2 : 1);
  }

  /// Each point adds up what arrives at the frames that it is in.
  Value ofSignal() {
    Value shares = frames;
    if (Value window = g.operand(2); !isAbsent(window))
      shares = g.mul(frames, reshaped(g, fitted(g, window, 0, stft.length), {stft.length, 1}));
    llvm::SmallVector<int64_t, 4> dims(dimsOf(shares));
    if (signal.size() == 2)
      dims.pop_back();
    return g.make<GatherGradOp>({reshaped(g, shares, dims), places},
                                {g.attribute("shape", signal), g.attribute("axis", int64_t(1))});
  }

  Value ofWindow() {
    Value cut = g.make<GatherOp>({g.operand(0), places}, g.attribute("axis", int64_t(1)));
    Value products = g.mul(frames, reshaped(g, cut, dimsOf(frames)));
    Value sums = g.make<ReduceSumOp>({products, g.integers({0, 1, 3})}, g.attribute("keepdims", int64_t(0)));
    return fitted(g, sums, 0, dimsOf(g.operand(2))[0]);
  }

private:
  bool isComplex() const { return signal.size() == 3 && signal.back() == 2; }

  GradientBuilder &g;
  const Stft &stft;
  llvm::ArrayRef<int64_t> signal;
  Value places; ///< [frames, points of one]
  Value frames; ///< the gradient of what is transformed, [batch, frames, points, parts]
};

} // namespace

bool STFTOp::differentiate(GradientBuilder &g) {
  auto stft = readStft(*this);
  if (mlir::failed(stft))
    return false;
  Frames frames(g, *stft);
  if (g.wants(0))
    g.give(0, frames.ofSignal());
  if (g.wants(2))
    g.give(2, frames.ofWindow());
  return true;
}

bool DetOp::differentiate(GradientBuilder &g) {
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getX()));
  std::fill(dims.end() - 2, dims.end(), 1);
  g.give(0, g.mul(reshaped(g, g.incoming(), dims), g.make<CofactorsOp>({g.operand(0)})));
  return true;
}

} // namespace apc
