// The Convolution family of operators: its classes and the C++ functions that its definitions name.
#pragma once

#include "../Attributes.h"
#include "Windows.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Localize.h"

namespace apc {

/// The roles of a convolution's operands, and the cuts that its sum allows.
struct ConvolutionForm {
  unsigned data = 0, weights = 1;
  /// The bias, one value for each output channel: checked and cut with them.
  unsigned bias = 2;
  /// A tensor of the result's shape that is added; ~0u for none.
  unsigned summand = ~0u;
  bool transposed = false;
  /// Operands 2 and 4 (offsets, mask) move the points of each window.
  bool deformable = false;
  /// False when the result is no sum over the input channels (rounded to integers, say): they must be whole.
  bool mayCutSum = true;
  /// Scales and zero points: of one element, and of one or one for each output channel.
  llvm::SmallVector<unsigned, 4> numbers = {}, perOutput = {};
};
/// Sizes of a convolution: X [batch, groups * inputs, ...], W [groups * outputs, inputs, ...] (transposed: [groups *
/// inputs, outputs, ...]). The windows of a transposed one stand on the result, one for each point of X.
struct ConvolutionSizes {
  int64_t batch = 1, groups = 1, inputs = 1, outputs = 1;
  int64_t offsetGroups = 1; ///< runs of input channels that share offsets
  llvm::SmallVector<WindowDim, 3> windows;

  llvm::SmallVector<int64_t, 5> resultDims() const {
    llvm::SmallVector<int64_t, 5> dims = {batch, groups * outputs};
    for (const WindowDim &window : windows)
      dims.push_back(window.output);
    return dims;
  }
};
mlir::FailureOr<ConvolutionSizes> readConvolution(mlir::Operation *op, ConvolutionForm form);
/// The same for data and weights of these dims, which may be no operands.
mlir::FailureOr<ConvolutionSizes> readConvolution(mlir::Operation *op, const ConvolutionForm &form,
                                                  llvm::ArrayRef<int64_t> data, llvm::ArrayRef<int64_t> weights);
/// The factors of a convolution, tensor by tensor.
struct ConvolutionFactors {
  llvm::SmallVector<DimFactors, 4> data, weights, result;
  DimFactors outputs;
};
ConvolutionFactors addFactors(FactorRuleBuilder &builder, const ConvolutionSizes &sizes, const ConvolutionForm &form);
/// 2 for each multiplication.
double convolutionFlops(const ConvolutionSizes &sizes, bool transposed);
/// The sums of products alone; elements row-major as `ConvolutionSizes` says.
std::vector<double> convolve(const ConvolutionSizes &sizes, const std::vector<double> &data,
                             const std::vector<double> &weights, bool transposed);

mlir::LogicalResult inferConvolution(mlir::Operation *op, ConvolutionForm form, mlir::Type element,
                                     llvm::SmallVectorImpl<mlir::Type> &types);
/// `n (g c) !h !w, (g o) c !r !s, (g o) -> n (g o) !y !x`, spatial dims cut where windows do not overlap; 2 FLOPs for
/// each multiplication.
mlir::FailureOr<FactorRule> convolutionRule(mlir::Operation *op, ConvolutionForm form);

/// Sets the groups and the window of a piece; a transposed convolution cut in space gets its pads written out.
void localizeConvolution(LocalOp &local, ConvolutionForm form);
/// The sums of products, and the bias where `form` has one.
Evaluated evaluateConvolution(mlir::Operation *op, Operands operands, ConvolutionForm form);

/// Gradients of a convolution (ConvInputGrad, ConvWeightGrad): `n (g o) !y !x, (g o) c !r !s -> n (g c) !h !w` and `n
/// (g c) !h !w, n (g o) !y !x -> (g o) c !r !s`, with the factors of the convolution.
mlir::FailureOr<ConvolutionSizes> readConvolutionGradient(mlir::Operation *op);
mlir::LogicalResult inferConvolutionGradient(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> convolutionGradientRule(mlir::Operation *op);
void localizeConvolutionGradient(LocalOp &local);
bool differentiateConvolution(GradientBuilder &g);
/// Gives the gradients of data, weights and bias (operands 0, 1, 2) of a convolution at whose sums `arriving` arrives.
void giveConvolution(GradientBuilder &g, const ConvolutionSizes &sizes, mlir::Value arriving);
/// Gives operand `bias` the sum of `arriving` over batch and space.
void giveBias(GradientBuilder &g, unsigned bias, mlir::Value arriving);
/// False where windows do not lead back to all of the operand.
bool differentiateTransposedConvolution(GradientBuilder &g);

/// How the parts of a window combine; not at all where `mayCutWindow` is false (a norm).
struct PoolForm {
  Combiner combiner = Combiner::Sum;
  bool mayCutWindow = true;
};
mlir::LogicalResult inferPool(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
/// `n c !h !w -> n c !y !x`, `n c (y r) (x s) -> n c y x` where windows tile; 1 FLOP for each point of a window. With
/// indices, which count over the whole operand, everything is whole.
mlir::FailureOr<llvm::SmallVector<WindowDim, 3>> readPool(mlir::Operation *op);
/// The same over data of dims `data`.
mlir::FailureOr<llvm::SmallVector<WindowDim, 3>> readPool(mlir::Operation *op, llvm::ArrayRef<int64_t> data);
mlir::FailureOr<FactorRule> poolRule(mlir::Operation *op, PoolForm form);
/// Gradients of pools: `n c !y !x, n c !h !w -> n c !h !w`, or without the second operand; space is cut where windows
/// tile, but no window is.
mlir::FailureOr<llvm::SmallVector<WindowDim, 3>> readPoolGradient(mlir::Operation *op);
mlir::LogicalResult inferPoolGradient(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
mlir::FailureOr<FactorRule> poolGradientRule(mlir::Operation *op);
void differentiateMaxPool(GradientBuilder &g);
void differentiateAveragePool(GradientBuilder &g);
void differentiateLpPool(GradientBuilder &g);
void differentiateGlobalMax(GradientBuilder &g);
void differentiateGlobalLp(GradientBuilder &g);
void differentiateGlobalAverage(GradientBuilder &g);
/// Sets the window of a piece, and for a mean the whole one.
void localizePool(LocalOp &local);
mlir::LogicalResult inferGlobalPool(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
/// `n c h w -> n c 1 1`.
mlir::FailureOr<FactorRule> globalPoolRule(mlir::Operation *op, PoolForm form);
/// Sets `count` to the number of points of the whole.
void localizeGlobalAverage(LocalOp &local);

/// The value that a pool gives for the points of a window.
enum class Pool : uint8_t { Max, Average, Norm };
/// Over all points of each channel; `p` is that of a p-norm, `count` the divisor of a mean over more points.
Evaluated evaluateGlobalPool(mlir::Operation *op, Operands operands, Pool pool, int64_t p,
                             std::optional<uint64_t> count = std::nullopt);

/// For each window of a plane the number of points that a mean divides by: points on data, or also on pads, not beyond
/// (where the last window of `ceil_mode` hangs over).
std::vector<double> countPoints(llvm::SmallVector<WindowDim, 3> windows, bool countPads);

/// MaxRoiPool and RoiAlign.
mlir::LogicalResult inferRegions(mlir::Operation *op, llvm::ArrayRef<int64_t> pooled,
                                 llvm::SmallVectorImpl<mlir::Type> &types);
/// `!n c !h !w, r !k, r -> r c !y !x`.
mlir::FailureOr<FactorRule> ruleRegions(mlir::Operation *op);
/// Gradients of them for the map, [n, c, h, w]: X, or without it `data_shape` says n, h and w.
mlir::LogicalResult inferRegionGradient(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
/// `r c !y !x, !n c !h !w, r !k, r -> !n c !h !w`, summed over r.
mlir::FailureOr<FactorRule> ruleRegionGradient(mlir::Operation *op);
/// Resize and Upsample.
mlir::LogicalResult inferResize(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
/// Dims that keep their points are parallel, the others whole.
mlir::FailureOr<FactorRule> ruleResize(mlir::Operation *op);
/// A product with the shares of points, [result, operand], for each dim that changes; false for shares of more than
/// 2^20 elements.
bool differentiateResize(GradientBuilder &g);

} // namespace apc

#define GET_OP_CLASSES
#include "apc/IR/Ops/Convolution/Convolution.h.inc"
