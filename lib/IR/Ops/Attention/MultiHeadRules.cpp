// Attention with as many key heads as query heads, in the forms that fused models have: separate or packed operands,
// caches.
#include "apc/IR/Ops/Attention/Attention.h"

#include "Factors.h"
#include "Kernels.h"
#include "MultiHead.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

MultiHeadOperands multiHeadOperands(mlir::Operation *op) {
  if (llvm::isa<DecoderMaskedMultiHeadAttentionOp>(op))
    return {.bias = 10, .paddingMask = 3, .attentionBias = 4, .pastKey = 5, .pastValue = 6, .pastLength = 7};
  return {};
}

Packing packingOf(mlir::Operation *op) {
  MultiHeadOperands which = multiHeadOperands(op);
  if (isAbsent(op->getOperand(which.key)))
    return dimsOf(op->getOperand(which.query)).size() == 5 ? Packing::Interleaved : Packing::Blocks;
  size_t numDims = dimsOf(op->getOperand(which.key)).size();
  return numDims == 5 ? Packing::InterleavedKeys : numDims == 4 ? Packing::Transposed : Packing::None;
}

namespace {

/// The heads of operands that are whole: on a piece more than `num_heads`.
int64_t totalHeads(mlir::Operation *op) { return intAttribute(op, "total_heads", intAttribute(op, "num_heads", 0)); }

mlir::LogicalResult readPacked(mlir::Operation *op, int64_t heads, Packing packing, AttentionSizes &sizes) {
  llvm::ArrayRef<int64_t> query = dimsOf(op->getOperand(0));
  if (packing == Packing::Interleaved) {
    if (mlir::failed(checkDims(op, 0, {-1, -1, heads, 3, -1})))
      return mlir::failure();
    sizes.headSize = sizes.valueSize = query[4];
  } else {
    if (mlir::failed(checkDims(op, 0, {-1, -1, -1})))
      return mlir::failure();
    auto size = divide(op, query[2], 3 * totalHeads(op), "3 * 'num_heads'");
    if (mlir::failed(size))
      return mlir::failure();
    sizes.headSize = sizes.valueSize = *size;
  }
  sizes.keys = query[1];
  return mlir::success();
}

mlir::LogicalResult readSeparate(mlir::Operation *op, int64_t heads, Packing packing, AttentionSizes &sizes) {
  if (mlir::failed(checkDims(op, 0, {-1, -1, -1})))
    return mlir::failure();
  llvm::ArrayRef<int64_t> query = dimsOf(op->getOperand(0)), key = dimsOf(op->getOperand(1));
  auto headSize = divide(op, query[2], heads, "'num_heads'");
  if (mlir::failed(headSize))
    return mlir::failure();
  sizes.headSize = sizes.valueSize = *headSize;
  if (packing == Packing::InterleavedKeys) {
    sizes.keys = key[1];
    return checkDims(op, 1, {query[0], -1, heads, 2, *headSize});
  }
  if (isAbsent(op->getOperand(2)))
    return op->emitOpError() << "operand 'value' is needed beside 'key' of " << key.size() << " dims";
  if (packing == Packing::Transposed) {
    if (mlir::failed(checkDims(op, 1, {query[0], heads, -1, *headSize})) ||
        mlir::failed(checkDims(op, 2, {query[0], heads, key[2], -1})))
      return mlir::failure();
    sizes.keys = key[2];
    sizes.valueSize = dimsOf(op->getOperand(2))[3];
    return mlir::success();
  }
  if (mlir::failed(checkDims(op, 1, {query[0], -1, query[2]})) ||
      mlir::failed(checkDims(op, 2, {query[0], key[1], -1})))
    return mlir::failure();
  sizes.keys = key[1];
  auto valueSize = divide(op, dimsOf(op->getOperand(2))[2], heads, "'num_heads'");
  if (mlir::failed(valueSize))
    return mlir::failure();
  sizes.valueSize = *valueSize;
  return mlir::success();
}

mlir::FailureOr<AttentionSizes> readMultiHeadSizes(mlir::Operation *op) {
  MultiHeadOperands which = multiHeadOperands(op);
  Packing packing = packingOf(op);
  int64_t heads = intAttribute(op, "num_heads", 0);
  if (heads < 1 || heads >= int64_t(1) << 30)
    return op->emitOpError() << "'num_heads' is " << heads << "; at least 1 and less than 2^30 is needed",
           mlir::failure();
  if (mlir::failed(checkExtents(op)))
    return mlir::failure();
  AttentionSizes sizes;
  sizes.kvHeads = heads;
  bool packed = packing == Packing::Interleaved || packing == Packing::Blocks;
  if (mlir::failed(packed ? readPacked(op, heads, packing, sizes) : readSeparate(op, heads, packing, sizes)))
    return mlir::failure();
  sizes.batch = dimsOf(op->getOperand(which.query))[0];
  sizes.queries = dimsOf(op->getOperand(which.query))[1];
  if (mlir::failed(checkDims(op, which.pastKey, {sizes.batch, heads, -1, sizes.headSize})))
    return mlir::failure();
  mlir::Value past = op->getOperand(which.pastKey);
  if (!isAbsent(past))
    sizes.past = dimsOf(past)[2];
  if (mlir::failed(checkDims(op, which.pastValue, {sizes.batch, heads, sizes.past, sizes.valueSize})))
    return mlir::failure();
  // With the length of the past as an operand, past and present are one buffer.
  bool shared = sizes.past > 0 && !isAbsent(op->getOperand(which.pastLength));
  sizes.present = sizes.attended = shared ? sizes.past : sizes.past + sizes.keys;
  int64_t biasSize = totalHeads(op) * (2 * sizes.headSize + sizes.valueSize);
  if (mlir::failed(checkDims(op, which.bias, {biasSize})) || mlir::failed(checkMask(op, which.attentionBias, sizes)) ||
      mlir::failed(checkPaddingMask(op, which.paddingMask, sizes)))
    return mlir::failure();
  return sizes;
}

/// [b], [b, keys], [b, queries, keys], also with 1 for b, or lengths of other forms, which are whole.
void addPaddingMask(FactorRuleBuilder &builder, AttentionFactors &factors, const AttentionSizes &sizes,
                    mlir::Value value) {
  auto shape = shapeOf(value);
  if (!shape || shape->numDims() < 2)
    return factors.addVector(value, factors.batch);
  if (shape->numDims() > 2)
    factors.noteMask(shape->dims);
  llvm::SmallVector<DimFactors, 4> dims = {shape->dims[0] == sizes.batch ? factors.batch : DimFactors()};
  for (auto [index, size] : llvm::drop_begin(llvm::enumerate(shape->dims)))
    dims.push_back(index == 1 && shape->numDims() == 3 && size == sizes.queries
                       ? factors.queries
                       : DimFactors{builder.addWhole(numbered("m", index), size)});
  builder.addOperand(std::move(dims), shape->elementBits);
}

/// The dims of query, key and value.
std::array<llvm::SmallVector<DimFactors, 4>, 3> inputDims(mlir::Operation *op, FactorRuleBuilder &builder,
                                                          AttentionFactors &factors) {
  DimFactors heads = factors.heads, size = factors.headSize;
  llvm::SmallVector<DimFactors, 4> query = {factors.batch, factors.queries, factors.flat(heads, size)};
  switch (packingOf(op)) {
  case Packing::Interleaved:
    return {{{factors.batch, factors.queries, heads, {builder.addWhole("qkv", 3)}, size}, {}, {}}};
  case Packing::Blocks:
    return {{{factors.batch, factors.queries, factors.packed("qkv", dimsOf(op->getOperand(0))[2])}, {}, {}}};
  case Packing::InterleavedKeys:
    return {{query, {factors.batch, factors.keys, heads, {builder.addWhole("two", 2)}, size}, {}}};
  case Packing::Transposed:
    return {
        {query, {factors.batch, heads, factors.keys, size}, {factors.batch, heads, factors.keys, factors.valueSize}}};
  case Packing::None:
    break;
  }
  return {{query,
           {factors.batch, factors.keys, factors.flat(heads, size)},
           {factors.batch, factors.keys, factors.flat(heads, factors.valueSize)}}};
}

} // namespace

mlir::LogicalResult inferMultiHeadAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readMultiHeadSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  mlir::Type element = operandElement(op, 0);
  const std::array<llvm::SmallVector<int64_t, 4>, 4> results = {
      {{sizes->batch, sizes->queries, sizes->heads() * sizes->valueSize},
       {sizes->batch, sizes->heads(), sizes->present, sizes->headSize},
       {sizes->batch, sizes->heads(), sizes->present, sizes->valueSize},
       {sizes->batch, sizes->heads(), sizes->queries, sizes->attended}}};
  for (const auto &dims : results)
    if (mlir::failed(addType(op, dims, element, types)))
      return mlir::failure();
  return mlir::success();
}

mlir::FailureOr<FactorRule> ruleMultiHeadAttention(mlir::Operation *op) {
  auto sizes = readMultiHeadSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  MultiHeadOperands which = multiHeadOperands(op);
  FactorRuleBuilder builder;
  // Positions that are packed with their keys are whole like them.
  Packing packing = packingOf(op);
  bool queriesWhole =
      intAttribute(op, "unidirectional", 0) != 0 || packing == Packing::Interleaved || packing == Packing::Blocks;
  // Lengths with sums, [3 batch + 2], are of all batch elements.
  llvm::ArrayRef<int64_t> mask = dimsOf(op->getOperand(which.paddingMask));
  bool batchWhole = mask.size() == 1 && mask[0] != sizes->batch;
  AttentionFactors factors(builder, *sizes, queriesWhole, batchWhole);
  std::array<llvm::SmallVector<DimFactors, 4>, 3> inputs = inputDims(op, builder, factors);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    mlir::Value value = op->getOperand(i);
    if (i < 3)
      addOperand(builder, value, inputs[i]);
    else if (i == which.paddingMask)
      addPaddingMask(builder, factors, *sizes, value);
    else if (i == which.attentionBias)
      factors.addMask(value);
    else if (i == which.bias && !isAbsent(value))
      addOperand(builder, value, {factors.packed("bias", dimsOf(value)[0])});
    else if (i == which.pastKey || i == which.pastValue)
      factors.addPast(value, i == which.pastKey ? factors.headSize : factors.valueSize);
    else
      addReplicated(builder, value);
  }
  addResult(builder, op->getResult(0),
            {factors.batch, factors.queries, factors.flat(factors.heads, factors.valueSize)});
  addResult(builder, op->getResult(1), {factors.batch, factors.heads, factors.present, factors.headSize});
  addResult(builder, op->getResult(2), {factors.batch, factors.heads, factors.present, factors.valueSize});
  addResult(builder, op->getResult(3), {factors.batch, factors.heads, factors.queries, factors.attended});
  builder.setAttention(factors.fused(intAttribute(op, "unidirectional", 0) != 0));
  FactorRule rule = builder.take();
  int64_t keySize = sizes->kvHeads * sizes->headSize, valueSize = sizes->kvHeads * sizes->valueSize;
  if (packing == Packing::Blocks)
    cutInsideParts(rule, which.query, 2, {keySize, keySize, valueSize});
  cutInsideParts(rule, which.bias, 0, {keySize, keySize, valueSize});
  setFlops(rule, sizes->flops());
  return rule;
}

void localizeMultiHeadAttention(LocalOp &local) { local.setInt("num_heads", localHeads(local, {"kv"})); }

} // namespace apc
