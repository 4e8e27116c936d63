// Kernels of contractions: sums of products straight from their rules, then added, scaled or requantised.
#include "../Attributes.h"
#include "../Elementwise/Activation.h"
#include "../HeldSpan.h"
#include "apc/IR/Kernels/Contract.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Contraction/Contraction.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

mlir::Type resultElement(mlir::Operation *op) {
  return llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getElementType();
}

/// The product of the operands `indices`; none when an operand is not known.
std::optional<Tensor> productOf(mlir::Operation *op, Operands operands, llvm::ArrayRef<unsigned> indices) {
  llvm::SmallVector<Multiplicand, 3> multiplicands;
  for (unsigned index : indices) {
    if (!operands[index])
      return std::nullopt;
    multiplicands.push_back({index, *operands[index]});
  }
  auto rule = llvm::cast<OperatorInterface>(op).getRule();
  if (mlir::failed(rule))
    return std::nullopt;
  return contract(*rule, multiplicands, operands[indices.front()]->element);
}

/// `function` of each element of `product` and the element of `other` that broadcasts to it.
void combineWith(Tensor &product, const Tensor &other, llvm::function_ref<Number(Number, Number)> function) {
  BroadcastWalk walk({other.dims}, product.dims);
  for (int64_t i = 0, count = product.numElements(); i < count; ++i, walk.next())
    setElement(product, i, function(getElement(product, i), getElement(other, walk[0])));
}

} // namespace

Evaluated evaluateProduct(mlir::Operation *op, Operands operands, double alpha) {
  auto indices = llvm::to_vector<3>(llvm::seq<unsigned>(0, static_cast<unsigned>(operands.size())));
  std::optional<Tensor> product = productOf(op, operands, indices);
  if (product)
    for (double &value : product->floats)
      value *= alpha;
  return evaluatedAs(std::move(product));
}

Evaluated evaluateGemm(mlir::Operation *op, Operands operands, double alpha, double beta) {
  bool hasAddend = operands.size() > 2 && !isAbsent(op->getOperand(2));
  std::optional<Tensor> product = productOf(op, operands, {0, 1});
  if (!product || (hasAddend && !operands[2]))
    return std::nullopt;
  auto scaled = [](Number x, double factor) {
    return factor == 1 ? x
           : x.isFloat ? Number::of(x.real * factor)
                       : Number::of(truncated(x.asReal() * factor, false));
  };
  for (int64_t i = 0, count = product->numElements(); i < count; ++i)
    setElement(*product, i, scaled(getElement(*product, i), alpha));
  if (hasAddend)
    combineWith(*product, *operands[2], [&](Number x, Number c) {
      c = scaled(c, beta);
      return x.isFloat ? Number::of(x.real + c.real) : Number::of(*wrappingAdd(x.integer, c.integer));
    });
  return evaluatedAs(std::move(product));
}

Evaluated FusedGemmOp::evaluate(Operands operands) {
  auto real = [](std::optional<llvm::APFloat> value) {
    return value ? std::optional(value->convertToDouble()) : std::nullopt;
  };
  Activation activation{getActivation(), real(getActivationAlpha()), real(getActivationBeta()),
                        real(getActivationGamma())};
  Evaluated results = evaluateGemm(*this, operands, getAlpha().convertToDouble(), getBeta().convertToDouble());
  if (!results)
    return std::nullopt;
  for (double &value : results->front().floats) {
    auto activated = activation.at(value);
    if (!activated)
      return std::nullopt;
    value = *activated;
  }
  return results;
}

namespace {

/// Beside a matrix [..., M, K], parameters [M] belong to rows: they become [M, 1].
Tensor asColumn(Tensor parameters) {
  if (parameters.dims.size() == 1 && parameters.dims[0] != 1)
    parameters.dims.push_back(1);
  return parameters;
}

/// A tensor's elements as reals; 8-bit products and their sums are exact.
Tensor asReals(const Tensor &tensor) {
  Tensor reals = tensor;
  reals.element = mlir::Float64Type::get(tensor.element.getContext());
  if (!tensor.isFloat())
    reals.floats.assign(tensor.ints.begin(), tensor.ints.end());
  reals.ints.clear();
  return reals;
}

/// Two quantised matrices, with the operands of their zero points (none: 0).
struct QuantizedMatrices {
  unsigned a, b;
  std::optional<unsigned> zeroA, zeroB;
};

/// Finds an operand: `tensor` is null when it is absent or not declared; false when it is there but not known.
bool findOperand(mlir::Operation *op, Operands operands, std::optional<unsigned> index, const Tensor *&tensor) {
  tensor = nullptr;
  if (!index || *index >= operands.size() || isAbsent(op->getOperand(*index)))
    return true;
  tensor = operands[*index];
  return tensor != nullptr;
}

Number difference(Number x, Number y) { return Number::of(x.asReal() - y.asReal()); }
Number multiplied(Number x, Number y) { return Number::of(x.asReal() * y.asReal()); }
Number sumOf(Number x, Number y) { return Number::of(x.asReal() + y.asReal()); }

/// Elements of A [..., K] that are padding become 0; false when the place of a piece is not known.
bool clearPadding(mlir::Operation *op, Operands operands, Tensor &a) {
  auto size = op->getAttrOfType<mlir::IntegerAttr>("k_size");
  if (!size)
    return true;
  auto held = HeldSpan::read(operands.back());
  if (!held)
    return false;
  int64_t length = a.dims.back(), count = std::min(held->end, size.getInt()) - held->begin;
  for (auto [i, value] : llvm::enumerate(a.floats))
    if (static_cast<int64_t>(i) % length >= count)
      value = 0;
  return true;
}

/// (A - zero) (B - zero) as reals.
std::optional<Tensor> centredProduct(mlir::Operation *op, Operands operands, const QuantizedMatrices &which) {
  const Tensor *zeroA = nullptr, *zeroB = nullptr;
  if (!operands[which.a] || !operands[which.b] || !findOperand(op, operands, which.zeroA, zeroA) ||
      !findOperand(op, operands, which.zeroB, zeroB))
    return std::nullopt;
  Tensor a = asReals(*operands[which.a]), b = asReals(*operands[which.b]);
  if (zeroA)
    combineWith(a, asColumn(*zeroA), difference);
  if (zeroB)
    combineWith(b, *zeroB, difference);
  auto rule = llvm::cast<OperatorInterface>(op).getRule();
  if (mlir::failed(rule) || !clearPadding(op, operands, a))
    return std::nullopt;
  return contract(*rule, {{which.a, a}, {which.b, b}}, a.element);
}

/// Multiplies by the scales of the rows and of the columns.
void scaleProduct(Tensor &product, const Tensor &scaleA, const Tensor &scaleB) {
  combineWith(product, asColumn(scaleA), multiplied);
  combineWith(product, scaleB, multiplied);
}

/// The same elements, in the element type of result 0.
Tensor asResult(mlir::Operation *op, const Tensor &reals) {
  Tensor result = zeros(op->getResult(0).getType());
  for (int64_t i = 0, count = reals.numElements(); i < count; ++i)
    setElement(result, i, getElement(reals, i));
  return result;
}

} // namespace

Evaluated evaluateIntegerProduct(mlir::Operation *op, Operands operands) {
  std::optional<Tensor> product = centredProduct(op, operands, {0, 1, 2, 3});
  if (!product)
    return std::nullopt;
  return evaluatedAs(asResult(op, *product));
}

Evaluated evaluateScaledIntegerProduct(mlir::Operation *op, Operands operands) {
  std::optional<Tensor> product = centredProduct(op, operands, {0, 1, 4, 5});
  const Tensor *bias = nullptr;
  if (!product || !operands[2] || !operands[3] || !findOperand(op, operands, 6, bias))
    return std::nullopt;
  scaleProduct(*product, *operands[2], *operands[3]);
  if (bias)
    combineWith(*product, *bias, sumOf);
  return evaluatedAs(asResult(op, *product));
}

// A is quantised to 8 bits over its whole range, 0 included, as DynamicQuantizeLinear does.
Evaluated DynamicQuantizeMatMulOp::evaluate(Operands operands) {
  const Tensor *bias = nullptr;
  if (!operands[0] || !operands[2] || !findOperand(*this, operands, 4, bias))
    return std::nullopt;
  double least = 0, greatest = 0;
  for (double x : operands[0]->floats) {
    least = std::fmin(least, x);
    greatest = std::fmax(greatest, x);
  }
  auto type = llvm::cast<mlir::FloatType>(operands[0]->element);
  double step = roundToElement(roundToElement(greatest - least, type) / 255, type);
  double scale = step == 0 ? 1 : step;
  double zero = std::clamp(roundTiesToEven(roundToElement(-least / scale, type)), 0.0, 255.0);
  Tensor a = *operands[0];
  for (double &x : a.floats)
    x = std::clamp(roundTiesToEven(roundToElement(x / scale, type)) + zero, 0.0, 255.0) - zero;
  llvm::SmallVector<const Tensor *, 5> quantized(operands);
  quantized[0] = &a;
  std::optional<Tensor> product = centredProduct(*this, quantized, {0, 1, std::nullopt, 3});
  if (!product)
    return std::nullopt;
  for (double &x : product->floats)
    x *= scale;
  combineWith(*product, *operands[2], multiplied);
  if (bias)
    combineWith(*product, *bias, sumOf);
  return evaluatedAs(asResult(*this, *product));
}

Evaluated QLinearMatMulOp::evaluate(Operands operands) {
  if (llvm::is_contained(operands, nullptr))
    return std::nullopt;
  std::optional<Tensor> product = centredProduct(*this, operands, {0, 3, 2, 5});
  if (!product)
    return std::nullopt;
  scaleProduct(*product, *operands[1], *operands[4]);
  mlir::Type element = resultElement(*this);
  auto toFloat = llvm::dyn_cast<mlir::FloatType>(element);
  combineWith(*product, asColumn(*operands[6]),
              [](Number x, Number scale) { return Number::of(roundTiesToEven(x.real / scale.asReal())); });
  combineWith(*product, asColumn(*operands[7]), [&](Number x, Number zero) {
    double value = x.real + zero.asReal();
    return Number::of(toFloat ? fitToElement(value, toFloat, true, "nearest")
                              : static_cast<double>(saturated(value, element)));
  });
  return evaluatedAs(asResult(*this, *product));
}

} // namespace apc
