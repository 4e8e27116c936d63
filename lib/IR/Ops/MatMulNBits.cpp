// MatMulNBits: a matrix product whose weight is stored in blocks of K with a scale each.
#include "apc/IR/Layout.h"
#include "apc/IR/Ops/Contraction.h"

namespace apc {

namespace {

/// B [N, blocks, bytes]: 8 blocks of 32 values of 4 bits are [N, 8, 16].
struct Blocks {
  int64_t count; ///< blocks along K, the last one maybe short
  int64_t bytes; ///< of one block
};

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
  return blocks;
}

/// Scales and unpacked zero points: [N, blocks], or [N * blocks].
std::optional<llvm::SmallVector<DimFactors, 4>> blockwise(mlir::Value value, DimFactors n, DimFactors block,
                                                          int64_t sizeN, int64_t numBlocks) {
  llvm::ArrayRef<int64_t> dims = dimsOf(value);
  if (dims == llvm::ArrayRef<int64_t>({sizeN, numBlocks}))
    return llvm::SmallVector<DimFactors, 4>{n, block};
  if (dims == llvm::ArrayRef<int64_t>({sizeN * numBlocks}))
    return llvm::SmallVector<DimFactors, 4>{{n[0], block[0]}};
  return std::nullopt;
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
  LayoutRule layout(*this);
  DimFactors n = layout.parallel(sizeN);
  // Packed zero points put two blocks into a byte, and g_idx mixes blocks: then K is not cut.
  bool unpacked = isAbsent(getZeroPoints()) || checkedProduct(dimsOf(getZeroPoints())) == sizeN * blocks->count;
  bool cutsK = blocks->count * blockSize == sizeK && isAbsent(getGIdx()) && unpacked;
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
  if (auto dims = blockwise(getScales(), n, block, sizeN, blocks->count))
    layout.setOperand(2, *dims);
  if (auto dims = blockwise(getZeroPoints(), n, block, sizeN, blocks->count))
    layout.setOperand(3, *dims);
  if (dimsOf(getBias()) == llvm::ArrayRef<int64_t>({sizeN}))
    layout.setOperand(5, {n});
  layout.setResult(0, y);
  FactorRule rule = layout.take(Work::Contraction);
  double points = 1;
  for (int64_t dim : dimsOf(getY()))
    points *= static_cast<double>(dim);
  rule.flopsPerPoint = 2 * points * static_cast<double>(sizeK) / std::max(rule.numPoints(), 1.0);
  return rule;
}

} // namespace apc
