// Marks of cuts inside parts, and the ops that may have them.
#include "apc/IR/Program/Parts.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Localize.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "mlir/IR/Block.h"

namespace apc {

void markParts(mlir::Operation *op, llvm::StringRef name, llvm::ArrayRef<int64_t> numbers) {
  mlir::NamedAttrList parts(op->getAttrOfType<mlir::DictionaryAttr>(partsAttribute));
  parts.set(name, mlir::DenseI64ArrayAttr::get(op->getContext(), numbers));
  op->setAttr(partsAttribute, parts.getDictionary(op->getContext()));
}

void cutInsideParts(mlir::DictionaryAttr parts, FactorRule &rule) {
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (auto sizes = parts ? parts.getAs<mlir::DenseI64ArrayAttr>(factor.name) : mlir::DenseI64ArrayAttr())
      cutInsideParts(rule, FactorId(index), sizes.asArrayRef());
}

void cutInsideParts(mlir::Operation *op, FactorRule &rule) {
  cutInsideParts(op->getAttrOfType<mlir::DictionaryAttr>(partsAttribute), rule);
}

namespace {

/// True when `factor` is a dim of its own wherever it is, and once in a tensor.
bool standsAlone(llvm::ArrayRef<RuleTensor> tensors, FactorId factor) {
  return llvm::all_of(tensors, [&](const RuleTensor &tensor) {
    unsigned count = 0;
    bool isAlone = true;
    for (const DimFactors &dim : tensor.dims)
      if (llvm::is_contained(dim, factor)) {
        ++count;
        isAlone = isAlone && dim.size() == 1;
      }
    return isAlone && count <= 1;
  });
}

/// True when a device must know where its piece lies to carry `op` out on a cut of `factor` (labels, indices), or when
/// that cannot be told.
bool needsPlaces(mlir::Operation *op, const FactorRule &rule, FactorId factor) {
  Mesh pair({{"x", 2, 0}});
  Strategy strategy;
  strategy.axes.resize(rule.numFactors());
  strategy.partialInputs.resize(rule.linear.size());
  strategy.axes[factor.index()] = {AxisId(0)};
  if (llvm::Error illegal = check(rule, strategy, pair)) {
    llvm::consumeError(std::move(illegal));
    return true;
  }
  mlir::Block scratch;
  mlir::OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&scratch);
  LocalOp local(builder, op, rule, strategy, pair);
  llvm::cast<OperatorInterface>(op).localize(local);
  return local.operands.size() != op->getNumOperands() || !scratch.getOps<ShardOffsetOp>().empty();
}

} // namespace

bool mayCutInsideParts(mlir::Operation *op, const FactorRule &rule, FactorId factor) {
  return !rule.factor(factor).whole && standsAlone(rule.operands, factor) && standsAlone(rule.results, factor) &&
         !needsPlaces(op, rule, factor);
}

} // namespace apc
