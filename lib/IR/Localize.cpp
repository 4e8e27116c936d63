// Copies of ops for the pieces that one device holds.
#include "apc/IR/Localize.h"

#include "apc/IR/Ops/Spmd/Spmd.h"

namespace apc {

LocalOp::LocalOp(mlir::OpBuilder &builder, mlir::Operation *original, const FactorRule &rule, const Strategy &strategy,
                 const Mesh &mesh)
    : builder(builder), original(original), rule(rule), strategy(strategy), mesh(mesh),
      operands(original->getOperands()), attributes(original->getAttrDictionary()) {
  for (auto [index, result] : llvm::enumerate(original->getResults())) {
    auto shape = shapeOf(result);
    if (!shape) {
      resultTypes.push_back(result.getType());
      continue;
    }
    TensorShape local = localShape(*shape, resultSharding(rule, strategy, static_cast<unsigned>(index)), mesh);
    auto element = llvm::cast<mlir::RankedTensorType>(result.getType()).getElementType();
    resultTypes.push_back(mlir::RankedTensorType::get(local.dims, element));
  }
}

llvm::ArrayRef<int64_t> LocalOp::resultDims(unsigned index) const {
  return llvm::cast<mlir::RankedTensorType>(resultTypes[index]).getShape();
}

llvm::ArrayRef<int64_t> LocalOp::operandDims(unsigned index) const { return dimsOf(operands[index]); }

AxisList LocalOp::axesOf(const DimFactors &factors) const {
  AxisList axes;
  for (FactorId factor : factors)
    llvm::append_range(axes, strategy.axes[factor.index()]);
  return axes;
}

AxisList LocalOp::operandAxes(unsigned operand, unsigned dim) const { return axesOf(rule.operands[operand].dims[dim]); }
AxisList LocalOp::resultAxes(unsigned result, unsigned dim) const { return axesOf(rule.results[result].dims[dim]); }

bool LocalOp::isOperandCut(unsigned operand, unsigned dim) const { return !operandAxes(operand, dim).empty(); }

void LocalOp::setInt(llvm::StringRef attribute, int64_t value) {
  attributes.set(attribute, builder.getI64IntegerAttr(value));
}

void LocalOp::scaleInt(llvm::StringRef attribute, llvm::StringRef factor) {
  auto value = llvm::dyn_cast_if_present<mlir::IntegerAttr>(attributes.get(attribute));
  if (!value)
    return;
  for (auto [index, known] : llvm::enumerate(rule.factors))
    if (known.name == factor) {
      int64_t ways = mesh.size(strategy.axes[index]);
      setInt(attribute, (value.getInt() + ways - 1) / ways);
    }
}

void LocalOp::setConstant(unsigned operand, llvm::ArrayRef<int64_t> values) {
  auto type = llvm::cast<mlir::RankedTensorType>(operands[operand].getType());
  Tensor tensor;
  tensor.element = type.getElementType();
  if (type.getRank() == 1)
    tensor.dims = {static_cast<int64_t>(values.size())};
  tensor.ints.assign(values.begin(), values.end());
  operands[operand] = ConstantOp::create(builder, original->getLoc(), tensor.toAttribute());
}

mlir::Value LocalOp::offsetOf(unsigned operand, unsigned dim) {
  return offsetIn(rule.operandShape(operand).dims[dim], operandAxes(operand, dim));
}

mlir::Value LocalOp::resultOffsetOf(unsigned result, unsigned dim) {
  return offsetIn(rule.resultShape(result).dims[dim], resultAxes(result, dim));
}

mlir::Value LocalOp::offsetIn(int64_t size, const AxisList &axes) {
  int64_t ways = mesh.size(axes);
  // Padding may stand between pieces: 6 over [2, 2] are 0-1, 2 | 3-4, 5.
  bool isRagged = axes.size() > 1 && size % ways != 0;
  llvm::SmallVector<int64_t, 1> dims(isRagged ? 1 : 0, 2);
  auto type = mlir::RankedTensorType::get(dims, builder.getI64Type());
  auto cut = AxesAttr::get(MeshAttr::get(builder.getContext(), mesh), axes);
  return ShardOffsetOp::create(builder, original->getLoc(), type, cut, size);
}

mlir::Operation *LocalOp::create() {
  mlir::OperationState state(original->getLoc(), original->getName(), operands, resultTypes, attributes.getAttrs());
  return builder.create(state);
}

} // namespace apc
