// Packed weights as reals: sizes, rule and kernel.
#include "../Attributes.h"
#include "BlockWeights.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

std::vector<double> unpackRows(const PackedRows &rows) {
  int64_t bytes = rows.rows == 0 ? 0 : rows.packed.numElements() / rows.rows;
  int64_t zeroBytes = bytesOf(rows.blocks, rows.bits);
  std::vector<double> reals;
  reals.reserve(rows.rows * rows.columns);
  for (int64_t row = 0; row < rows.rows; ++row)
    for (int64_t column = 0; column < rows.columns; ++column) {
      int64_t block = rows.blockSize > 0 ? column / rows.blockSize : 0;
      if (rows.groups)
        block = std::clamp<int64_t>(rows.groups->ints[column], 0, rows.blocks - 1);
      auto value = static_cast<double>(packedValue(rows.packed, row * bytes, column, rows.bits));
      double zero = std::ldexp(1.0, static_cast<int>(rows.bits) - 1);
      if (rows.zeros)
        zero = rows.areZerosPacked ? static_cast<double>(packedValue(*rows.zeros, row * zeroBytes, block, rows.bits))
                                   : getElement(*rows.zeros, row * rows.blocks + block).asReal();
      reals.push_back((value - zero) * (rows.scales ? rows.scales->floats[row * rows.blocks + block] : 1));
    }
  return reals;
}

namespace {

enum UnpackOperand : unsigned { Packed, Scales, Zeros, Groups };

struct UnpackSizes {
  int64_t columns, bits, blockSize, blocks, bytes;
  bool areZerosPacked = false;
  /// Do runs of blocks fill runs of bytes, each with scales and zero points of its own?
  bool areBlocksApart = false;
};

mlir::FailureOr<UnpackSizes> misfit(UnpackWeightsOp op, unsigned operand, int64_t wanted) {
  return op.emitOpError() << "operand '" << operandName(op, operand) << "' has shape "
                          << printDims(dimsOf(op->getOperand(operand))) << " where rows like those of the weights, of "
                          << wanted << " elements, are needed",
         mlir::failure();
}

mlir::FailureOr<UnpackSizes> readUnpack(UnpackWeightsOp op) {
  llvm::ArrayRef<int64_t> packed = dimsOf(op.getPacked()), scales = dimsOf(op.getScales()),
                          zeros = dimsOf(op.getZeroPoints());
  auto columns = static_cast<int64_t>(op.getColumns()), bits = static_cast<int64_t>(op.getBits()),
       size = static_cast<int64_t>(op.getBlockSize());
  if (packed.size() < 2 || columns < 1 || bits < 1 || bits > 8 || size < 0 || columns > packed.back() * 8 / bits)
    return op.emitOpError()
               << "has weights " << printDims(packed) << ", columns " << columns << ", bits " << bits
               << " and block_size " << size
               << "; rows of as many bytes as columns need, 1 to 8 bits and a size of 0 or more are needed",
           mlir::failure();
  UnpackSizes sizes{columns, bits, size, size > 0 ? (columns + size - 1) / size : 1, packed.back()};
  auto isOfRows = [&](llvm::ArrayRef<int64_t> dims, int64_t last) {
    return dims.size() == packed.size() && dims.drop_back() == packed.drop_back() && dims.back() == last;
  };
  if (!isOfRows(scales, sizes.blocks))
    return misfit(op, Scales, sizes.blocks);
  bool hasZeros = !isAbsent(op.getZeroPoints());
  int64_t zeroBytes = bytesOf(sizes.blocks, bits);
  sizes.areZerosPacked =
      hasZeros && !llvm::isa<mlir::FloatType>(operandElement(op, Zeros)) && isOfRows(zeros, zeroBytes);
  if (hasZeros && !sizes.areZerosPacked && !isOfRows(zeros, sizes.blocks))
    return misfit(op, Zeros, sizes.blocks);
  bool hasGroups = !isAbsent(op.getGIdx());
  if (hasGroups && (dimsOf(op.getGIdx()).size() != 1 || dimsOf(op.getGIdx())[0] < columns))
    return misfit(op, Groups, columns);
  sizes.areBlocksApart = size > 0 && size * bits % 8 == 0 && sizes.blocks * size == columns &&
                         sizes.blocks * size * bits == sizes.bytes * 8 && !hasGroups &&
                         (!sizes.areZerosPacked || bits == 8);
  return sizes;
}

} // namespace

mlir::LogicalResult UnpackWeightsOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readUnpack(*this);
  if (mlir::failed(sizes))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getPacked()));
  dims.back() = sizes->columns;
  return addType(*this, dims, operandElement(*this, Scales), types);
}

// `... n (k !bytes), ... n k -> ... n (k !columns)` where blocks stand apart, `... n !bytes, ... n !k -> ... n
// !columns` elsewhere.
mlir::FailureOr<FactorRule> UnpackWeightsOp::getRule() {
  auto sizes = readUnpack(*this);
  if (mlir::failed(sizes))
    return mlir::failure();
  RuleBuilder layout(*this);
  llvm::SmallVector<DimFactors, 4> rows;
  for (int64_t size : dimsOf(getPacked()).drop_back())
    rows.push_back(layout.parallel(size));
  auto rowsOf = [&](DimFactors last) {
    llvm::SmallVector<DimFactors, 4> dims = rows;
    dims.push_back(std::move(last));
    return dims;
  };
  bool cuts = sizes->areBlocksApart;
  DimFactors block = cuts ? layout.parallel(sizes->blocks) : layout.whole(sizes->blocks);
  auto inBlocks = [&](int64_t size) {
    return cuts ? DimFactors{block[0], layout.whole(size / sizes->blocks)[0]} : layout.whole(size);
  };
  layout.setOperand(Packed, rowsOf(inBlocks(sizes->bytes)));
  layout.setOperand(Scales, rowsOf(block));
  if (!isAbsent(getZeroPoints()))
    layout.setOperand(
        Zeros,
        rowsOf(dimsOf(getZeroPoints()).back() == sizes->blocks ? block : layout.whole(dimsOf(getZeroPoints()).back())));
  layout.setResult(0, rowsOf(inBlocks(sizes->columns)));
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule, 2 * static_cast<double>(shapeOf(getY())->numElements()));
  return rule;
}

Evaluated UnpackWeightsOp::evaluate(Operands operands) {
  auto sizes = readUnpack(*this);
  for (auto [index, operand] : llvm::enumerate(operands))
    if (!operand && !isAbsent(getOperand(static_cast<unsigned>(index))))
      return std::nullopt;
  if (mlir::failed(sizes))
    return std::nullopt;
  Tensor result = zeros(getY().getType());
  result.floats = unpackRows({*operands[Packed], operands[Scales], operands[Zeros], operands[Groups],
                              result.numElements() / sizes->columns, sizes->columns, sizes->bits, sizes->blockSize,
                              sizes->blocks, sizes->areZerosPacked});
  return evaluatedAs(std::move(result));
}

} // namespace apc
