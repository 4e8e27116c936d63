// Attention that devices share along the positions of its keys: the logarithmic sums of the scores, and the rest.
#include "../../MakeOp.h"
#include "SoftmaxAttention.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Attention/Attention.h"

namespace apc {

mlir::Operation *splitKeys(mlir::OpBuilder &builder, mlir::Operation *attention) {
  auto original = llvm::cast<SoftmaxAttentionOp>(attention);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(original);
  llvm::SmallVector<mlir::NamedAttribute, 5> attributes;
  for (llvm::StringRef name : {"fill", "keys_transposed", "nan_is_zero", "scale", "seen"})
    if (mlir::Attribute value = original->getAttr(name))
      attributes.push_back(builder.getNamedAttr(name, value));
  auto location = llvm::dyn_cast<mlir::NameLoc>(original.getLoc());
  std::string name = location ? location.getName().str() : original->getName().stripDialect().str();
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
