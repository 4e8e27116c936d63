// Attention that devices share along the positions of its keys: the logarithmic sums of the scores, and the rest.
#include "../../MakeOp.h"
#include "../StandardHeads.h"
#include "SoftmaxAttention.h"

namespace apc {

bool maySplitKeys(mlir::Operation *op) {
  auto standard = llvm::dyn_cast<AttentionOp>(op);
  return llvm::isa<SoftmaxAttentionOp>(op) || (standard && isOfWholeRows(standard));
}

mlir::Operation *splitKeys(mlir::OpBuilder &builder, mlir::Operation *attention) {
  auto standard = llvm::dyn_cast<AttentionOp>(attention);
  auto original = standard ? asSoftmaxAttention(builder, standard) : llvm::cast<SoftmaxAttentionOp>(attention);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(original);
  llvm::SmallVector<mlir::NamedAttribute, 5> attributes;
  for (llvm::StringRef name : {"fill", "keys_transposed", "nan_is_zero", "scale", "seen"})
    if (mlir::Attribute value = original->getAttr(name))
      attributes.push_back(builder.getNamedAttr(name, value));
  std::string name = placeName(original).str();
  mlir::Value q = original.getQ(), k = original.getK(), v = original.getV(), mask = original.getMask();
  mlir::Value logSum = makeOp<SoftmaxAttentionLogSumOp>(builder, name + ".log_sum", {q, k, mask}, attributes);
  mlir::Value whole = makeOp<SoftmaxAttentionByOp>(builder, name, {q, k, v, mask, logSum}, attributes);
  mlir::Operation *made = whole.getDefiningOp();
  if (mlir::Attribute values = original->getAttr(valuesAttribute))
    made->setAttr(valuesAttribute, values);
  // Factors of both have the same names.
  logSum.getDefiningOp()->setAttr(passAttribute, builder.getUnitAttr());
  original.getY().replaceAllUsesWith(whole);
  original.erase();
  return made;
}

void localizeKeys(LocalOp &local) {
  mlir::Value keys = local.original->getOperand(AttentionOperands::Keys);
  bool transposed = intAttribute(local.original, "keys_transposed", 0) != 0;
  auto dim = static_cast<unsigned>(dimsOf(keys).size()) - (transposed ? 1 : 2);
  int64_t whole = dimsOf(keys)[dim];
  if (whole % local.mesh.size(local.operandAxes(AttentionOperands::Keys, dim)) == 0)
    return;
  local.operands.push_back(local.offsetOf(AttentionOperands::Keys, dim));
  local.setInt("total_keys", whole);
}

} // namespace apc
