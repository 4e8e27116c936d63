// Rotary position embedding, in ONNX's form and in com.microsoft's.
#include "apc/IR/Ops/Attention/Attention.h"

#include "../Attributes.h"
#include "Kernels.h"
#include "apc/IR/Apc.h"

namespace apc {

namespace {

/// The indices of the operands, which differ by operator.
struct RotaryOperands {
  unsigned cosines = 1, sines = 2, positions = 3;
};

RotaryOperands operandsOf(mlir::Operation *op) {
  if (llvm::isa<MsRotaryEmbeddingOp>(op))
    return {2, 3, 1};
  return {};
}

/// [batch, heads, queries, size], or [batch, queries, heads * size] (`flat`).
struct RotarySizes {
  bool flat = false;
  int64_t batch = 1, heads = 1, queries = 1, size = 1;
};

mlir::FailureOr<RotarySizes> readShape(mlir::Operation *op) {
  llvm::ArrayRef<int64_t> data = dimsOf(op->getOperand(0));
  llvm::ArrayRef<int64_t> cosines = dimsOf(op->getOperand(operandsOf(op).cosines));
  if ((data.size() != 3 && data.size() != 4) || cosines.empty())
    return op->emitOpError() << "operand '" << operandName(op, 0) << "' has " << data.size()
                             << " dims; [batch, heads, positions, size] or [batch, positions, heads * size] is needed",
           mlir::failure();
  if (data.size() == 4)
    return RotarySizes{false, data[0], data[1], data[2], data[3]};
  int64_t heads = intAttribute(op, "num_heads", 0);
  // com.microsoft's form may leave the heads out: then the angles fill a head.
  if (heads == 0 && llvm::isa<MsRotaryEmbeddingOp>(op)) {
    auto found = cosines.back() < int64_t(1) << 31 ? divide(op, data[2], 2 * cosines.back(), "the size of a head")
                                                   : mlir::FailureOr<int64_t>();
    if (mlir::failed(found))
      return mlir::failure();
    heads = *found;
  }
  auto size = divide(op, data[2], heads, "'num_heads'");
  if (mlir::failed(size))
    return mlir::failure();
  return RotarySizes{true, data[0], heads, data[1], *size};
}

/// Angles: a table [positions, pairs] that position ids look up, or [batch, queries, pairs] without ids.
mlir::LogicalResult checkAngles(mlir::Operation *op, const RotarySizes &sizes) {
  RotaryOperands which = operandsOf(op);
  int64_t rotated = intAttribute(op, "rotary_embedding_dim", 0);
  if (rotated < 0 || rotated > sizes.size)
    return op->emitOpError() << "'rotary_embedding_dim' is " << rotated << "; at most the size of a head, "
                             << sizes.size << ", is needed";
  if (rotated == 0)
    rotated = sizes.size;
  mlir::Value ids = op->getOperand(which.positions);
  llvm::SmallVector<int64_t, 3> expected = {-1, rotated / 2};
  if (isAbsent(ids))
    expected = {sizes.batch, sizes.queries, rotated / 2};
  if (mlir::failed(checkDims(op, which.cosines, expected)) || mlir::failed(checkDims(op, which.sines, expected)))
    return mlir::failure();
  bool oneStart = llvm::isa<MsRotaryEmbeddingOp>(op) && dimsOf(ids).size() <= 1;
  if (oneStart && dimsOf(ids).empty())
    return mlir::success();
  return oneStart ? checkDims(op, which.positions, {1}) : checkDims(op, which.positions, {sizes.batch, sizes.queries});
}

} // namespace

mlir::LogicalResult inferRotaryEmbedding(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readShape(op);
  if (mlir::failed(sizes) || mlir::failed(checkAngles(op, *sizes)))
    return mlir::failure();
  types.push_back(op->getOperand(0).getType());
  return mlir::success();
}

mlir::FailureOr<FactorRule> ruleRotaryEmbedding(mlir::Operation *op) {
  auto sizes = readShape(op);
  if (mlir::failed(sizes) || mlir::failed(checkAngles(op, *sizes)))
    return mlir::failure();
  RotaryOperands which = operandsOf(op);
  FactorRuleBuilder builder;
  mlir::Value ids = op->getOperand(which.positions);
  // One id is the position of the first query: the others count from it, so they are whole.
  bool counted = !isAbsent(ids) && dimsOf(ids).size() <= 1;
  DimFactors batch = {builder.addFactor("b", sizes->batch)}, heads = {builder.addFactor("h", sizes->heads)};
  DimFactors queries = {counted ? builder.addWhole("s", sizes->queries) : builder.addFactor("s", sizes->queries)};
  FactorId size = builder.addWhole("d", sizes->size);
  llvm::SmallVector<DimFactors, 4> data = {batch, heads, queries, {size}};
  if (sizes->flat)
    data = {batch, queries, {heads[0], size}};
  int64_t pairs = dimsOf(op->getOperand(which.cosines)).back();
  llvm::SmallVector<DimFactors, 4> angles = {batch, queries, {builder.addWhole("r", pairs)}};
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    mlir::Value value = op->getOperand(i);
    bool table = i == which.cosines || i == which.sines;
    if (i == 0)
      addOperand(builder, value, data);
    else if (table && isAbsent(ids))
      addOperand(builder, value, angles);
    else if (i == which.positions && !isAbsent(ids) && !counted)
      addOperand(builder, value, {batch, queries});
    else
      addReplicated(builder, value);
    if (table && !isAbsent(ids))
      builder.markSparse();
  }
  addResult(builder, op->getResult(0), data);
  FactorRule rule = builder.take();
  setFlops(rule, 4.0 * double(shapeOf(op->getResult(0))->numElements()));
  return rule;
}

Evaluated evaluateRotaryEmbedding(mlir::Operation *op, Operands operands) {
  auto sizes = readShape(op);
  // The schema does not say to which values com.microsoft's `scale` applies.
  if (mlir::failed(sizes) || !areAllKnown(op, operands) || floatAttribute(op, "scale", 1) != 1)
    return std::nullopt;
  RotaryOperands which = operandsOf(op);
  const Tensor &data = *operands[0], *ids = operands[which.positions];
  Tensor x = sizes->flat ? splitHeads(data, sizes->heads) : data;
  auto row = [&](int64_t batch, int64_t position) {
    int64_t flat = batch * sizes->queries + position;
    if (!ids)
      return flat;
    return ids->numElements() == 1 && ids->dims.size() < 2 ? ids->ints[0] + position : ids->ints[flat];
  };
  rotate(x, *operands[which.cosines], *operands[which.sines], intAttribute(op, "interleaved", 0) != 0, row);
  return evaluatedAs(sizes->flat ? joinHeads(x) : std::move(x));
}

void localizeRotaryEmbedding(LocalOp &local) {
  if (local.attributes.get("num_heads") && intAttribute(local.original, "num_heads", 0) != 0)
    local.setInt("num_heads", localHeads(local, {"h"}));
}

void differentiateRotation(GradientBuilder &g, unsigned sines) {
  mlir::Operation *forward = g.getForward();
  llvm::SmallVector<mlir::Value, 4> operands(forward->getOperands());
  operands[0] = g.incoming();
  operands[sines] = g.neg(operands[sines]);
  llvm::SmallVector<mlir::NamedAttribute, 4> attributes;
  for (llvm::StringRef name : {"interleaved", "is_packed_batching", "num_heads", "rotary_embedding_dim", "scale"})
    if (mlir::Attribute value = forward->getAttr(name))
      attributes.push_back(g.attribute(name, value));
  bool isStandard = llvm::isa<RotaryEmbeddingOp>(forward);
  g.give(0, isStandard ? g.make<RotaryEmbeddingOp>(operands, attributes)
                       : g.make<MsRotaryEmbeddingOp>(operands, attributes));
}

} // namespace apc
