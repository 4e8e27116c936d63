// Small matchers for recognising composites.
#include "Match.h"

#include "apc/IR/AttributeNames.h"

#include <cmath>

namespace apc {

std::optional<double> scalarOf(mlir::Value value) {
  mlir::DenseElementsAttr constant = constantOf(value);
  if (!constant || !constant.isSplat() || !llvm::isa<mlir::FloatType>(constant.getElementType()))
    return std::nullopt;
  llvm::APFloat number = constant.getSplatValue<llvm::APFloat>();
  bool losesInfo = false;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

mlir::Type elementOf(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType(); }

bool near(double a, double b) { return std::fabs(a - b) <= 1e-3 * std::fabs(b); }

namespace {

void addFactors(mlir::Value value, bool isRoot, Product &product) {
  if (std::optional<double> scalar = scalarOf(value)) {
    product.scalar *= *scalar;
    return;
  }
  if (isRoot || value.hasOneUse()) {
    if (auto mul = value.getDefiningOp<MulOp>()) {
      addFactors(mul.getA(), false, product);
      addFactors(mul.getB(), false, product);
      return;
    }
    auto div = value.getDefiningOp<DivOp>();
    std::optional<double> divisor = div ? scalarOf(div.getB()) : std::nullopt;
    if (divisor && *divisor != 0) {
      product.scalar /= *divisor;
      addFactors(div.getA(), false, product);
      return;
    }
  }
  product.leaves.push_back(value);
}

} // namespace

Product productOf(mlir::Value root) {
  Product product;
  addFactors(root, true, product);
  return product;
}

std::optional<std::pair<mlir::Value, double>> plusScalar(mlir::Value sum) {
  auto add = sum.getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  if (std::optional<double> scalar = scalarOf(add.getB()))
    return std::make_pair(add.getA(), *scalar);
  if (std::optional<double> scalar = scalarOf(add.getA()))
    return std::make_pair(add.getB(), *scalar);
  return std::nullopt;
}

mlir::Value throughCast(mlir::Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && value.hasOneUse() ? cast.getOperation()->getOperand(0) : value;
}

void replaceBy(mlir::Operation *from, mlir::Operation *to, mlir::RewriterBase &rewriter) {
  if (mlir::Attribute names = from->getAttr(valuesAttribute))
    to->setAttr(valuesAttribute, names);
  rewriter.replaceOp(from, to->getResult(0));
}

} // namespace apc
