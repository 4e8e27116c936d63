// Attention with fewer key heads than query heads, caches and rotation inside: what decoders are exported with.
#include "apc/IR/Ops/Attention.h"

#include "apc/IR/Layout.h"
#include "apc/IR/Ops/AttentionFactors.h"

namespace apc {

namespace {

enum GroupQueryOperand : unsigned {
  Query,
  Key,
  Value,
  PastKey,
  PastValue,
  Lengths,
  TotalLength,
  CosCache,
  SinCache,
  PositionIds,
  AttentionBias,
  HeadSink
};

bool isPacked(GroupQueryAttentionOp op) { return isAbsent(op.getKey()); }

/// Head sizes: of [b, s, (heads + 2 kv) d] when packed, else of query and value.
mlir::LogicalResult readHeads(GroupQueryAttentionOp op, AttentionSizes &sizes) {
  int64_t heads = op.getNumHeads(), kvHeads = op.getKvNumHeads();
  if (heads < 1 || kvHeads < 1 || heads % kvHeads != 0 || heads >= int64_t(1) << 30)
    return op.emitOpError() << "'num_heads' is " << heads << " and 'kv_num_heads' " << kvHeads
                            << "; the first must be a multiple of the second";
  sizes.kvHeads = kvHeads;
  sizes.group = heads / kvHeads;
  llvm::ArrayRef<int64_t> query = dimsOf(op.getQuery());
  auto size = divide(op, query[2], isPacked(op) ? heads + 2 * kvHeads : heads,
                     isPacked(op) ? "'num_heads' + 2 * 'kv_num_heads'" : "'num_heads'");
  if (mlir::failed(size))
    return mlir::failure();
  sizes.headSize = sizes.valueSize = *size;
  if (isPacked(op))
    return mlir::success();
  if (mlir::failed(checkDims(op, Key, {query[0], -1, kvHeads * *size})) ||
      mlir::failed(checkDims(op, Value, {query[0], dimsOf(op.getKey())[1], kvHeads * *size})))
    return mlir::failure();
  sizes.keys = dimsOf(op.getKey())[1];
  return mlir::success();
}

mlir::FailureOr<AttentionSizes> readSizes(GroupQueryAttentionOp op) {
  if (mlir::failed(checkExtents(op)) || mlir::failed(checkDims(op, Query, {-1, -1, -1})))
    return mlir::failure();
  if (isAbsent(op.getKey()) != isAbsent(op.getValue()))
    return op.emitOpError() << "operands 'key' and 'value' are given together or not at all", mlir::failure();
  llvm::ArrayRef<int64_t> query = dimsOf(op.getQuery());
  AttentionSizes sizes;
  sizes.batch = query[0];
  sizes.queries = sizes.keys = query[1];
  if (mlir::failed(readHeads(op, sizes)))
    return mlir::failure();
  // A quantised cache may hold two values in a byte, so its last dim says nothing.
  auto stored = [&](unsigned past) -> int64_t {
    return operandElement(op, past) == operandElement(op, Query) ? sizes.headSize : -1;
  };
  if (mlir::failed(checkDims(op, PastKey, {sizes.batch, sizes.kvHeads, -1, stored(PastKey)})))
    return mlir::failure();
  if (!isAbsent(op.getPastKey()))
    sizes.past = dimsOf(op.getPastKey())[2];
  if (mlir::failed(checkDims(op, PastValue, {sizes.batch, sizes.kvHeads, sizes.past, stored(PastValue)})))
    return mlir::failure();
  std::optional<llvm::SmallVector<int64_t, 6>> total;
  if (!isAbsent(op.getTotalSequenceLength()))
    total = constantInts(op.getTotalSequenceLength());
  // A cache that is longer than all positions so far is one buffer that comes in and goes out.
  bool known = total && total->size() == 1 && total->front() > 0 && total->front() <= int64_t(1) << 30;
  sizes.attended = known ? total->front() : sizes.past + sizes.keys;
  sizes.present = op.getSlidingWindowCache() && sizes.past > 0 ? sizes.past : std::max(sizes.past, sizes.attended);
  return sizes;
}

} // namespace

mlir::LogicalResult inferGroupQueryAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto attention = llvm::cast<GroupQueryAttentionOp>(op);
  auto sizes = readSizes(attention);
  if (mlir::failed(sizes) || mlir::failed(checkMask(op, AttentionBias, *sizes)))
    return mlir::failure();
  mlir::Type element = operandElement(op, Query);
  if (mlir::failed(addType(op, {sizes->batch, sizes->queries, sizes->heads() * sizes->valueSize}, element, types)))
    return mlir::failure();
  for (mlir::Value past : {attention.getPastKey(), attention.getPastValue()}) {
    bool cached = !isAbsent(past);
    int64_t size = cached ? dimsOf(past)[3] : sizes->headSize;
    mlir::Type stored = cached ? llvm::cast<mlir::RankedTensorType>(past.getType()).getElementType() : element;
    if (mlir::failed(addType(op, {sizes->batch, sizes->kvHeads, sizes->present, size}, stored, types)))
      return mlir::failure();
  }
  return addType(op, {sizes->batch, sizes->heads(), sizes->queries, sizes->attended}, element, types);
}

mlir::FailureOr<FactorRule> ruleGroupQueryAttention(mlir::Operation *op) {
  auto attention = llvm::cast<GroupQueryAttentionOp>(op);
  auto sizes = readSizes(attention);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  AttentionFactors factors(builder, *sizes, /*queriesWhole=*/true);
  bool packed = isPacked(attention);
  auto cacheSize = [&](mlir::Value past, const DimFactors &size, llvm::StringRef name) {
    if (isAbsent(past) || dimsOf(past)[3] == sizes->headSize)
      return size;
    return DimFactors{builder.addWhole(name, dimsOf(past)[3])};
  };
  DimFactors keyCache = cacheSize(attention.getPastKey(), factors.headSize, "dq");
  DimFactors valueCache = cacheSize(attention.getPastValue(), factors.valueSize, "eq");
  // Packed heads stand as all queries, all keys, all values, so a cut of the heads is no run of the dim: the operand is
  // whole there and each device takes its heads out of it.
  DimFactors query = factors.flat(factors.heads, factors.headSize);
  if (packed)
    query = {builder.addWhole("qkv", dimsOf(attention.getQuery())[2])};
  addOperand(builder, attention.getQuery(), {factors.batch, factors.queries, query});
  DimFactors keys = sizes->keys == sizes->queries ? factors.queries : factors.keys;
  addOperand(builder, attention.getKey(), {factors.batch, keys, factors.flat(factors.kvHeads, factors.headSize)});
  addOperand(builder, attention.getValue(), {factors.batch, keys, factors.flat(factors.kvHeads, factors.valueSize)});
  factors.addPast(attention.getPastKey(), keyCache);
  factors.addPast(attention.getPastValue(), valueCache);
  for (unsigned i = Lengths; i < op->getNumOperands(); ++i) {
    mlir::Value value = op->getOperand(i);
    if (i == AttentionBias)
      factors.addMask(value);
    else if (i == HeadSink)
      factors.addVector(value, factors.heads);
    else if (i == PositionIds && !isAbsent(value) && dimsOf(value) == llvm::ArrayRef{sizes->batch, sizes->queries})
      addOperand(builder, value, {factors.batch, factors.queries});
    else if (i == Lengths)
      factors.addVector(value, factors.batch);
    else
      addReplicated(builder, value);
    if ((i == CosCache || i == SinCache) && !isAbsent(value))
      builder.markSparse();
  }
  addResult(builder, op->getResult(0),
            {factors.batch, factors.queries, factors.flat(factors.heads, factors.valueSize)});
  addResult(builder, op->getResult(1), {factors.batch, factors.kvHeads, factors.present, keyCache});
  addResult(builder, op->getResult(2), {factors.batch, factors.kvHeads, factors.present, valueCache});
  addResult(builder, op->getResult(3), {factors.batch, factors.heads, factors.queries, factors.attended});
  builder.setWork(Work::Contraction);
  FactorRule rule = builder.take();
  setFlops(rule, sizes->flops());
  return rule;
}

} // namespace apc
