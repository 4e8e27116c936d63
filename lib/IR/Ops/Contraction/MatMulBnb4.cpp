// MatMulBnb4: a matrix product whose weight is stored as places in a table of 16 numbers, with a scale for each block.
#include "../Attributes.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/RuleBuilder.h"

#include <array>

namespace apc {

namespace {

// QLoRA (Dettmers et al., 2023), appendix E: the quantiles of a normal distribution.
constexpr std::array<double, 16> normalFloats = {-1.0,
                                                 -0.6961928009986877,
                                                 -0.5250730514526367,
                                                 -0.39491748809814453,
                                                 -0.28444138169288635,
                                                 -0.18477343022823334,
                                                 -0.09105003625154495,
                                                 0.0,
                                                 0.07958029955625534,
                                                 0.16093020141124725,
                                                 0.24611230194568634,
                                                 0.33791524171829224,
                                                 0.44070982933044434,
                                                 0.5626170039176941,
                                                 0.7229568362236023,
                                                 1.0};
/// Floats of sign, 2 bits of exponent and 1 of mantissa, the greatest being 1.
constexpr std::array<double, 8> floats = {0, 5.208333333e-03, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25};

double numberAt(int64_t place, bool isNormal) {
  if (isNormal)
    return normalFloats[place];
  return place < 8 ? floats[place] : -floats[place - 8];
}

int64_t blocksOf(int64_t elements, int64_t blockSize) { return (elements + blockSize - 1) / blockSize; }

} // namespace

mlir::LogicalResult MatMulBnb4Op::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getA()));
  auto rows = static_cast<int64_t>(getN()), depth = static_cast<int64_t>(getK());
  auto blockSize = static_cast<int64_t>(getBlockSize());
  std::optional<int64_t> elements = checkedProduct({rows, depth});
  bool isTurned = getTransB() != 0;
  if (dims.empty() || dims.back() != (isTurned ? depth : rows) || !elements || blockSize < 1)
    return emitOpError() << "A is " << printDims(dims) << ", K " << depth << ", N " << rows << ", block_size "
                         << blockSize << ", transB " << getTransB()
                         << "; rows of K numbers, or of N with transB 0, and a block size of 1 or more are needed";
  if (shapeOf(getB())->numElements() != (*elements + 1) / 2 ||
      shapeOf(getAbsmax())->numElements() != blocksOf(*elements, blockSize))
    return emitOpError() << "operands 'B' and 'absmax' have shapes " << printDims(dimsOf(getB())) << " and "
                         << printDims(dimsOf(getAbsmax())) << " where " << (*elements + 1) / 2 << " and "
                         << blocksOf(*elements, blockSize) << " elements are needed";
  dims.back() = isTurned ? rows : depth;
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::FailureOr<FactorRule> MatMulBnb4Op::getRule() {
  RuleBuilder layout(*this);
  llvm::SmallVector<DimFactors, 4> data;
  llvm::ArrayRef<int64_t> dims = dimsOf(getA());
  for (int64_t size : dims.drop_back())
    data.push_back(layout.parallel(size));
  llvm::SmallVector<DimFactors, 4> result = data;
  data.push_back(layout.whole(dims.back()));
  int64_t made = dimsOf(getY()).back();
  result.push_back(layout.whole(made));
  layout.setOperand(0, data);
  layout.setResult(0, result);
  FactorRule rule = layout.take(Work::Contraction);
  setFlops(rule, 2 * static_cast<double>(shapeOf(getA())->numElements()) * static_cast<double>(made));
  return rule;
}

Evaluated MatMulBnb4Op::evaluate(Operands operands) {
  if (llvm::is_contained(operands, nullptr))
    return std::nullopt;
  auto inRow = static_cast<int64_t>(getK()), blockSize = static_cast<int64_t>(getBlockSize());
  Tensor result = zeros(getY().getType());
  bool isTurned = getTransB() != 0;
  int64_t columns = dimsOf(getY()).back(), depth = dimsOf(getA()).back();
  auto weight = [&](int64_t at) {
    int64_t byte = operands[1]->ints[at / 2];
    int64_t place = at % 2 == 0 ? byte >> 4 & 15 : byte & 15;
    return numberAt(place, getQuantType() == 1) * operands[2]->floats[at / blockSize];
  };
  for (int64_t at = 0, count = result.numElements(); at < count; ++at) {
    int64_t row = at / columns, column = at % columns;
    for (int64_t k = 0; k < depth; ++k)
      result.floats[at] +=
          operands[0]->floats[row * depth + k] * weight(isTurned ? column * inRow + k : k * inRow + column);
  }
  return evaluatedAs(std::move(result));
}

// The weight and its scales are frozen.
bool MatMulBnb4Op::differentiate(GradientBuilder &g) {
  llvm::SmallVector<mlir::NamedAttribute, 6> attributes = {
      g.attribute("transB", static_cast<int64_t>(getTransB() == 0))};
  for (llvm::StringRef name : {"K", "N", "block_size", "quant_type"})
    attributes.push_back(g.attribute(name, (*this)->getAttr(name)));
  if (g.wants(2))
    return g.refuse("operand 'absmax' is trained, and a frozen one is accepted");
  g.give(0, g.make<MatMulBnb4Op>({g.incoming(), g.operand(1), g.operand(2)}, attributes));
  return true;
}

} // namespace apc
