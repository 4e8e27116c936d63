// Gradients of operators that pick points of a feature map.
#include "../Attributes.h"
#include "../ForwardAttributes.h"
#include "Convolution.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

namespace {

using Attributes = llvm::SmallVector<mlir::NamedAttribute, 8>;
using Ints = llvm::SmallVector<int64_t, 8>;

/// The places of `I` count in the sizes that follow from the windows: what arrives, brought to these, zeros where it
/// ends before.
mlir::Value cutToPlaces(GradientBuilder &g, llvm::ArrayRef<int64_t> sizes) {
  mlir::Value arriving = g.incoming();
  Ints pads(2 * sizes.size(), 0);
  for (auto [dim, size] : llvm::enumerate(sizes))
    pads[sizes.size() + dim] = size - dimsOf(arriving)[dim];
  if (llvm::all_of(pads, [](int64_t pad) { return pad == 0; }))
    return arriving;
  return g.make<PadOp>({arriving, g.integers(pads), g.absent(), g.absent()});
}

} // namespace

// Each maximum takes what arrives at the place that it was put to; places before the first are none.
bool MaxUnpoolOp::differentiate(GradientBuilder &g) {
  auto windows = readWindowAttributes(*this, dimsOf(getX()).drop_front(2), {});
  if (mlir::failed(windows))
    return false;
  Ints sizes(dimsOf(getX()).take_front(2));
  for (const WindowDim &window : *windows)
    sizes.push_back((window.input - 1) * window.stride + window.span() - window.padBegin - window.padEnd);
  mlir::Value flat = g.make<ReshapeOp>({cutToPlaces(g, sizes), g.integers({-1})});
  mlir::Value isPlace = g.make<GreaterOrEqualOp>({getI(), g.scalar(0, getI())});
  g.give(0, g.where(isPlace, g.make<GatherOp>({flat, getI()}, g.attribute("axis", 0))));
  return true;
}

// A grid is the map's points, 1 behind their coordinates, times theta.
bool AffineGridOp::differentiate(GradientBuilder &g) {
  mlir::Value theta = getTheta(), arriving = g.incoming();
  llvm::ArrayRef<int64_t> dims = dimsOf(arriving);
  int64_t space = dims.back();
  Tensor identity = zeros(mlir::RankedTensorType::get({1, space, space + 1}, mlir::getElementTypeOrSelf(theta)));
  for (int64_t i = 0; i < space; ++i)
    identity.floats[i * (space + 1) + i] = 1;
  Ints size = {1, 1}, column(dims);
  llvm::append_range(size, dims.drop_front().drop_back());
  column.front() = column.back() = 1;
  mlir::Value points =
      g.make<AffineGridOp>({g.make<ConstantOp>({}, g.attribute("value", identity.toAttribute())), g.integers(size)},
                           g.attribute("align_corners", getAlignCornersAttr()));
  mlir::Value ones = g.make<ExpandOp>({g.scalar(1, theta), g.integers(column)});
  points = g.make<ConcatOp>({points, ones}, g.attribute("axis", -1));
  std::string inside = space == 2 ? "yx" : "zyx";
  g.give(0, g.einsum("n" + inside + "i,m" + inside + "j->nij", {arriving, points}));
  return true;
}

bool Col2ImOp::differentiate(GradientBuilder &g) {
  auto block = constantInts(getBlockShape());
  if (!block)
    return g.refuse("operand 'block_shape' is made as the model runs, and a constant one is accepted");
  Attributes attributes = forwardAttributes(g, {"dilations", "pads", "strides"});
  attributes.push_back(g.attribute("kernel_shape", llvm::ArrayRef<int64_t>(*block)));
  g.give(0, g.make<Im2ColOp>({g.incoming()}, attributes));
  return true;
}

// The nearest points do not move with the grid.
bool GridSampleOp::differentiate(GradientBuilder &g) {
  Attributes attributes = forwardAttributes(g, {"align_corners", "mode", "padding_mode"});
  if (g.wants(1) && getMode() != "nearest")
    g.give(1, g.make<GridSampleGridGradOp>({g.incoming(), getX(), getGrid()}, attributes));
  attributes.push_back(g.attribute("data_shape", dimsOf(getX()).drop_front(2)));
  if (g.wants(0))
    g.give(0, g.make<GridSampleInputGradOp>({g.incoming(), getGrid()}, attributes));
  return true;
}

bool MaxRoiPoolOp::differentiate(GradientBuilder &g) {
  if (g.wants(0))
    g.give(0, g.make<MaxRoiPoolGradOp>({g.incoming(), getX(), getRois()}, forwardAttributes(g, {"spatial_scale"})));
  return true;
}

bool RoiAlignOp::differentiate(GradientBuilder &g) {
  Attributes attributes = forwardAttributes(
      g, {"coordinate_transformation_mode", "mode", "sampling_ratio", "spatial_scale", "opset_version"});
  llvm::ArrayRef<int64_t> map = dimsOf(getX());
  attributes.push_back(g.attribute("data_shape", llvm::ArrayRef<int64_t>{map[0], map[2], map[3]}));
  if (g.wants(0))
    g.give(0, g.make<RoiAlignGradOp>(
                  {g.incoming(), getMode() == "max" ? getX() : g.absent(), getRois(), getBatchIndices()}, attributes));
  return true;
}

} // namespace apc
