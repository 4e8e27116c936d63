// Rules written dim by dim in C++, and checks of operands and result types.
#include "apc/IR/RuleBuilder.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace apc {

std::string printDims(llvm::ArrayRef<int64_t> dims) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(dims, stream);
  stream << ']';
  return text;
}

std::optional<int64_t> checkedProduct(llvm::ArrayRef<int64_t> dims) {
  int64_t product = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    empty |= dim == 0;
    if (dim < 0 || (dim > 0 && llvm::MulOverflow(product, dim, product)))
      return std::nullopt;
  }
  return empty ? 0 : product;
}

int64_t mergedSize(llvm::ArrayRef<int64_t> sizes) {
  if (llvm::any_of(sizes, [](int64_t size) { return size < 0; }))
    return -1;
  return checkedProduct(sizes).value_or(std::numeric_limits<int64_t>::max());
}

mlir::LogicalResult addType(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, mlir::Type element,
                            llvm::SmallVectorImpl<mlir::Type> &types) {
  if (llvm::any_of(dims, [](int64_t dim) { return dim < 0; }))
    return op->emitOpError() << "gives a result of shape " << printDims(dims) << ", but dims are at least 0";
  std::optional<int64_t> count = checkedProduct(dims);
  if (!count || *count > std::numeric_limits<int64_t>::max() / 64)
    return op->emitOpError() << "gives a result of shape " << printDims(dims) << ", whose size overflows 64 bits";
  types.push_back(mlir::RankedTensorType::get(dims, element));
  return mlir::success();
}

mlir::FailureOr<Tensor> requireConstant(mlir::Operation *op, unsigned operand) {
  if (mlir::DenseElementsAttr attribute = constantOf(op->getOperand(operand)))
    return Tensor::read(attribute);
  return op->emitOpError() << "operand '" << operandName(op, operand)
                           << "' decides a shape, so it must follow from constants and input shapes",
         mlir::failure();
}

mlir::FailureOr<llvm::SmallVector<unsigned, 6>> normalizeAxes(mlir::Operation *op, llvm::ArrayRef<int64_t> axes,
                                                              size_t numDims) {
  llvm::SmallVector<unsigned, 6> normalized;
  for (int64_t axis : axes) {
    mlir::FailureOr<unsigned> dim = normalizeAxis(op, axis, numDims, "axes: axis");
    if (mlir::failed(dim))
      return mlir::failure();
    if (llvm::is_contained(normalized, *dim))
      return op->emitOpError() << "axes " << printDims(axes) << " names dim " << *dim << " twice", mlir::failure();
    normalized.push_back(*dim);
  }
  return normalized;
}

RuleBuilder::RuleBuilder(mlir::Operation *op)
    : op(op), operands(op->getNumOperands()), results(op->getNumResults()), sparse(op->getNumOperands()) {}

FactorRule RuleBuilder::take(Work work) {
  auto wholeDims = [&](const TensorShape &shape) {
    llvm::SmallVector<DimFactors, 4> dims;
    for (int64_t size : shape.dims)
      dims.push_back(whole(size));
    return dims;
  };
  for (auto [index, value] : llvm::enumerate(op->getOperands())) {
    if (std::optional<TensorShape> shape = shapeOf(value))
      builder.addOperand(operands[index] ? *operands[index] : wholeDims(*shape), shape->elementBits);
    else
      builder.addAbsentOperand();
    if (sparse.test(index))
      builder.markSparse();
  }
  for (auto [index, value] : llvm::enumerate(op->getResults())) {
    if (std::optional<TensorShape> shape = shapeOf(value))
      builder.addResult(results[index] ? *results[index] : wholeDims(*shape), shape->elementBits);
    else
      builder.addAbsentResult();
  }
  builder.setWork(work);
  return builder.take();
}

FactorRule alignedRule(mlir::Operation *op, unsigned numData, const llvm::SmallBitVector &touched, bool linear) {
  RuleBuilder rule(op);
  llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(0));
  llvm::SmallVector<DimFactors, 4> shared;
  for (auto [dim, size] : llvm::enumerate(dims))
    shared.push_back(touched.test(dim) ? rule.whole(size) : rule.parallel(size));
  auto factorsOf = [&](mlir::Value value) {
    llvm::SmallVector<DimFactors, 4> factors;
    if (auto shape = shapeOf(value))
      for (auto [dim, size] : llvm::enumerate(shape->dims))
        factors.push_back(dim < dims.size() && size == dims[dim] ? shared[dim] : rule.whole(size));
    return factors;
  };
  llvm::SmallVector<unsigned, 2> group;
  for (unsigned i = 0; i < numData; ++i) {
    rule.setOperand(i, factorsOf(op->getOperand(i)));
    group.push_back(i);
  }
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    rule.setResult(index, factorsOf(result));
  if (linear)
    rule.setLinear(group);
  return rule.take(Work::Stream);
}

} // namespace apc
