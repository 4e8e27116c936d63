// MatMulNBits: a matrix product whose weight is stored in blocks of K with a scale each.
#include "BlockWeights.h"
#include "apc/IR/Kernels/Contract.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/RuleBuilder.h"

#include "llvm/ADT/StringExtras.h"

#include <array>

namespace apc {

namespace {

/// B [N, blocks, bytes]: 8 blocks of 32 values of 4 bits are [N, 8, 16].
struct Blocks {
  int64_t count; ///< blocks along K, of which the last may be short
  int64_t bytes; ///< of one block
};

/// Operand `index` is absent or has one of `shapes`.
mlir::LogicalResult requireOneOf(MatMulNBitsOp op, unsigned index,
                                 llvm::ArrayRef<llvm::SmallVector<int64_t, 3>> shapes) {
  mlir::Value value = op.getOperand(index);
  if (isAbsent(value) || llvm::is_contained(shapes, llvm::SmallVector<int64_t, 3>(dimsOf(value))))
    return mlir::success();
  std::string accepted = llvm::join(llvm::map_range(shapes, printDims), " or ");
  return op.emitOpError() << "operand '" << operandName(op, index) << "' has shape " << printDims(dimsOf(value))
                          << " where " << accepted << " is needed";
}

/// Zero points are packed like the weights, row by row, unless each has an element of its own.
bool hasPackedZeros(MatMulNBitsOp op, int64_t numBlocks) {
  if (isAbsent(op.getZeroPoints()))
    return false;
  int64_t bytes = bytesOf(numBlocks, static_cast<int64_t>(op.getBits()));
  bool isInteger = !llvm::isa<mlir::FloatType>(operandElement(op, 3));
  return isInteger && checkedProduct(dimsOf(op.getZeroPoints())) == static_cast<int64_t>(op.getN()) * bytes;
}

/// Scales and zero points by row and block, groups by column of A, the bias by row.
mlir::LogicalResult checkSides(MatMulNBitsOp op, const Blocks &blocks) {
  auto n = static_cast<int64_t>(op.getN()), k = static_cast<int64_t>(op.getK());
  auto table = [&](int64_t columns) -> std::array<llvm::SmallVector<int64_t, 3>, 3> {
    return {{{n, columns}, {n, columns, 1}, {n * columns}}};
  };
  int64_t zeros =
      hasPackedZeros(op, blocks.count) ? bytesOf(blocks.count, static_cast<int64_t>(op.getBits())) : blocks.count;
  if (mlir::failed(requireOneOf(op, 2, table(blocks.count))) || mlir::failed(requireOneOf(op, 3, table(zeros))) ||
      mlir::failed(requireOneOf(op, 4, {{k}, {blocks.count * static_cast<int64_t>(op.getBlockSize())}})))
    return mlir::failure();
  return requireOneOf(op, 5, {{n}});
}

mlir::FailureOr<Blocks> checkBlocks(MatMulNBitsOp op) {
  auto k = static_cast<int64_t>(op.getK()), n = static_cast<int64_t>(op.getN());
  auto size = static_cast<int64_t>(op.getBlockSize()), bits = static_cast<int64_t>(op.getBits());
  constexpr int64_t largest = int64_t(1) << 30;
  if (k <= 0 || n <= 0 || k > largest || n > largest)
    return op.emitOpError() << "attributes 'K' and 'N' are " << k << " and " << n << "; from 1 to 2^30 are accepted",
           mlir::failure();
  if (size < 1 || size > (1 << 20) || bits < 1 || bits > 8 || size * bits % 8 != 0)
    return op.emitOpError() << "blocks of " << size << " values of " << bits
                            << " bits do not fill bytes; block sizes up to 2^20 and 1 to 8 bits are accepted",
           mlir::failure();
  Blocks blocks{(k + size - 1) / size, size * bits / 8};
  llvm::ArrayRef<int64_t> a = dimsOf(op.getA()), b = dimsOf(op.getB());
  if (a.empty() || a.back() != k)
    return op.emitOpError() << "the last dim of A " << printDims(a) << " must be K = " << k, mlir::failure();
  llvm::SmallVector<int64_t, 3> wanted{n, blocks.count, blocks.bytes};
  if (b != llvm::ArrayRef<int64_t>(wanted))
    return op.emitOpError() << "B is " << printDims(b) << ", but " << printDims(wanted)
                            << " follows from N, K, block_size and bits",
           mlir::failure();
  if (mlir::failed(checkSides(op, blocks)))
    return mlir::failure();
  return blocks;
}

/// The dims of scales or zero points: [N, blocks], [N, blocks, 1] or [N * blocks].
llvm::SmallVector<DimFactors, 4> blockwise(mlir::Value value, DimFactors n, DimFactors block) {
  size_t numDims = dimsOf(value).size();
  if (numDims == 1)
    return {{n[0], block[0]}};
  llvm::SmallVector<DimFactors, 4> dims{n, block};
  dims.resize(numDims);
  return dims;
}

} // namespace

mlir::LogicalResult MatMulNBitsOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  if (mlir::failed(checkBlocks(*this)))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getA()));
  dims.back() = static_cast<int64_t>(getN());
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::FailureOr<FactorRule> MatMulNBitsOp::getRule() {
  auto blocks = checkBlocks(*this);
  if (mlir::failed(blocks))
    return mlir::failure();
  auto sizeN = static_cast<int64_t>(getN()), sizeK = static_cast<int64_t>(getK());
  auto blockSize = static_cast<int64_t>(getBlockSize());
  RuleBuilder layout(*this);
  DimFactors n = layout.parallel(sizeN);
  // Packed zero points put two blocks into a byte, and g_idx mixes blocks: then K is not cut.
  bool packed = hasPackedZeros(*this, blocks->count) && getBits() != 8;
  bool cutsK = blocks->count * blockSize == sizeK && isAbsent(getGIdx()) && !packed;
  DimFactors block = cutsK ? layout.sum("k", blocks->count) : layout.whole(blocks->count);
  DimFactors inBlock = layout.whole(blockSize);
  llvm::SmallVector<DimFactors, 4> a, y;
  for (int64_t dim : dimsOf(getA()).drop_back()) {
    a.push_back(layout.parallel(dim));
    y.push_back(a.back());
  }
  if (cutsK)
    a.push_back({block[0], inBlock[0]});
  else
    a.push_back(layout.whole(sizeK));
  y.push_back(n);
  layout.setOperand(0, a);
  layout.setOperand(1, {n, block, layout.whole(blocks->bytes)});
  layout.setOperand(2, blockwise(getScales(), n, block));
  if (!isAbsent(getZeroPoints())) {
    int64_t bytes = bytesOf(blocks->count, static_cast<int64_t>(getBits()));
    layout.setOperand(3, blockwise(getZeroPoints(), n, packed ? layout.whole(bytes) : block));
  }
  if (!isAbsent(getBias()))
    layout.setOperand(5, {n});
  layout.setResult(0, y);
  FactorRule rule = layout.take(Work::Contraction);
  double points = 1;
  for (int64_t dim : dimsOf(getY()))
    points *= static_cast<double>(dim);
  rule.flopsPerPoint = 2 * points * static_cast<double>(sizeK) / std::max(rule.numPoints(), 1.0);
  return rule;
}

namespace {

/// B as reals [N, K].
Tensor unpackedB(MatMulNBitsOp op, Operands operands, const Blocks &blocks) {
  Tensor reals;
  reals.element = mlir::Float64Type::get(op.getContext());
  reals.dims = {static_cast<int64_t>(op.getN()), static_cast<int64_t>(op.getK())};
  reals.floats = unpackRows({*operands[1], operands[2], operands[3], operands[4], reals.dims[0], reals.dims[1],
                             static_cast<int64_t>(op.getBits()), static_cast<int64_t>(op.getBlockSize()), blocks.count,
                             hasPackedZeros(op, blocks.count)});
  return reals;
}

} // namespace

Evaluated MatMulNBitsOp::evaluate(Operands operands) {
  auto blocks = checkBlocks(*this);
  for (unsigned index = 0; index < operands.size(); ++index)
    if (!operands[index] && !isAbsent(getOperand(index)))
      return std::nullopt;
  if (mlir::failed(blocks))
    return std::nullopt;
  Tensor b = unpackedB(*this, operands, *blocks);
  // `m k, n k -> m n`, whatever leading dims A has.
  FactorRuleBuilder builder;
  int64_t rows = b.dims[1] == 0 ? 0 : operands[0]->numElements() / b.dims[1];
  FactorId m = builder.addFactor("m", rows), k = builder.addReduction("k", b.dims[1], Combiner::Sum),
           n = builder.addFactor("n", b.dims[0]);
  builder.addOperand({{m}, {k}}, 64);
  builder.addOperand({{n}, {k}}, 64);
  builder.addResult({{m}, {n}}, 64);
  Tensor result = contract(builder.take(), {{0, *operands[0]}, {1, b}}, operands[0]->element);
  result.dims.assign(dimsOf(getY()).begin(), dimsOf(getY()).end());
  for (size_t i = 0; operands[5] && i < result.floats.size(); ++i)
    result.floats[i] += operands[5]->floats[i % operands[5]->floats.size()];
  return evaluatedAs(std::move(result));
}

// Weights, scales and zero points are frozen: what arrives is multiplied with the weights as reals.
bool MatMulNBitsOp::differentiate(GradientBuilder &g) {
  auto blocks = checkBlocks(*this);
  if (mlir::failed(blocks))
    return false;
  if (g.wants(2) || g.wants(3))
    return g.refuse("operands 'scales' and 'zero_points' are trained, and frozen ones are accepted");
  if (g.wants(5))
    g.give(5, g.sumTo(g.incoming(), g.operand(5)));
  if (!g.wants(0))
    return true;
  auto n = static_cast<int64_t>(getN()), bits = static_cast<int64_t>(getBits());
  auto rows = [&](mlir::Value value, int64_t count) {
    llvm::SmallVector<int64_t, 2> dims = {n, count};
    return isAbsent(value) || dimsOf(value) == llvm::ArrayRef<int64_t>(dims)
               ? value
               : mlir::Value(
                     g.make<ReshapeOp>({value, g.integers(dims)}, g.attribute("allowzero", static_cast<int64_t>(1))));
  };
  int64_t zeros = hasPackedZeros(*this, blocks->count) ? bytesOf(blocks->count, bits) : blocks->count;
  mlir::Value weights = g.make<UnpackWeightsOp>(
      {rows(getB(), blocks->count * blocks->bytes), rows(getScales(), blocks->count), rows(getZeroPoints(), zeros),
       getGIdx()},
      {g.attribute("bits", bits), g.attribute("block_size", static_cast<int64_t>(getBlockSize())),
       g.attribute("columns", static_cast<int64_t>(getK()))});
  g.give(0, g.einsum("...n,nk->...k", {g.incoming(), weights}));
  return true;
}

} // namespace apc
