// Attention with fewer key heads than query heads, caches and rotation inside, as exporters write decoders.
#include "apc/IR/Ops/Attention/Attention.h"

#include "Factors.h"
#include "GroupQuery.h"
#include "Kernels.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

bool isPacked(GroupQueryAttentionOp op) { return isAbsent(op->getOperand(GroupQuery::Key)); }

/// Head sizes: of [b, s, (heads + 2 kv) d] when packed, else of query and value.
mlir::LogicalResult readHeads(GroupQueryAttentionOp op, AttentionSizes &sizes) {
  int64_t heads = op.getNumHeads(), kvHeads = op.getKvNumHeads();
  if (heads < 1 || kvHeads < 1 || heads % kvHeads != 0 || heads >= int64_t(1) << 30)
    return op->emitOpError() << "'num_heads' is " << heads << " and 'kv_num_heads' " << kvHeads
                             << "; the first must be a multiple of the second";
  sizes.kvHeads = kvHeads;
  sizes.group = heads / kvHeads;
  llvm::ArrayRef<int64_t> query = dimsOf(op->getOperand(GroupQuery::Query));
  // On a piece the packed operand still has all heads.
  int64_t packed = op.getTotalHeads().value_or(heads) + 2 * op.getTotalKvHeads().value_or(kvHeads);
  auto size = divide(op, query[2], isPacked(op) ? packed : heads,
                     isPacked(op) ? "'num_heads' + 2 * 'kv_num_heads'" : "'num_heads'");
  if (mlir::failed(size))
    return mlir::failure();
  sizes.headSize = sizes.valueSize = *size;
  if (isPacked(op))
    return mlir::success();
  if (mlir::failed(checkDims(op, GroupQuery::Key, {query[0], -1, kvHeads * *size})) ||
      mlir::failed(
          checkDims(op, GroupQuery::Value, {query[0], dimsOf(op->getOperand(GroupQuery::Key))[1], kvHeads * *size})))
    return mlir::failure();
  sizes.keys = dimsOf(op->getOperand(GroupQuery::Key))[1];
  return mlir::success();
}

/// Tables of angles [positions, pairs], ids of all positions, lengths by batch element, sinks by head, weights by
/// element of a head.
mlir::LogicalResult checkSides(GroupQueryAttentionOp op, const AttentionSizes &sizes) {
  for (unsigned table : {GroupQuery::CosCache, GroupQuery::SinCache}) {
    llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(table));
    if (!isAbsent(op->getOperand(table)) && (dims.size() != 2 || 2 * dims[1] > sizes.headSize))
      return op->emitOpError() << "operand '" << operandName(op, table) << "' has shape " << printDims(dims)
                               << "; [positions, pairs] with at most " << sizes.headSize / 2
                               << " pairs of elements of a head is needed";
  }
  mlir::Value cosines = op->getOperand(GroupQuery::CosCache), lengths = op->getOperand(GroupQuery::Lengths),
              ids = op->getOperand(GroupQuery::PositionIds);
  if (!isAbsent(cosines) && mlir::failed(checkDims(op, GroupQuery::SinCache, dimsOf(cosines))))
    return mlir::failure();
  bool isColumn = dimsOf(lengths).size() == 2;
  if (mlir::failed(isColumn ? checkDims(op, GroupQuery::Lengths, {sizes.batch, 1})
                            : checkDims(op, GroupQuery::Lengths, {sizes.batch})))
    return mlir::failure();
  bool isOfOne = dimsOf(ids).size() == 2 && dimsOf(ids)[0] == 1;
  if (mlir::failed(checkDims(op, GroupQuery::PositionIds, {isOfOne ? 1 : sizes.batch, sizes.queries})) ||
      mlir::failed(checkDims(op, GroupQuery::HeadSink, {sizes.heads()})) ||
      mlir::failed(checkDims(op, GroupQuery::QueryNorm, {sizes.headSize})))
    return mlir::failure();
  return checkDims(op, GroupQuery::KeyNorm, {sizes.headSize});
}

mlir::FailureOr<AttentionSizes> readSizes(GroupQueryAttentionOp op) {
  if (mlir::failed(checkExtents(op)) || mlir::failed(checkDims(op, GroupQuery::Query, {-1, -1, -1})))
    return mlir::failure();
  if (isAbsent(op->getOperand(GroupQuery::Key)) != isAbsent(op->getOperand(GroupQuery::Value)))
    return op->emitOpError() << "operands 'key' and 'value' are given together or not at all", mlir::failure();
  llvm::ArrayRef<int64_t> query = dimsOf(op->getOperand(GroupQuery::Query));
  AttentionSizes sizes;
  sizes.batch = query[0];
  sizes.queries = sizes.keys = query[1];
  if (mlir::failed(readHeads(op, sizes)))
    return mlir::failure();
  // A quantised cache may hold two values in a byte, so its last dim says nothing.
  auto stored = [&](unsigned past) -> int64_t {
    return operandElement(op, past) == operandElement(op, GroupQuery::Query) ? sizes.headSize : -1;
  };
  if (mlir::failed(checkDims(op, GroupQuery::PastKey, {sizes.batch, sizes.kvHeads, -1, stored(GroupQuery::PastKey)})))
    return mlir::failure();
  if (!isAbsent(op->getOperand(GroupQuery::PastKey)))
    sizes.past = dimsOf(op->getOperand(GroupQuery::PastKey))[2];
  if (mlir::failed(checkDims(op, GroupQuery::PastValue,
                             {sizes.batch, sizes.kvHeads, sizes.past, stored(GroupQuery::PastValue)})))
    return mlir::failure();
  // A cache that is longer than all positions so far is one buffer that comes in and goes out.
  sizes.attended = knownTotal(op->getOperand(GroupQuery::TotalLength)).value_or(sizes.past + sizes.keys);
  sizes.present = op.getSlidingWindowCache() != 0 && sizes.past > 0 ? sizes.past : std::max(sizes.past, sizes.attended);
  if (mlir::failed(checkSides(op, sizes)))
    return mlir::failure();
  return sizes;
}

} // namespace

std::optional<int64_t> knownTotal(mlir::Value total) {
  constexpr int64_t most = int64_t(1) << 30;
  auto numbers = isAbsent(total) ? std::nullopt : constantInts(total);
  bool isKnown = numbers && numbers->size() == 1 && numbers->front() > 0 && numbers->front() <= most;
  return isKnown ? std::optional(numbers->front()) : std::nullopt;
}

mlir::LogicalResult GroupQueryAttentionOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  GroupQueryAttentionOp op = *this;
  auto sizes = readSizes(op);
  if (mlir::failed(sizes) || mlir::failed(checkMask(op, GroupQuery::AttentionBias, *sizes)))
    return mlir::failure();
  mlir::Type element = operandElement(op, GroupQuery::Query);
  if (mlir::failed(addType(op, {sizes->batch, sizes->queries, sizes->heads() * sizes->valueSize}, element, types)))
    return mlir::failure();
  for (mlir::Value past : {op->getOperand(GroupQuery::PastKey), op->getOperand(GroupQuery::PastValue)}) {
    bool cached = !isAbsent(past);
    int64_t size = cached ? dimsOf(past)[3] : sizes->headSize;
    mlir::Type stored = cached ? llvm::cast<mlir::RankedTensorType>(past.getType()).getElementType() : element;
    if (mlir::failed(addType(op, {sizes->batch, sizes->kvHeads, sizes->present, size}, stored, types)))
      return mlir::failure();
  }
  return addType(op, {sizes->batch, sizes->heads(), sizes->queries, sizes->attended}, element, types);
}

mlir::FailureOr<FactorRule> GroupQueryAttentionOp::getRule() {
  GroupQueryAttentionOp op = *this;
  auto sizes = readSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  AttentionFactors factors(builder, *sizes, /*queriesWhole=*/true);
  bool packed = isPacked(op);
  auto cacheSize = [&](mlir::Value past, const DimFactors &size, llvm::StringRef name) {
    if (isAbsent(past) || dimsOf(past)[3] == sizes->headSize)
      return size;
    return DimFactors{builder.addWhole(name, dimsOf(past)[3])};
  };
  DimFactors keyCache = cacheSize(op->getOperand(GroupQuery::PastKey), factors.headSize, "dq");
  DimFactors valueCache = cacheSize(op->getOperand(GroupQuery::PastValue), factors.valueSize, "eq");
  // Packed heads stand as all queries, all keys, all values: a cut of the key heads is one inside these parts. Where
  // there is one key head, the operand is whole, and each device takes its heads out of it.
  DimFactors query = packed ? factors.packed("qkv", dimsOf(op->getOperand(GroupQuery::Query))[2])
                            : factors.flat(factors.heads, factors.headSize);
  addOperand(builder, op->getOperand(GroupQuery::Query), {factors.batch, factors.queries, query});
  DimFactors keys = sizes->keys == sizes->queries ? factors.queries : factors.keys;
  addOperand(builder, op->getOperand(GroupQuery::Key),
             {factors.batch, keys, factors.flat(factors.kvHeads, factors.headSize)});
  addOperand(builder, op->getOperand(GroupQuery::Value),
             {factors.batch, keys, factors.flat(factors.kvHeads, factors.valueSize)});
  factors.addPast(op->getOperand(GroupQuery::PastKey), keyCache);
  factors.addPast(op->getOperand(GroupQuery::PastValue), valueCache);
  for (unsigned i = GroupQuery::Lengths; i < op->getNumOperands(); ++i) {
    mlir::Value value = op->getOperand(i);
    if (i == GroupQuery::AttentionBias)
      factors.addMask(value);
    else if (i == GroupQuery::HeadSink)
      factors.addVector(value, factors.heads);
    else if (i == GroupQuery::PositionIds && !isAbsent(value) &&
             dimsOf(value) == llvm::ArrayRef{sizes->batch, sizes->queries})
      addOperand(builder, value, {factors.batch, factors.queries});
    else if (i == GroupQuery::Lengths && dimsOf(value).size() == 2)
      addOperand(builder, value, {factors.batch, {}});
    else if (i == GroupQuery::Lengths)
      factors.addVector(value, factors.batch);
    else
      addReplicated(builder, value);
    if ((i == GroupQuery::CosCache || i == GroupQuery::SinCache) && !isAbsent(value))
      builder.markSparse();
  }
  addResult(builder, op->getResult(0),
            {factors.batch, factors.queries, factors.flat(factors.heads, factors.valueSize)});
  addResult(builder, op->getResult(1), {factors.batch, factors.kvHeads, factors.present, keyCache});
  addResult(builder, op->getResult(2), {factors.batch, factors.kvHeads, factors.present, valueCache});
  addResult(builder, op->getResult(3), {factors.batch, factors.heads, factors.queries, factors.attended});
  builder.setAttention(factors.fused(/*causal=*/true));
  FactorRule rule = builder.take();
  int64_t keySize = sizes->kvHeads * sizes->headSize;
  if (packed)
    cutInsideParts(rule, GroupQuery::Query, 2, {keySize * sizes->group, keySize, keySize});
  setFlops(rule, sizes->flops());
  return rule;
}

void GroupQueryAttentionOp::localize(LocalOp &local) {
  int64_t heads = localHeads(local, {"kv", "g"}), total = getNumHeads();
  if (heads == total)
    return;
  local.setInt("num_heads", heads);
  int64_t keyHeads = localHeads(local, {"kv"});
  local.setInt("kv_num_heads", keyHeads);
  // The packed operand has the query heads of all key heads of this piece: more than the piece's when groups are cut.
  int64_t packed = total / static_cast<int64_t>(getKvNumHeads()) * keyHeads;
  if (!isPacked(*this) || heads == packed)
    return;
  local.setInt("total_heads", packed);
  local.setInt("total_kv_heads", keyHeads);
  local.operands.push_back(firstHead(local, {"g"}));
}

} // namespace apc
