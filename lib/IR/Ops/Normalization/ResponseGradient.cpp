// The gradient of LRN: neighbouring channels as the windows of a pool.
#include "../Convolution/Convolution.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

namespace apc {

namespace {

using mlir::Value;
using Ints = llvm::SmallVector<int64_t, 6>;
using Attributes = llvm::SmallVector<mlir::NamedAttribute, 6>;

/// [n, c, h, w] as [n, h, w, c], [n, c] as [n, 1, c]: a pool sees two dims and then space, of which the channels are
/// the last.
Value channelsLast(GradientBuilder &g, Value value) {
  llvm::ArrayRef<int64_t> dims = dimsOf(value);
  if (dims.size() == 2)
    return g.make<ReshapeOp>({value, g.integers({dims[0], 1, dims[1]})}, g.attribute("allowzero", 1));
  Ints order = {0};
  for (size_t dim = 2; dim < dims.size(); ++dim)
    order.push_back(static_cast<int64_t>(dim));
  order.push_back(1);
  return g.make<TransposeOp>({value}, g.attribute("perm", llvm::ArrayRef<int64_t>(order)));
}

Value channelsSecond(GradientBuilder &g, Value value, Value like) {
  auto numDims = static_cast<int64_t>(dimsOf(like).size());
  if (numDims == 2)
    return g.reshapeTo(value, like);
  Ints order = {0, numDims - 1};
  for (int64_t dim = 1; dim < numDims - 1; ++dim)
    order.push_back(dim);
  return g.make<TransposeOp>({value}, g.attribute("perm", llvm::ArrayRef<int64_t>(order)));
}

/// Windows of `size` channels, padded so that there are as many of them as channels.
Attributes channelWindows(GradientBuilder &g, Value last, int64_t size) {
  size_t space = dimsOf(last).size() - 2;
  Ints kernel(space, 1), pads(2 * space, 0);
  kernel.back() = size;
  pads[space - 1] = (size - 1) / 2;
  pads.back() = size / 2;
  return {g.attribute("kernel_shape", llvm::ArrayRef<int64_t>(kernel)),
          g.attribute("pads", llvm::ArrayRef<int64_t>(pads)), g.attribute("count_include_pad", 1)};
}

} // namespace

// Of y = x d ^ -beta with d = bias + alpha * the mean of x^2 over a window of channels: g d ^ -beta - 2 alpha beta x *
// the sum of g x d ^ (-beta - 1) / size over the windows that the channel is in.
bool LRNOp::differentiate(GradientBuilder &g) {
  auto size = static_cast<int64_t>(getSize());
  if (size < 1)
    return false;
  double alpha = getAlpha().convertToDouble(), beta = getBeta().convertToDouble(), bias = getBias().convertToDouble();
  Value x = channelsLast(g, g.operand(0)), arriving = channelsLast(g, g.incoming());
  Attributes windows = channelWindows(g, x, size);
  Value means = g.make<AveragePoolOp>({g.mul(x, x)}, windows);
  Value divisor = g.add(g.mul(means, g.scalar(alpha, x)), g.scalar(bias, x));
  Value direct = g.mul(arriving, g.make<PowOp>({divisor, g.scalar(-beta, x)}));
  windows.push_back(g.attribute("data_shape", dimsOf(x).drop_front(2)));
  Value spread = g.make<AveragePoolGradOp>({g.div(g.mul(direct, x), divisor)}, windows);
  Value neighbours = g.mul(g.mul(spread, x), g.scalar(2 * alpha * beta, x));
  g.give(0, channelsSecond(g, g.sub(direct, neighbours), g.operand(0)));
  return true;
}

} // namespace apc
