// Gradients of contractions: the gradient of each operand is the product of the others with what arrives, summed over
// the factors that the operand lacks.
#include "../Elementwise/Activation.h"
#include "../ForwardAttributes.h"
#include "apc/IR/Gradient.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Movement/Movement.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// A product in letters: the factors of a rule are 'a', 'b', ...; dims that correspond to nothing get letters of their
/// own.
class Product {
public:
  Product(GradientBuilder &g, const FactorRule &rule) : g(g), rule(rule), numLetters(rule.numFactors()) {}

  /// Gives the gradients of the first `numOperands` operands. False where letters do not suffice.
  bool differentiate(mlir::Value incoming, unsigned numOperands);

private:
  char letter(size_t index) const { return static_cast<char>(index < 26 ? 'a' + index : 'A' + (index - 26)); }
  char letter(FactorId factor) const { return letter(factor.index()); }
  std::string term(const RuleTensor &tensor);
  /// Does the operand alone have the factor of this dim, once? Its gradient is the same all along it.
  bool isSummedAlone(unsigned operand, const DimFactors &dim, llvm::StringRef equation) const;
  mlir::Value gradientOf(unsigned operand, std::string equation, llvm::SmallVector<mlir::Value, 4> factors);
  /// The matrix that is 1 on the diagonal.
  mlir::Value diagonal(int64_t size, mlir::Value like);

  GradientBuilder &g;
  const FactorRule &rule;
  size_t numLetters;
};

std::string Product::term(const RuleTensor &tensor) {
  std::string text;
  for (const DimFactors &dim : tensor.dims)
    text += dim.empty() ? letter(numLetters++) : letter(dim.front());
  return text;
}

mlir::Value Product::diagonal(int64_t size, mlir::Value like) {
  auto type = mlir::RankedTensorType::get({size, size}, mlir::getElementTypeOrSelf(like));
  Tensor ones = zeros(type);
  for (int64_t i = 0; i < size; ++i)
    ones.floats[i * size + i] = 1;
  return g.make<ConstantOp>({}, g.attribute("value", ones.toAttribute()));
}

bool Product::isSummedAlone(unsigned operand, const DimFactors &dim, llvm::StringRef equation) const {
  return !equation.contains(letter(dim.front())) && llvm::count(rule.operands[operand].dims, dim) == 1;
}

/// `equation` holds the terms of `factors`, which are all but the operand's. A factor of the operand that no other
/// tensor has is expanded along; one that the operand has twice is put on a diagonal.
mlir::Value Product::gradientOf(unsigned operand, std::string equation, llvm::SmallVector<mlir::Value, 4> factors) {
  mlir::Value value = g.operand(operand);
  std::string target, others = equation;
  llvm::SmallVector<int64_t, 4> present;
  bool isExpanded = false;
  for (const DimFactors &dim : rule.operands[operand].dims) {
    present.push_back(1);
    if (dim.empty())
      continue;
    char own = letter(dim.front());
    int64_t size = rule.factor(dim.front()).size;
    if (isSummedAlone(operand, dim, others)) {
      isExpanded |= size != 1;
      continue;
    }
    present.back() = size;
    if (llvm::StringRef(target).contains(own)) {
      char other = letter(numLetters++);
      equation += {',', own, other};
      factors.push_back(diagonal(size, value));
      own = other;
    }
    target += own;
  }
  mlir::Value gradient = g.einsum(equation + "->" + target, factors);
  if (dimsOf(gradient) != llvm::ArrayRef<int64_t>(present))
    gradient = g.make<ReshapeOp>({gradient, g.integers(present)}, g.attribute("allowzero", int64_t(1)));
  return isExpanded ? g.make<ExpandOp>({gradient, g.integers(dimsOf(value))}) : gradient;
}

bool Product::differentiate(mlir::Value incoming, unsigned numOperands) {
  llvm::SmallVector<std::string, 4> terms;
  std::string result = term(rule.results.front());
  for (unsigned i = 0; i < numOperands; ++i)
    terms.push_back(term(rule.operands[i]));
  constexpr size_t maxLetters = 52, spare = 8;
  if (numLetters + spare > maxLetters)
    return false;
  for (unsigned i = 0; i < numOperands; ++i) {
    if (!g.wants(i))
      continue;
    std::string equation = result;
    llvm::SmallVector<mlir::Value, 4> factors = {incoming};
    for (unsigned other = 0; other < numOperands; ++other)
      if (other != i) {
        equation += "," + terms[other];
        factors.push_back(g.operand(other));
      }
    g.give(i, gradientOf(i, std::move(equation), std::move(factors)));
  }
  return true;
}

mlir::Value scaled(GradientBuilder &g, mlir::Value arriving, double scale) {
  return scale == 1 ? arriving : g.mul(arriving, g.scalar(scale, arriving));
}

} // namespace

bool differentiateProduct(GradientBuilder &g, double alpha) {
  auto rule = llvm::cast<OperatorInterface>(g.getForward()).getRule();
  return mlir::succeeded(rule) &&
         Product(g, *rule).differentiate(scaled(g, g.incoming(), alpha), g.getForward()->getNumOperands());
}

bool differentiateGemm(GradientBuilder &g, mlir::Value arriving, double alpha, double beta) {
  auto rule = llvm::cast<OperatorInterface>(g.getForward()).getRule();
  if (mlir::failed(rule))
    return false;
  if (g.wants(2))
    g.give(2, g.sumTo(scaled(g, arriving, beta), g.operand(2)));
  return (!g.wants(0) && !g.wants(1)) || Product(g, *rule).differentiate(scaled(g, arriving, alpha), 2);
}

// Where the activation needs its operand, that is computed once more.
bool FusedGemmOp::differentiate(GradientBuilder &g) {
  auto real = [](std::optional<llvm::APFloat> value) {
    return value ? std::optional(value->convertToDouble()) : std::nullopt;
  };
  Activation activation{getActivation(), real(getActivationAlpha()), real(getActivationBeta()),
                        real(getActivationGamma())};
  auto product = [&] {
    return g.make<GemmOp>({getA(), getB(), getC()}, forwardAttributes(g, {"alpha", "beta", "transA", "transB"}));
  };
  mlir::Value arriving = activation.gradient(g, g.incoming(), g.result(), product);
  if (!arriving)
    return g.refuse("attribute 'activation' is '" + getActivation() + "', and " + knownActivations() + " are accepted");
  return differentiateGemm(g, arriving, getAlpha().convertToDouble(), getBeta().convertToDouble());
}

} // namespace apc
