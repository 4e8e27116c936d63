// The factors of attention, tensor by tensor, and checks of its operands.
#include "Factors.h"

#include "apc/IR/RuleBuilder.h"

namespace apc {

bool hasRowPerQuery(llvm::ArrayRef<int64_t> mask, int64_t queries) {
  return queries > 1 && mask.size() > 1 && mask[mask.size() - 2] == queries;
}

AttentionFactors::AttentionFactors(FactorRuleBuilder &builder, const AttentionSizes &sizes, bool queriesWhole,
                                   bool batchWhole)
    : builder(builder), sizes(sizes) {
  batch = {batchWhole ? builder.addWhole("b", sizes.batch) : builder.addFactor("b", sizes.batch)};
  if (sizes.kvHeads != 1 || sizes.group == 1)
    kvHeads = {builder.addFactor("kv", sizes.kvHeads)};
  heads = kvHeads;
  if (sizes.group != 1)
    heads.push_back(builder.addFactor("g", sizes.group));
  queries = {queriesWhole ? builder.addWhole("s", sizes.queries) : builder.addFactor("s", sizes.queries)};
  keys = {builder.addWhole("t", sizes.keys)};
  present = sizes.present == sizes.keys ? keys : DimFactors{builder.addWhole("u", sizes.present)};
  attended = sizes.attended == sizes.present ? present : DimFactors{builder.addWhole("a", sizes.attended)};
  if (sizes.past > 0)
    past = sizes.past == sizes.present ? present : DimFactors{builder.addWhole("p", sizes.past)};
  headSize = {builder.addWhole("d", sizes.headSize)};
  valueSize = {builder.addWhole("e", sizes.valueSize)};
}

DimFactors AttentionFactors::flat(const DimFactors &heads, const DimFactors &size) const {
  DimFactors dim = heads;
  dim.append(size);
  return dim;
}

DimFactors AttentionFactors::packed(llvm::StringRef name, int64_t width) {
  bool hasHeads = sizes.kvHeads > 1;
  DimFactors dim = hasHeads ? kvHeads : DimFactors();
  dim.push_back(builder.addWhole(name, hasHeads ? width / sizes.kvHeads : width));
  return dim;
}

FusedAttention AttentionFactors::fused(bool causal) const {
  llvm::SmallVector<FactorId, 2> rows = queries;
  if (sizes.group != 1)
    rows.push_back(heads.back());
  return {sizes.headSize, sizes.attended, causal, masked, rows};
}

void AttentionFactors::addMask(mlir::Value value) {
  auto shape = shapeOf(value);
  if (!shape)
    return builder.addAbsentOperand();
  noteMask(shape->dims);
  const std::array<DimFactors, 4> full = {batch, heads, queries, attended};
  const std::array<int64_t, 4> extents = {sizes.batch, sizes.heads(), sizes.queries, sizes.attended};
  llvm::SmallVector<DimFactors, 4> dims;
  for (auto [index, size] : llvm::enumerate(shape->dims)) {
    size_t position = 4 - shape->dims.size() + index;
    if (size == extents[position])
      dims.push_back(full[position]);
    else if (size == 1)
      dims.push_back({});
    else
      dims.push_back({builder.addWhole(numbered("m", index), size)});
  }
  builder.addOperand(std::move(dims), shape->elementBits);
}

void AttentionFactors::addPast(mlir::Value value, const DimFactors &size) {
  addOperand(builder, value, {batch, kvHeads, past, size});
}

void AttentionFactors::addVector(mlir::Value value, const DimFactors &dim) {
  auto shape = shapeOf(value);
  bool isHeads = &dim == &heads;
  if (shape && shape->numDims() == 1 && shape->dims[0] == (isHeads ? sizes.heads() : sizes.batch))
    return builder.addOperand({dim}, shape->elementBits);
  addReplicated(builder, value);
}

void cutInsideParts(FactorRule &rule, unsigned operand, unsigned dim, llvm::ArrayRef<int64_t> sizes) {
  RuleTensor &tensor = rule.operands[operand];
  if (!tensor.absent && tensor.dims[dim].size() > 1)
    setParts(tensor.parted, dim, sizes);
}

mlir::LogicalResult checkMask(mlir::Operation *op, unsigned operand, const AttentionSizes &sizes) {
  if (operand >= op->getNumOperands() || isAbsent(op->getOperand(operand)))
    return mlir::success();
  llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(operand));
  const std::array<int64_t, 4> extents = {sizes.batch, sizes.heads(), sizes.queries, sizes.attended};
  bool fits = !dims.empty() && dims.size() <= 4;
  for (size_t index = 0; fits && index < dims.size(); ++index) {
    size_t position = 4 - dims.size() + index;
    fits = dims[index] == 1 || dims[index] == extents[position] || (position == 3 && dims[index] < extents[position]);
  }
  if (fits)
    return mlir::success();
  return op->emitOpError() << "operand '" << operandName(op, operand) << "' does not broadcast to [" << extents[0]
                           << ", " << extents[1] << ", " << extents[2] << ", " << extents[3]
                           << "] (batch, heads, queries, keys)";
}

mlir::LogicalResult checkPaddingMask(mlir::Operation *op, unsigned operand, const AttentionSizes &sizes) {
  if (operand >= op->getNumOperands() || isAbsent(op->getOperand(operand)))
    return mlir::success();
  llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(operand));
  bool fits = dims.size() > 1 && (dims[0] == sizes.batch || dims[0] == 1);
  bool areKeys = !dims.empty() && dims.back() >= sizes.keys && dims.back() <= sizes.attended;
  if (dims.size() == 1)
    fits = dims[0] == sizes.batch || dims[0] == 2 * sizes.batch || dims[0] == 3 * sizes.batch + 2;
  else if (dims.size() == 2)
    fits = fits && areKeys;
  else if (dims.size() == 3)
    fits = fits && areKeys && dims[1] == sizes.queries;
  else
    fits = fits && dims.size() == 4 && dims[1] == 1 && dims[2] >= sizes.attended && dims[3] >= sizes.attended;
  if (fits)
    return mlir::success();
  return op->emitOpError() << "operand '" << operandName(op, operand) << "' has shape " << printDims(dims)
                           << "; accepted are [b], [2 b], [3 b + 2], [b, t], [b, s, t] and [b, 1, u, u] with batch b = "
                           << sizes.batch << ", queries s = " << sizes.queries << ", keys t from " << sizes.keys
                           << " to " << sizes.attended << " and u of at least " << sizes.attended;
}

} // namespace apc
