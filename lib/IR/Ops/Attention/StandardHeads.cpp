// ONNX's own attention of heads as softmax attention, whose keys devices can share.
#include "StandardHeads.h"
#include "../MakeOp.h"

#include "apc/IR/Ops/Movement/Movement.h"

#include <cmath>
#include <limits>

namespace apc {

namespace {

/// The ops of one attention, named after it.
class Heads {
public:
  Heads(mlir::OpBuilder &builder, AttentionOp op) : builder(builder), op(op), name(placeName(op).str()) {}

  SoftmaxAttentionOp make() {
    mlir::Value queries = apart("queries", op.getQ(), op.getQNumHeads());
    mlir::Value keys = apart("keys", op.getK(), op.getKvNumHeads());
    mlir::Value values = apart("values", op.getV(), op.getKvNumHeads());
    mlir::Value heads =
        makeOp<SoftmaxAttentionOp>(builder, name, {queries, keys, values, op.getAttnMask()}, attributes(queries));
    mlir::Value whole = isFlat() ? joined(heads) : heads;
    whole.getDefiningOp()->setAttr(valuesAttribute, builder.getArrayAttr({valueName(op, 0)}));
    op.getY().replaceAllUsesWith(whole);
    op.erase();
    return llvm::cast<SoftmaxAttentionOp>(heads.getDefiningOp());
  }

private:
  bool isFlat() { return dimsOf(op.getQ()).size() == 3; }

  /// A query that sees no key gives 0.
  llvm::SmallVector<mlir::NamedAttribute, 3> attributes(mlir::Value queries) {
    double usual = 1 / std::sqrt(static_cast<double>(dimsOf(queries).back()));
    double scale = op.getScale() ? op.getScale()->convertToDouble() : usual;
    llvm::SmallVector<mlir::NamedAttribute, 3> made = {number("scale", static_cast<float>(scale))};
    if (isAbsent(op.getAttnMask()))
      return made;
    made.push_back(builder.getNamedAttr("nan_is_zero", builder.getI64IntegerAttr(1)));
    if (mlir::getElementTypeOrSelf(op.getAttnMask()).isInteger(1))
      made.push_back(number("fill", -std::numeric_limits<float>::infinity()));
    return made;
  }
  mlir::NamedAttribute number(llvm::StringRef called, float value) {
    return builder.getNamedAttr(called, builder.getF32FloatAttr(value));
  }

  mlir::Value reshaped(const llvm::Twine &called, mlir::Value value, llvm::ArrayRef<int64_t> dims) {
    mlir::Value wanted = ConstantOp::create(builder, op.getLoc(), builder.getI64TensorAttr(dims));
    return makeOp<ReshapeOp>(builder, called, {value, wanted},
                             builder.getNamedAttr("allowzero", builder.getI64IntegerAttr(1)));
  }
  mlir::Value turned(const llvm::Twine &called, mlir::Value value) {
    return makeOp<TransposeOp>(builder, called, {value},
                               builder.getNamedAttr("perm", builder.getDenseI64ArrayAttr({0, 2, 1, 3})));
  }
  /// [b, s, heads * size] as [b, heads, s, size].
  mlir::Value apart(llvm::StringRef part, mlir::Value flat, std::optional<uint64_t> count) {
    if (!isFlat())
      return flat;
    llvm::ArrayRef<int64_t> dims = dimsOf(flat);
    auto heads = static_cast<int64_t>(count.value_or(1));
    mlir::Value split = reshaped(name + "." + part + ".split", flat, {dims[0], dims[1], heads, dims[2] / heads});
    return turned(name + "." + part, split);
  }
  mlir::Value joined(mlir::Value heads) {
    llvm::ArrayRef<int64_t> dims = dimsOf(heads);
    return reshaped(name + ".joined", turned(name + ".turned", heads), {dims[0], dims[2], dims[1] * dims[3]});
  }

  mlir::OpBuilder &builder;
  AttentionOp op;
  std::string name;
};

} // namespace

bool isOfWholeRows(AttentionOp attention) {
  if (attention.getIsCausal() != 0 || !attention.getSoftcap().isZero() || attention.getSoftmaxPrecision())
    return false;
  for (mlir::Value absent : {attention.getPastKey(), attention.getPastValue(), attention.getNonpadKvSeqlen()})
    if (!isAbsent(absent))
      return false;
  for (mlir::Value unread : llvm::drop_begin(attention->getResults()))
    if (!unread.use_empty())
      return false;
  mlir::Value mask = attention.getAttnMask();
  if (isAbsent(mask))
    return true;
  mlir::Type element = mlir::getElementTypeOrSelf(mask);
  llvm::ArrayRef<int64_t> keys = dimsOf(attention.getK());
  bool isRead = element.isInteger(1) || element == mlir::getElementTypeOrSelf(attention.getQ());
  return isRead && dimsOf(mask).back() == keys[keys.size() - 2];
}

SoftmaxAttentionOp asSoftmaxAttention(mlir::OpBuilder &builder, AttentionOp attention) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(attention);
  return Heads(builder, attention).make();
}

} // namespace apc
