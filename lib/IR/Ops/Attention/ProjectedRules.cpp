// Self-attention that begins with the projection of its input: com.microsoft's Attention.
#include "apc/IR/Ops/Attention/Attention.h"

#include "Factors.h"
#include "Kernels.h"
#include "Projected.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

mlir::FailureOr<llvm::SmallVector<int64_t, 3>> projectedSizes(ProjectedAttentionOp op) {
  int64_t columns = dimsOf(op->getOperand(Projected::Weights))[1];
  llvm::ArrayRef<int64_t> given = op.getQkvHiddenSizes().value_or(llvm::ArrayRef<int64_t>());
  if (given.empty()) {
    auto third = divide(op, columns, 3, "the number of projections");
    if (mlir::failed(third))
      return mlir::failure();
    return llvm::SmallVector<int64_t, 3>(3, *third);
  }
  bool fits = given.size() == 3 && given[0] == given[1];
  for (int64_t size : given)
    fits = fits && size > 0 && size <= columns;
  if (!fits || given[0] + given[1] + given[2] != columns)
    return op->emitOpError() << "'qkv_hidden_sizes' is " << printDims(given) << "; 3 sizes that add up to " << columns
                             << " are needed, the first two equal",
           mlir::failure();
  return llvm::SmallVector<int64_t, 3>(given);
}

namespace {

mlir::FailureOr<AttentionSizes> readSizes(ProjectedAttentionOp op) {
  if (mlir::failed(checkExtents(op)) || mlir::failed(checkDims(op, Projected::Input, {-1, -1, -1})) ||
      mlir::failed(checkDims(op, Projected::Weights, {-1, -1})))
    return mlir::failure();
  llvm::ArrayRef<int64_t> input = dimsOf(op->getOperand(Projected::Input)),
                          weights = dimsOf(op->getOperand(Projected::Weights));
  if (mlir::failed(checkDims(op, Projected::Weights, {input[2], -1})) ||
      mlir::failed(checkDims(op, Projected::Bias, {weights[1]})))
    return mlir::failure();
  auto hidden = projectedSizes(op);
  if (mlir::failed(hidden))
    return mlir::failure();
  AttentionSizes sizes;
  sizes.kvHeads = op.getNumHeads();
  // On a piece the weights have more heads than the piece.
  int64_t total = op.getTotalHeads().value_or(sizes.kvHeads);
  auto headSize = divide(op, hidden->front(), total, "'num_heads'");
  auto valueSize = divide(op, hidden->back(), total, "'num_heads'");
  if (mlir::failed(headSize) || mlir::failed(valueSize))
    return mlir::failure();
  sizes.batch = input[0];
  sizes.queries = sizes.keys = input[1];
  sizes.headSize = *headSize;
  sizes.valueSize = *valueSize;
  if (mlir::failed(checkDims(op, Projected::Past, {2, sizes.batch, sizes.kvHeads, -1, sizes.headSize})))
    return mlir::failure();
  if (!isAbsent(op->getOperand(Projected::Past)))
    sizes.past = dimsOf(op->getOperand(Projected::Past))[3];
  bool shared = sizes.past > 0 && op.getPastPresentShareBuffer() != 0;
  sizes.present = sizes.attended = shared ? sizes.past : sizes.past + sizes.keys;
  if (mlir::failed(checkMask(op, Projected::AttentionBias, sizes)) ||
      mlir::failed(checkPaddingMask(op, Projected::MaskIndex, sizes)))
    return mlir::failure();
  return sizes;
}

/// Lengths [b], masks [b, ...], or other forms, which are whole.
void addMaskIndex(FactorRuleBuilder &builder, AttentionFactors &factors, int64_t batch, mlir::Value value) {
  auto shape = shapeOf(value);
  if (!shape || shape->numDims() < 2 || shape->dims[0] != batch)
    return factors.addVector(value, factors.batch);
  llvm::SmallVector<DimFactors, 4> dims = {factors.batch};
  for (auto [index, size] : llvm::drop_begin(llvm::enumerate(shape->dims)))
    dims.push_back({builder.addWhole(numbered("m", index), size)});
  builder.addOperand(std::move(dims), shape->elementBits);
}

} // namespace

mlir::LogicalResult ProjectedAttentionOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  ProjectedAttentionOp op = *this;
  auto sizes = readSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  mlir::Type element = operandElement(op, Projected::Input);
  if (mlir::failed(addType(op, {sizes->batch, sizes->queries, sizes->heads() * sizes->valueSize}, element, types)))
    return mlir::failure();
  return addType(op, {2, sizes->batch, sizes->heads(), sizes->present, sizes->headSize}, element, types);
}

// The FLOPs of the projection come on top of those of the attention.
mlir::FailureOr<FactorRule> ProjectedAttentionOp::getRule() {
  ProjectedAttentionOp op = *this;
  auto sizes = readSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  // The input gives keys as well as queries, so its positions are whole. The columns of the weights stand as all
  // queries, all keys, all values: a cut of the heads is one inside these parts.
  // Lengths with first positions or sums are of all batch elements.
  llvm::ArrayRef<int64_t> mask = dimsOf(op->getOperand(Projected::MaskIndex));
  bool batchWhole = mask.size() == 1 && mask[0] != sizes->batch;
  AttentionFactors factors(builder, *sizes, /*queriesWhole=*/true, batchWhole);
  llvm::ArrayRef<int64_t> weights = dimsOf(op->getOperand(Projected::Weights));
  DimFactors input = {builder.addWhole("i", weights[0])}, columns = factors.packed("qkv", weights[1]);
  DimFactors two = {builder.addWhole("two", 2)};
  addOperand(builder, op->getOperand(Projected::Input), {factors.batch, factors.queries, input});
  addOperand(builder, op->getOperand(Projected::Weights), {input, columns});
  addOperand(builder, op->getOperand(Projected::Bias), {columns});
  addMaskIndex(builder, factors, sizes->batch, op->getOperand(Projected::MaskIndex));
  addOperand(builder, op->getOperand(Projected::Past),
             {two, factors.batch, factors.heads, factors.past, factors.headSize});
  factors.addMask(op->getOperand(Projected::AttentionBias));
  addReplicated(builder, op->getOperand(Projected::PastLength));
  addResult(builder, op->getResult(0),
            {factors.batch, factors.queries, factors.flat(factors.heads, factors.valueSize)});
  addResult(builder, op->getResult(1), {two, factors.batch, factors.heads, factors.present, factors.headSize});
  builder.setWork(Work::Contraction);
  FactorRule rule = builder.take();
  int64_t keySize = sizes->kvHeads * sizes->headSize, valueSize = sizes->kvHeads * sizes->valueSize;
  cutInsideParts(rule, Projected::Weights, 1, {keySize, keySize, valueSize});
  cutInsideParts(rule, Projected::Bias, 0, {keySize, keySize, valueSize});
  double projection = 2.0 * double(sizes->batch) * double(sizes->queries) * double(weights[0]) * double(weights[1]);
  setFlops(rule, projection + sizes->flops());
  return rule;
}

void ProjectedAttentionOp::localize(LocalOp &local) {
  int64_t heads = localHeads(local, {"kv"}), total = getNumHeads();
  if (heads == total)
    return;
  local.setInt("num_heads", heads);
  llvm::SmallVector<int64_t, 3> hidden(getQkvHiddenSizes().value_or(llvm::ArrayRef<int64_t>()));
  for (int64_t &size : hidden)
    size = size / total * heads;
  if (!hidden.empty())
    local.attributes.set("qkv_hidden_sizes", local.builder.getDenseI64ArrayAttr(hidden));
}

} // namespace apc
