// Normalisations of layers in parts: statistics that devices add up, and what each does with its piece of the rows.
#include "../Attributes.h"
#include "GradientParts.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

std::string factorName(size_t dim) { return "d" + std::to_string(dim); }

/// Two numbers for each row, or the mean square alone.
int64_t numbersOf(mlir::Operation *op) { return intAttribute(op, "centred", 1) != 0 ? 2 : 1; }

/// The dims of `value` aligned at the end of `data`: [1, 8] beside [4, 5, 8] is "1 d2"; nothing for `none`.
std::string alignedNames(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> data) {
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t dim = data.size() - dims.size() + i;
    text += " " + (dims[i] == 1 && data[dim] != 1 ? "1" : factorName(dim));
  }
  return text;
}

mlir::FailureOr<unsigned> firstReduced(mlir::Operation *op, int64_t axis) {
  llvm::ArrayRef<int64_t> data = dimsOf(op->getOperand(0));
  for (mlir::Value operand : op->getOperands())
    if (dimsOf(operand).size() > data.size())
      return op->emitOpError() << "shape " << printDims(dimsOf(operand)) << " does not broadcast to "
                               << printDims(data),
             mlir::failure();
  return normalizeAxis(op, axis, data.size());
}

} // namespace

mlir::FailureOr<std::string> layerPartRule(mlir::Operation *op, llvm::ArrayRef<unsigned> statistics, int64_t axis,
                                           unsigned numResults) {
  llvm::ArrayRef<int64_t> data = dimsOf(op->getOperand(0));
  auto first = firstReduced(op, axis);
  if (mlir::failed(first))
    return mlir::failure();
  std::string whole = alignedNames(data, data), rows, text;
  for (unsigned dim = 0; dim < *first; ++dim)
    rows += " " + factorName(dim);
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    bool isStatistic = llvm::is_contained(statistics, index);
    text += (index == 0 ? "" : ",") + (isStatistic ? rows + " !n" : alignedNames(dimsOf(operand), data));
  }
  text += " ->" + whole;
  for (unsigned result = 1; result < numResults; ++result)
    text += "," + whole;
  return text;
}

mlir::FailureOr<std::string> layerPartScaleRule(mlir::Operation *op, int64_t axis) {
  llvm::ArrayRef<int64_t> data = dimsOf(op->getOperand(0));
  auto text = layerPartRule(op, {2}, axis, /*numResults=*/0);
  if (mlir::failed(text))
    return mlir::failure();
  size_t first = axis < 0 ? axis + data.size() : axis;
  return text->substr(0, text->find(" ->")) + " ->" + alignedNames(data.drop_front(first), data);
}

mlir::LogicalResult inferLayerStatistics(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto first = firstReduced(op, intAttribute(op, "axis", -1));
  if (mlir::failed(first))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims(dimsOf(op->getOperand(0)).take_front(*first));
  dims.push_back(numbersOf(op));
  return addType(op, dims, preciseElement(op), types);
}

/// Does every tensor that is summed vary along a dim of the first? One that does not would add to its padding, too.
static bool allVaryAlong(mlir::Operation *op, size_t dim) {
  llvm::ArrayRef<int64_t> data = dimsOf(op->getOperand(0));
  return llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
    llvm::ArrayRef<int64_t> own = dimsOf(operand);
    size_t missing = data.size() - own.size();
    return isAbsent(operand) || (dim >= missing && own[dim - missing] == data[dim]);
  });
}

mlir::FailureOr<FactorRule> layerStatisticsRule(mlir::Operation *op, std::optional<unsigned> statistics, double flops) {
  auto first = firstReduced(op, intAttribute(op, "axis", -1));
  if (mlir::failed(first))
    return mlir::failure();
  llvm::ArrayRef<int64_t> data = dimsOf(op->getOperand(0));
  RuleBuilder layout(op);
  llvm::SmallVector<DimFactors, 4> dims;
  for (auto [dim, size] : llvm::enumerate(data))
    dims.push_back(dim < *first                          ? layout.parallel(size)
                   : statistics || allVaryAlong(op, dim) ? layout.sum(factorName(dim), size)
                                                         : layout.whole(size));
  llvm::SmallVector<DimFactors, 4> rows(llvm::ArrayRef(dims).take_front(*first));
  rows.push_back(layout.whole(numbersOf(op)));
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    llvm::ArrayRef<int64_t> own = dimsOf(operand);
    llvm::SmallVector<DimFactors, 4> aligned(llvm::ArrayRef(dims).take_back(own.size()));
    for (auto [factors, size, whole] : llvm::zip_equal(aligned, own, data.take_back(own.size())))
      if (size == 1 && whole != 1)
        factors.clear();
    if (!isAbsent(operand))
      layout.setOperand(static_cast<unsigned>(index), statistics == index ? rows : aligned);
  }
  layout.setResult(0, rows);
  if (statistics)
    layout.setLinear({0});
  FactorRule rule = layout.take(Work::Stream);
  rule.flopsPerPoint = flops / static_cast<double>(numbersOf(op));
  return rule;
}

void localizeLayerStatistics(LocalOp &local) {
  llvm::ArrayRef<int64_t> data = dimsOf(local.original->getOperand(0));
  int64_t axis = intAttribute(local.original, "axis", -1);
  local.setInt("count", mergedSize(data.drop_front(axis < 0 ? axis + data.size() : axis)));
}

/// The sum of the gradient times the normalised rows: over all rows for a scale of their dims alone, over those that it
/// is broadcast to for one of more dims.
static mlir::Value scaleGradient(GradientBuilder &g, mlir::Value gradient, mlir::Value x, mlir::Value statistics,
                                 mlir::Value scale, llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  auto numDims = static_cast<int64_t>(dimsOf(x).size());
  auto axis = static_cast<int64_t>(llvm::cast<LayerNormalizeOp>(g.getForward()).getAxis());
  if (static_cast<int64_t>(dimsOf(scale).size()) <= (axis < 0 ? -axis : numDims - axis))
    return g.sumTo(g.make<LayerNormalizeScaleGradOp>({gradient, x, statistics}, attributes), scale);
  return g.sumTo(g.mul(gradient, normalisedBy(g, x, statistics, gradient, attributes)), scale);
}

// The statistics are those of X itself, so gradients go through them, too, all at once.
void differentiateLayerApart(GradientBuilder &g) {
  enum : unsigned { X, Statistics, Scale, B, Skip, Bias };
  auto forward = llvm::cast<LayerNormalizeOp>(g.getForward());
  mlir::Value scale = g.operand(Scale), statistics = g.operand(Statistics);
  llvm::SmallVector<mlir::NamedAttribute, 3> attributes;
  for (llvm::StringRef name : {"axis", "epsilon", "centred"})
    if (mlir::Attribute value = forward->getAttr(name))
      attributes.push_back(g.attribute(name, value));
  mlir::Value ofSum = g.incoming(1);
  if (mlir::Value gradient = g.incoming(0)) {
    mlir::Value x = g.result(1);
    if (isAbsent(x)) {
      x = g.operand(X);
      for (unsigned addend : {Skip, Bias})
        if (!isAbsent(g.operand(addend)))
          x = g.add(x, g.operand(addend));
    }
    if (g.wants(Scale))
      g.give(Scale, scaleGradient(g, gradient, x, statistics, scale, attributes));
    if (g.wants(B))
      g.give(B, g.sumTo(gradient, g.operand(B)));
    auto *means = g.create<LayerGradientStatisticsOp>({gradient, x, statistics, scale}, attributes);
    if (isTakenInPass(statistics))
      means->setAttr(passAttribute, g.getBuilder().getUnitAttr());
    mlir::Value ofData =
        g.make<LayerNormalizeGradOp>({gradient, x, statistics, scale, means->getResult(0)}, attributes);
    ofSum = ofSum ? g.add(ofSum, ofData) : ofData;
  }
  for (unsigned summand : {X, Skip, Bias})
    if (g.wants(summand))
      g.give(summand, g.sumTo(ofSum, g.operand(summand)));
}

} // namespace apc
