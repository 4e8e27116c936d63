// Attention as ONNX's own operators define it, with 4 dims or with heads and sizes in one.
#include "apc/IR/Ops/Attention/Attention.h"

#include "Factors.h"
#include "StandardHeads.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

bool isPresent(mlir::Operation *op, unsigned operand) {
  return operand < op->getNumOperands() && !isAbsent(op->getOperand(operand));
}

bool isFlat(mlir::Operation *op) { return dimsOf(op->getOperand(Standard::Queries)).size() == 3; }

/// The numbers of query and key heads, by dims or by attributes, and the sizes of a head.
mlir::LogicalResult readHeads(mlir::Operation *op, AttentionSizes &sizes) {
  llvm::ArrayRef<int64_t> queries = dimsOf(op->getOperand(Standard::Queries)),
                          keys = dimsOf(op->getOperand(Standard::Keys)),
                          values = dimsOf(op->getOperand(Standard::Values));
  bool flat = isFlat(op);
  if ((!flat && queries.size() != 4) || keys.size() != queries.size() || values.size() != queries.size())
    return op->emitOpError() << "needs queries, keys and values of 3 dims or of 4, not of " << queries.size() << ", "
                             << keys.size() << " and " << values.size();
  int64_t heads = flat ? intAttribute(op, "q_num_heads", 0) : queries[1];
  sizes.kvHeads = flat ? intAttribute(op, "kv_num_heads", 0) : keys[1];
  auto group = divide(op, heads, sizes.kvHeads, flat ? "'kv_num_heads'" : "the number of key heads");
  if (mlir::failed(group))
    return mlir::failure();
  if (*group < 1)
    return op->emitOpError() << "has " << heads << " query heads and " << sizes.kvHeads
                             << " key heads; the first must be a multiple of the second";
  sizes.group = *group;
  if (!flat) {
    sizes.headSize = queries[3];
    sizes.valueSize = values[3];
    return mlir::success();
  }
  auto headSize = divide(op, queries[2], heads, "'q_num_heads'");
  auto valueSize = divide(op, values[2], sizes.kvHeads, "'kv_num_heads'");
  if (mlir::failed(headSize) || mlir::failed(valueSize))
    return mlir::failure();
  sizes.headSize = *headSize;
  sizes.valueSize = *valueSize;
  return mlir::success();
}

mlir::FailureOr<AttentionSizes> readStandardSizes(mlir::Operation *op) {
  AttentionSizes sizes;
  if (mlir::failed(checkExtents(op)) || mlir::failed(readHeads(op, sizes)))
    return mlir::failure();
  bool flat = isFlat(op);
  llvm::ArrayRef<int64_t> queries = dimsOf(op->getOperand(Standard::Queries)),
                          keys = dimsOf(op->getOperand(Standard::Keys));
  sizes.batch = queries[0];
  sizes.queries = queries[flat ? 1 : 2];
  sizes.keys = keys[flat ? 1 : 2];
  auto expected = [&](int64_t size) -> llvm::SmallVector<int64_t, 4> {
    if (flat)
      return {sizes.batch, sizes.keys, sizes.kvHeads * size};
    return {sizes.batch, sizes.kvHeads, sizes.keys, size};
  };
  if (isPresent(op, Standard::PastKey) != isPresent(op, Standard::PastValue))
    return op->emitOpError() << "operands 'past_key' and 'past_value' are given together or not at all",
           mlir::failure();
  if (mlir::failed(checkDims(op, Standard::Keys, expected(sizes.headSize))) ||
      mlir::failed(checkDims(op, Standard::Values, expected(sizes.valueSize))) ||
      mlir::failed(checkDims(op, Standard::PastKey, {sizes.batch, sizes.kvHeads, -1, sizes.headSize})))
    return mlir::failure();
  if (isPresent(op, Standard::PastKey))
    sizes.past = dimsOf(op->getOperand(Standard::PastKey))[2];
  sizes.present = sizes.attended = sizes.past + sizes.keys;
  if (mlir::failed(checkDims(op, Standard::PastValue, {sizes.batch, sizes.kvHeads, sizes.past, sizes.valueSize})) ||
      mlir::failed(checkDims(op, Standard::KeyLengths, {sizes.batch})) ||
      mlir::failed(checkMask(op, Standard::Mask, sizes)))
    return mlir::failure();
  return sizes;
}

} // namespace

mlir::LogicalResult inferAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readStandardSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  mlir::Type element = operandElement(op, Standard::Queries);
  llvm::SmallVector<int64_t, 4> result = {sizes->batch, sizes->heads(), sizes->queries, sizes->valueSize};
  if (isFlat(op))
    result = {sizes->batch, sizes->queries, sizes->heads() * sizes->valueSize};
  if (mlir::failed(addType(op, result, element, types)))
    return mlir::failure();
  if (op->getNumResults() == 1)
    return mlir::success();
  if (mlir::failed(addType(op, {sizes->batch, sizes->kvHeads, sizes->present, sizes->headSize},
                           operandElement(op, Standard::Keys), types)) ||
      mlir::failed(addType(op, {sizes->batch, sizes->kvHeads, sizes->present, sizes->valueSize},
                           operandElement(op, Standard::Values), types)))
    return mlir::failure();
  return addType(op, {sizes->batch, sizes->heads(), sizes->queries, sizes->attended}, element, types);
}

mlir::FailureOr<FactorRule> ruleAttention(mlir::Operation *op) {
  auto sizes = readStandardSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  // A causal mask counts query positions from the first, so they are whole under it.
  AttentionFactors factors(builder, *sizes, /*queriesWhole=*/intAttribute(op, "is_causal", 0) != 0);
  bool flat = isFlat(op);
  auto layout = [&](const DimFactors &heads, const DimFactors &positions,
                    const DimFactors &size) -> llvm::SmallVector<DimFactors, 4> {
    if (flat)
      return {factors.batch, positions, factors.flat(heads, size)};
    return {factors.batch, heads, positions, size};
  };
  addOperand(builder, op->getOperand(Standard::Queries), layout(factors.heads, factors.queries, factors.headSize));
  addOperand(builder, op->getOperand(Standard::Keys), layout(factors.kvHeads, factors.keys, factors.headSize));
  addOperand(builder, op->getOperand(Standard::Values), layout(factors.kvHeads, factors.keys, factors.valueSize));
  if (op->getNumOperands() > Standard::Mask) {
    factors.addMask(op->getOperand(Standard::Mask));
    factors.addPast(op->getOperand(Standard::PastKey), factors.headSize);
    factors.addPast(op->getOperand(Standard::PastValue), factors.valueSize);
    factors.addVector(op->getOperand(Standard::KeyLengths), factors.batch);
  }
  addResult(builder, op->getResult(0), layout(factors.heads, factors.queries, factors.valueSize));
  if (op->getNumResults() > 1) {
    addResult(builder, op->getResult(1), {factors.batch, factors.kvHeads, factors.present, factors.headSize});
    addResult(builder, op->getResult(2), {factors.batch, factors.kvHeads, factors.present, factors.valueSize});
    addResult(builder, op->getResult(3), {factors.batch, factors.heads, factors.queries, factors.attended});
  }
  builder.setAttention(factors.fused(intAttribute(op, "is_causal", 0) != 0));
  FactorRule rule = builder.take();
  setFlops(rule, sizes->flops());
  return rule;
}

} // namespace apc
