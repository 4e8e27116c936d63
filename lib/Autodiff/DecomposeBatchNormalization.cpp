// Batch normalisation as means, a sum of squares and an elementwise op.
#include "apc/Autodiff/DecomposeBatchNormalization.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

namespace {

using Attributes = llvm::ArrayRef<mlir::NamedAttribute>;

class Decomposition {
public:
  explicit Decomposition(BatchNormalizationOp op) : op(op), builder(op) {
    if (auto location = llvm::dyn_cast<mlir::NameLoc>(op.getLoc()))
      name = location.getName().str();
    else
      name = op->getName().stripDialect().str();
  }

  void rewrite();

private:
  /// An op called after the whole with `suffix` behind it, with the type that follows for its first result.
  template <typename Op>
  mlir::Value make(llvm::StringRef suffix, mlir::ValueRange operands, Attributes attributes = {});
  mlir::Value constant(const Tensor &tensor) { return ConstantOp::create(builder, op.getLoc(), tensor.toAttribute()); }
  mlir::Value integers(llvm::ArrayRef<int64_t> values);
  mlir::Value number(double value, mlir::Value like);
  mlir::Value meanOverBatch(llvm::StringRef suffix, mlir::Value value);
  mlir::Value cast(llvm::StringRef suffix, mlir::Value value, mlir::Value like);
  /// Sums over a batch in fewer than 32 bits would lose most of it.
  mlir::Value inSinglePrecision(mlir::Value value);
  /// Statistic results: running before `saved`.
  void replaceStatistics(unsigned operand, llvm::StringRef suffix, mlir::Value current);

  BatchNormalizationOp op;
  mlir::OpBuilder builder;
  std::string name;
};

template <typename Op>
mlir::Value Decomposition::make(llvm::StringRef suffix, mlir::ValueRange operands, Attributes attributes) {
  mlir::OperationState state(mlir::NameLoc::get(builder.getStringAttr(name + suffix)), Op::getOperationName());
  state.addOperands(operands);
  state.addAttributes(attributes);
  state.addTypes(op.getX().getType());
  mlir::Operation *made = builder.create(state);
  llvm::SmallVector<mlir::Type, 1> types;
  bool inferred = mlir::succeeded(llvm::cast<OperatorInterface>(made).inferTypes(types));
  assert(inferred && "the parts of a batch normalisation are well formed");
  (void)inferred;
  made->getResult(0).setType(types.front());
  return made->getResult(0);
}

mlir::Value Decomposition::integers(llvm::ArrayRef<int64_t> values) {
  return constant({{static_cast<int64_t>(values.size())}, builder.getI64Type(), {values.begin(), values.end()}, {}});
}

mlir::Value Decomposition::number(double value, mlir::Value like) {
  Tensor tensor = zeros(mlir::RankedTensorType::get({}, mlir::getElementTypeOrSelf(like)));
  tensor.floats = {value};
  roundToElement(tensor);
  return constant(tensor);
}

mlir::Value Decomposition::meanOverBatch(llvm::StringRef suffix, mlir::Value value) {
  llvm::SmallVector<int64_t, 4> axes = {0};
  for (size_t dim = 2; dim < dimsOf(value).size(); ++dim)
    axes.push_back(static_cast<int64_t>(dim));
  return make<ReduceMeanOp>(suffix, {value, integers(axes)},
                            builder.getNamedAttr("keepdims", builder.getI64IntegerAttr(0)));
}

mlir::Value Decomposition::cast(llvm::StringRef suffix, mlir::Value value, mlir::Value like) {
  if (mlir::getElementTypeOrSelf(value) == mlir::getElementTypeOrSelf(like))
    return value;
  return make<CastLikeOp>(suffix, {value, like});
}

mlir::Value Decomposition::inSinglePrecision(mlir::Value value) {
  mlir::Type wide = builder.getF32Type();
  if (mlir::getElementTypeOrSelf(value).getIntOrFloatBitWidth() >= wide.getIntOrFloatBitWidth())
    return value;
  return make<CastOp>(".wide", value, builder.getNamedAttr("to", builder.getI64IntegerAttr(dataType(wide))));
}

void Decomposition::replaceStatistics(unsigned operand, llvm::StringRef suffix, mlir::Value current) {
  mlir::Value running = op->getResult(operand - 2), saved = op->getResult(operand), old = op->getOperand(operand);
  if (running.use_empty() && saved.use_empty())
    return;
  mlir::Value made = cast((suffix + ".cast").str(), current, old);
  double momentum = op.getMomentum().convertToDouble();
  saved.replaceAllUsesWith(made);
  if (running.use_empty())
    return;
  mlir::Value kept = make<MulOp>((suffix + ".kept").str(), {old, number(momentum, old)});
  mlir::Value added = make<MulOp>((suffix + ".added").str(), {made, number(1 - momentum, old)});
  running.replaceAllUsesWith(make<AddOp>((suffix + ".running").str(), {kept, added}));
}

void Decomposition::rewrite() {
  mlir::Value x = op.getX(), wide = inSinglePrecision(x), mean = meanOverBatch(".mean", wide);
  llvm::SmallVector<int64_t, 4> column(dimsOf(x).size() - 1, 1);
  column.front() = dimsOf(x)[1];
  mlir::Value shaped = mean;
  if (column.size() > 1)
    shaped = make<ReshapeOp>(".column", {mean, integers(column)});
  mlir::Value centred = make<SubOp>(".centred", {wide, shaped});
  mlir::Value variance = meanOverBatch(".variance", make<MulOp>(".square", {centred, centred}));
  mlir::Value y = make<BatchNormalizeOp>("", {x, op.getScale(), op.getB(), mean, variance},
                                         builder.getNamedAttr("epsilon", op.getEpsilonAttr()));
  if (auto names = op->getAttrOfType<mlir::ArrayAttr>(valuesAttribute); names && !names.empty())
    y.getDefiningOp()->setAttr(valuesAttribute, builder.getArrayAttr(names.getValue().take_front(1)));
  op.getY().replaceAllUsesWith(y);
  replaceStatistics(3, ".mean", mean);
  replaceStatistics(4, ".variance", variance);
  op.erase();
}

bool isRewritten(BatchNormalizationOp op) { return dimsOf(op.getX()).size() >= 2 && op.getSpatial() != 0; }

} // namespace

void decomposeBatchNormalization(mlir::func::FuncOp main) {
  for (BatchNormalizationOp op : llvm::make_early_inc_range(main.getOps<BatchNormalizationOp>()))
    if (isRewritten(op))
      Decomposition(op).rewrite();
}

bool takesBatchStatistics(mlir::func::FuncOp main) {
  return llvm::any_of(main.getOps<BatchNormalizationOp>(), isRewritten);
}

} // namespace apc
