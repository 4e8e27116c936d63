// Gradients of mixtures of experts with quantised weights, which are unpacked on the way.
#include "../../Attributes.h"
#include "../../Contraction/BlockWeights.h"
#include "../HeadGradients.h"
#include "ExpertsGradients.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

using mlir::Value;

namespace {

/// The packed layers of an op, each unpacked to reals.
class PackedExperts {
public:
  PackedExperts(GradientBuilder &g, QMoEOp op) : g(g), op(op), bits(static_cast<int64_t>(op.getExpertWeightBits())) {}

  /// Weights [experts, rows, bytes] of a layer, null where they do not hold `columns` for each row.
  Value layer(unsigned weights, unsigned zeros, int64_t columns) {
    Value packed = g.operand(weights);
    llvm::ArrayRef<int64_t> dims = dimsOf(packed);
    auto block = static_cast<int64_t>(op.getBlockSize().value_or(0));
    int64_t perRow = block > 0 ? (columns + block - 1) / block : 1;
    Value scales = g.operand(weights + 1), zero = g.operand(zeros);
    if (dims[2] * 8 / bits != columns || !hasPerRow(scales, dims, perRow) ||
        !hasPerRow(zero, dims, bytesOf(perRow, bits)))
      return {};
    llvm::SmallVector<int64_t, 3> perBlock = {dims[0], dims[1], perRow};
    scales = isAbsent(scales) ? g.make<ExpandOp>({g.scalar(1, g.operand(0)), g.integers(perBlock)})
                              : shaped(g, scales, perBlock);
    if (!isAbsent(zero))
      zero = shaped(g, zero, {dims[0], dims[1], bytesOf(perRow, bits)});
    Value reals = g.make<UnpackWeightsOp>(
        {packed, scales, zero, g.absent()},
        {g.attribute("bits", bits), g.attribute("block_size", block), g.attribute("columns", columns)});
    return g.castTo(reals, g.operand(0));
  }

  /// Those that the kernel knows: of 4 or 8 bits, scaled by row or block alone, with outputs first.
  bool areKnown(const ExpertSizes &sizes) {
    constexpr unsigned firstScale = 15, endOfScales = 21;
    for (unsigned index = firstScale; index < endOfScales; ++index)
      if (!isAbsent(g.operand(index)))
        return g.refuse("operand '" + operandName(op, index) + "' is given, and none is accepted");
    for (unsigned index : {3u, 6u, 9u, 11u, 12u, 13u}) // scales and zero points
      if (g.wants(index))
        return g.refuse("operand '" + operandName(op, index) + "' is trained, and a frozen one is accepted");
    if (op.getQuantType() != "int")
      return g.refuse("attribute 'quant_type' is '" + op.getQuantType() + "', and int is accepted");
    if (bits != 4 && bits != 8)
      return g.refuse("attribute 'expert_weight_bits' is " + llvm::Twine(bits) + ", and 4 and 8 are accepted");
    if (sizes.inputsFirst || static_cast<int64_t>(op.getWeightsPrepacked().value_or(0)) > 0)
      return g.refuse("weights are packed for tensor cores, and [experts, outputs, inputs] are accepted");
    return true;
  }

private:
  static bool hasPerRow(Value value, llvm::ArrayRef<int64_t> weights, int64_t count) {
    return isAbsent(value) || checkedProduct(dimsOf(value)) == weights[0] * weights[1] * count;
  }

  GradientBuilder &g;
  QMoEOp op;
  int64_t bits;
};

} // namespace

// Weights and their scales are frozen.
bool QMoEOp::differentiate(GradientBuilder &g) {
  auto sizes = readExperts(*this);
  PackedExperts packed(g, *this);
  if (mlir::failed(sizes) || !packed.areKnown(*sizes))
    return false;
  constexpr unsigned firstZeros = 11, routerWeights = 14;
  ExpertOperands which = expertOperands(*this);
  bool hasThird = !isAbsent(g.operand(which.third));
  ExpertWeights reals = {packed.layer(which.first, firstZeros, sizes->hidden),
                         packed.layer(which.second, firstZeros + 1, sizes->inner),
                         hasThird ? packed.layer(which.third, firstZeros + 2, sizes->hidden) : Value(),
                         isAbsent(g.operand(routerWeights)) ? 1 : routerWeights};
  if (!reals.first || !reals.second || (hasThird && !reals.third))
    return g.refuse("weights, scales or zero points do not fit the hidden and inner sizes, and rows of " +
                    llvm::Twine(sizes->hidden) + " and " + llvm::Twine(sizes->inner) + " elements are accepted");
  return differentiateExperts(g, *sizes, reals);
}

} // namespace apc
