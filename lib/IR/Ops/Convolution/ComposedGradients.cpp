// Gradients of convolutions with more in them: sums and activations, windows that look where offsets send them.
#include "../Elementwise/Activation.h"
#include "../ForwardAttributes.h"
#include "Convolution.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"

namespace apc {

// y = activation(conv(X, W) + B + Z). Where the activation needs its operand, that is computed once more.
bool FusedConvOp::differentiate(GradientBuilder &g) {
  auto sizes = readConvolution(*this, {.summand = 3});
  if (mlir::failed(sizes))
    return false;
  llvm::ArrayRef<float> parameters = getActivationParams().value_or(llvm::ArrayRef<float>());
  auto parameter = [&](size_t index) {
    return index < parameters.size() ? std::optional<double>(parameters[index]) : std::nullopt;
  };
  Activation activation{getActivation().value_or(""), parameter(0), parameter(1), parameter(2)};
  auto sum = [&] {
    auto attributes = forwardAttributes(g, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
    mlir::Value product = g.make<ConvOp>({getX(), getW(), getB()}, attributes);
    return isAbsent(getZ()) ? product : g.add(product, getZ());
  };
  mlir::Value arriving = activation.gradient(g, g.incoming(), g.result(), sum);
  if (!arriving)
    return g.refuse("attribute 'activation' is '" + activation.name + "', and " + knownActivations() + " are accepted");
  giveConvolution(g, *sizes, arriving);
  if (g.wants(3))
    g.give(3, arriving);
  return true;
}

namespace {

using mlir::Value;
using Dims = llvm::SmallVector<int64_t, 8>;

/// A deformable convolution as a sample of the map at a grid, times the mask, times the weights. Runs of channels that
/// share offsets count as samples; points of the window stand with the first dim of space:
///
///   map [n', c', h, w], grid [n', k y, x, 2], mask [n', 1, k y, x], columns [n, g, c, k, y, x]
class DeformedProduct {
public:
  DeformedProduct(GradientBuilder &g, DeformConvOp op, const ConvolutionSizes &sizes);

  void give();

private:
  Value reshape(Value value, Dims dims) {
    return dimsOf(value) == llvm::ArrayRef<int64_t>(dims)
               ? value
               : g.make<ReshapeOp>({value, g.integers(dims)}, g.attribute("allowzero", 1));
  }
  static Dims joined(Dims first, llvm::ArrayRef<int64_t> rest) {
    first.append(rest.begin(), rest.end());
    return first;
  }
  Value constant(Tensor tensor) {
    roundToElement(tensor);
    return g.make<ConstantOp>({}, g.attribute("value", tensor.toAttribute()));
  }
  size_t space() const { return outputs.size(); }
  /// In 32 bits at least, so that positions are exact.
  mlir::Type gridElement() {
    mlir::Type element = mlir::getElementTypeOrSelf(op.getOffset());
    return element.getIntOrFloatBitWidth() < 32 ? mlir::Float32Type::get(g.getContext()) : element;
  }
  Tensor ofGrid(Dims dims) { return zeros(mlir::RankedTensorType::get(dims, gridElement())); }

  Value turned();
  Value windowPositions(size_t dim);
  Value points();
  Value normalized(Value points);
  Value masked(Value sampled) { return mask ? g.mul(sampled, mask) : sampled; }

  Value ofColumns();
  void giveWeights(Value sampled);
  void giveMask(Value sampled);
  void giveOffsets(Value ofGrid);

  GradientBuilder &g;
  DeformConvOp op;
  const ConvolutionSizes &sizes;
  int64_t samples, kernel = 1;
  Dims outputs, merged; ///< of space; with the points of the window in the first
  std::string letters;  ///< of `outputs`
  Value map, at, mask, arriving, columnGradient;
};

DeformedProduct::DeformedProduct(GradientBuilder &g, DeformConvOp op, const ConvolutionSizes &sizes)
    : g(g), op(op), sizes(sizes), samples(sizes.batch * sizes.offsetGroups) {
  Dims map = {samples, sizes.groups * sizes.inputs / sizes.offsetGroups};
  for (const WindowDim &window : sizes.windows) {
    kernel *= window.kernel;
    outputs.push_back(window.output);
    map.push_back(window.input);
    letters += static_cast<char>('t' + letters.size());
  }
  merged = outputs;
  merged.front() *= kernel;
  this->map = reshape(op.getX(), map);
  at = points();
  if (!isAbsent(op.getMask()))
    mask = reshape(op.getMask(), joined({samples, 1}, merged));
  arriving = reshape(g.incoming(), joined({sizes.batch, sizes.groups, sizes.outputs}, outputs));
}

/// The offsets of dim i of space are coordinate j of the grid: it begins with the last dim.
Value DeformedProduct::turned() {
  Tensor turn = ofGrid({static_cast<int64_t>(space()), static_cast<int64_t>(space())});
  for (size_t dim = 0; dim < space(); ++dim)
    turn.floats[dim * space() + space() - 1 - dim] = 1;
  return constant(std::move(turn));
}

/// [k, y, 1, 2] or [k, 1, x, 2]: coordinates along one dim of space, zeros in the others.
Value DeformedProduct::windowPositions(size_t dim) {
  const WindowDim &window = sizes.windows[dim];
  Dims dims(space() + 2, 1);
  dims.front() = kernel;
  dims[dim + 1] = window.output;
  dims.back() = static_cast<int64_t>(space());
  int64_t inner = 1;
  for (const WindowDim &later : llvm::ArrayRef(sizes.windows).drop_front(dim + 1))
    inner *= later.kernel;
  Tensor positions = ofGrid(dims);
  for (int64_t point = 0; point < kernel; ++point)
    for (int64_t output = 0; output < window.output; ++output)
      positions.floats[(point * window.output + output) * dims.back() + dims.back() - 1 - static_cast<int64_t>(dim)] =
          static_cast<double>(output * window.stride + point / inner % window.kernel * window.dilation -
                              window.padBegin);
  return constant(std::move(positions));
}

/// Positions in points of the map.
Value DeformedProduct::points() {
  Dims apart = joined({samples, kernel, static_cast<int64_t>(space())}, outputs);
  Value offsets = reshape(op.getOffset(), apart);
  if (mlir::getElementTypeOrSelf(offsets) != gridElement())
    offsets = g.make<CastOp>({offsets}, g.attribute("to", dataType(gridElement())));
  Value points = g.einsum("nki" + letters + ",ij->nk" + letters + "j", {offsets, turned()});
  for (size_t dim = 0; dim < space(); ++dim)
    points = g.add(points, windowPositions(dim));
  return reshape(points, joined(joined({samples}, merged), static_cast<int64_t>(space())));
}

/// The same from -1 to 1: (2 x + 1) / size - 1.
Value DeformedProduct::normalized(Value points) {
  Tensor factor = ofGrid({static_cast<int64_t>(space())}), shift = factor;
  for (auto [dim, window] : llvm::enumerate(sizes.windows)) {
    auto size = static_cast<double>(window.input);
    factor.floats[space() - 1 - dim] = 2 / size;
    shift.floats[space() - 1 - dim] = 1 / size - 1;
  }
  return g.add(g.mul(points, constant(std::move(factor))), constant(std::move(shift)));
}

void DeformedProduct::give() {
  bool ofMask = !isAbsent(op.getMask()) && g.wants(4);
  if (g.wants(1) || ofMask) {
    Value sampled = g.make<GridSampleOp>({map, normalized(at)});
    if (g.wants(1))
      giveWeights(sampled);
    if (ofMask)
      giveMask(sampled);
  }
  if (!g.wants(0) && !g.wants(2))
    return;
  Value ofSampled = masked(ofColumns());
  mlir::NamedAttribute inPoints = g.attribute("in_points", 1);
  if (g.wants(0)) {
    mlir::NamedAttribute shape = g.attribute("data_shape", dimsOf(op.getX()).drop_front(2));
    g.give(0, g.reshapeTo(g.make<GridSampleInputGradOp>({ofSampled, at}, {shape, inPoints}), op.getX()));
  }
  if (g.wants(2))
    giveOffsets(g.make<GridSampleGridGradOp>({ofSampled, map, at}, inPoints));
}

Value DeformedProduct::ofColumns() {
  if (!columnGradient) {
    Value weights = reshape(op.getW(), {sizes.groups, sizes.outputs, sizes.inputs, kernel});
    columnGradient = g.einsum("ngo" + letters + ",gock->ngck" + letters, {arriving, weights});
    columnGradient = reshape(columnGradient, joined(Dims(dimsOf(map).take_front(2)), merged));
  }
  return columnGradient;
}

void DeformedProduct::giveWeights(Value sampled) {
  Value columns = reshape(masked(sampled), joined({sizes.batch, sizes.groups, sizes.inputs, kernel}, outputs));
  Value product = g.einsum("ngo" + letters + ",ngck" + letters + "->gock", {arriving, columns});
  g.give(1, g.reshapeTo(product, op.getW()));
}

void DeformedProduct::giveMask(Value sampled) {
  Value product = g.einsum("nc" + letters + ",nc" + letters + "->n" + letters, {ofColumns(), sampled});
  g.give(4, g.reshapeTo(product, op.getMask()));
}

void DeformedProduct::giveOffsets(Value ofGrid) {
  Value apart = reshape(ofGrid, joined(joined({samples, kernel}, outputs), static_cast<int64_t>(space())));
  Value back = g.einsum("nk" + letters + "j,ij->nki" + letters, {apart, turned()});
  g.give(2, g.castTo(g.reshapeTo(back, op.getOffset()), op.getOffset()));
}

} // namespace

bool DeformConvOp::differentiate(GradientBuilder &g) {
  auto sizes = readConvolution(*this, {.bias = 3, .deformable = true});
  constexpr size_t mostDims = 6; // letters t to y
  if (mlir::failed(sizes) || sizes->windows.size() > mostDims)
    return false;
  if (llvm::any_of(std::initializer_list<unsigned>{0, 1, 2, 4}, [&](unsigned operand) { return g.wants(operand); }))
    DeformedProduct(g, *this, *sizes).give();
  giveBias(g, 3, g.incoming());
  return true;
}

} // namespace apc
