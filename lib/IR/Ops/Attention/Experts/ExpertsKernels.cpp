// Kernels of mixtures of experts: each token through the experts that the router prefers.
#include "../../Attributes.h"
#include "../../Contraction/BlockWeights.h"
#include "../../Elementwise/Activation.h"
#include "../Kernels.h"
#include "Experts.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Ops/Attention/Attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace apc {

namespace {

/// Weights [experts, rows, columns] of one layer, or [experts, columns, rows], with a bias [experts, rows] or none.
struct Layer {
  Tensor weights;
  const Tensor *bias = nullptr;
  bool inputsFirst = false;

  std::vector<double> apply(int64_t expert, llvm::ArrayRef<double> x, bool addsBias = true) const {
    int64_t rows = weights.dims[inputsFirst ? 2 : 1], columns = weights.dims[inputsFirst ? 1 : 2];
    int64_t rowStride = inputsFirst ? 1 : columns, columnStride = inputsFirst ? rows : 1;
    const double *weight = weights.floats.data() + expert * rows * columns;
    std::vector<double> y(rows, 0);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column)
        y[row] += weight[row * rowStride + column * columnStride] * x[column];
      if (bias && addsBias)
        y[row] += bias->floats[expert * rows + row];
    }
    return y;
  }
};

struct Experts {
  ExpertSizes sizes;
  Layer first, second;
  std::optional<Layer> third;
  int64_t firstExpert = 0; ///< the first on this device of all that the router knows
  bool addsBias = true;    ///< the second layer's
  bool isGated = false;    ///< swiglu
  bool inBlocks = false;   ///< all gates before all values
  Activation activation;
  double alpha = 1, beta = 0, limit = std::numeric_limits<double>::infinity();

  /// gate sigmoid(alpha gate) (value + beta).
  double gated(double gate, double value) const {
    gate = std::min(gate, limit);
    return gate * sigmoid(alpha * gate) * (std::clamp(value, -limit, limit) + beta);
  }
  /// The result of one of the experts on this device for a token; empty for an unknown activation.
  std::optional<std::vector<double>> apply(int64_t expert, llvm::ArrayRef<double> x) const;
};

std::optional<std::vector<double>> Experts::apply(int64_t expert, llvm::ArrayRef<double> x) const {
  std::vector<double> hidden = first.apply(expert, x), inner(sizes.inner);
  std::vector<double> other = third ? third->apply(expert, x) : std::vector<double>();
  for (int64_t i = 0; i < sizes.inner; ++i) {
    if (isGated) {
      bool fused = sizes.fused == 2;
      double gate = hidden[fused && !inBlocks ? 2 * i : i];
      double value = !fused ? (third ? other[i] : 1) : hidden[inBlocks ? sizes.inner + i : 2 * i + 1];
      inner[i] = gated(gate, value);
      continue;
    }
    auto activated = activation.at(hidden[i]);
    if (!activated)
      return std::nullopt;
    inner[i] = third ? *activated * other[i] : *activated;
  }
  return second.apply(expert, inner, addsBias);
}

/// The experts that a token visits with their shares: the softmax of the router's scores, made to sum to 1 when
/// `normalizes`; or the token's row of `weights` at the experts chosen.
llvm::SmallVector<std::pair<int64_t, double>, 4> route(llvm::ArrayRef<double> scores, const double *weights,
                                                       int64_t chosen, bool normalizes) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  double all = 0, best = 0;
  for (int64_t expert : order)
    all += std::exp(scores[expert] - scores[order[0]]);
  llvm::SmallVector<std::pair<int64_t, double>, 4> routes;
  for (int64_t expert : llvm::ArrayRef(order).take_front(chosen)) {
    double share = weights ? weights[expert] : std::exp(scores[expert] - scores[order[0]]) / all;
    routes.push_back({expert, share});
    best += share;
  }
  for (auto &[expert, share] : routes)
    share = normalizes && best != 0 ? share / best : share;
  return routes;
}

Evaluated visitExperts(mlir::Operation *op, Operands operands, const Experts &experts, const Tensor *routerWeights) {
  const Tensor &input = *operands[0], &router = *operands[1];
  Tensor output = zeros(op->getResult(0).getType());
  int64_t hidden = experts.sizes.hidden, numExperts = router.dims[1];
  // A device may have some of the result's elements only.
  int64_t resultSize = output.dims.back();
  bool normalizes = intAttribute(op, "normalize_routing_weights", 0) != 0;
  for (int64_t token = 0, tokens = router.dims[0]; token < tokens; ++token) {
    llvm::ArrayRef<double> scores(router.floats.data() + token * numExperts, numExperts);
    llvm::ArrayRef<double> x(input.floats.data() + token * hidden, hidden);
    const double *weights = routerWeights ? routerWeights->floats.data() + token * numExperts : nullptr;
    for (auto [expert, share] : route(scores, weights, experts.sizes.chosen, normalizes)) {
      int64_t here = expert - experts.firstExpert;
      if (here < 0 || here >= experts.sizes.experts)
        continue;
      auto y = experts.apply(here, x);
      if (!y)
        return std::nullopt;
      for (int64_t i = 0; i < resultSize; ++i)
        output.floats[token * resultSize + i] += share * (*y)[i];
    }
  }
  return evaluatedAs(std::move(output));
}

/// Sizes, attributes and the place of a piece; none where the kernel does not know them.
std::optional<Experts> readCommon(mlir::Operation *op, Operands operands) {
  auto sizes = readExperts(op);
  if (mlir::failed(sizes) || !areAllKnown(op, operands) || intAttribute(op, "use_sparse_mixer", 0) != 0)
    return std::nullopt;
  Experts experts;
  experts.sizes = *sizes;
  llvm::StringRef type = stringAttribute(op, "activation_type", "relu");
  experts.isGated = type == "swiglu";
  experts.inBlocks = intAttribute(op, "swiglu_fusion", 0) == 2;
  // GELU is meant by its approximation.
  experts.activation = {type == "gelu" ? "fastgelu" : type, {}, {}, {}};
  experts.alpha = floatAttribute(op, "activation_alpha", 1);
  experts.beta = floatAttribute(op, "activation_beta", 0);
  experts.limit = floatAttribute(op, "swiglu_limit", experts.limit);
  if (isOnPiece(op)) {
    experts.firstExpert = operands[operands.size() - 2]->ints[0];
    experts.addsBias = operands.back()->ints[0] == 0;
  }
  return experts;
}

/// Weights of `bits` bits [experts, rows, bytes] as reals: (value - zero) * scale, with a scale (and zero) for each row
/// or for each `block` values of it; zeros are packed like the weights. Empty where these do not fit the weights.
std::optional<Layer> unpackLayer(Operands operands, unsigned weights, const Tensor *zeros, int64_t bits,
                                 int64_t block) {
  const Tensor &packed = *operands[weights], *scales = operands[weights + 1];
  int64_t rows = packed.dims[1], bytes = packed.dims[2], columns = bytes * 8 / bits;
  int64_t perRow = block > 0 ? (columns + block - 1) / block : 1;
  int64_t numRows = packed.dims[0] * rows, zeroBytes = bytesOf(perRow, bits);
  Layer layer;
  layer.bias = operands[weights + 2];
  auto isOfCount = [](const Tensor *tensor, int64_t count) { return !tensor || tensor->numElements() == count; };
  if (!isOfCount(scales, numRows * perRow) || !isOfCount(zeros, numRows * zeroBytes) || !isOfCount(layer.bias, numRows))
    return std::nullopt;
  layer.weights.dims = {packed.dims[0], rows, columns};
  layer.weights.floats =
      unpackRows({packed, scales, zeros, nullptr, numRows, columns, bits, block, perRow, /*areZerosPacked=*/true});
  return layer;
}

} // namespace

Evaluated MoEOp::evaluate(Operands operands) {
  MoEOp op = *this;
  auto experts = readCommon(op, operands);
  if (!experts)
    return std::nullopt;
  ExpertOperands which = expertOperands(op);
  auto layer = [&](unsigned weights) {
    return Layer{*operands[weights], operands[which.bias(weights)], experts->sizes.inputsFirst};
  };
  experts->first = layer(which.first);
  experts->second = layer(which.second);
  if (operands[which.third])
    experts->third = layer(which.third);
  return visitExperts(op, operands, *experts, nullptr);
}

// Weights in the order that processors read. Weights packed for tensor cores, as all are that have their inputs first,
// and weights that are scaled otherwise are not known.
Evaluated QMoEOp::evaluate(Operands operands) {
  QMoEOp op = *this;
  auto experts = readCommon(op, operands);
  int64_t bits = getExpertWeightBits(), block = getBlockSize().value_or(0);
  constexpr unsigned firstZeros = 11, routerWeights = 14, firstScale = 15, endOfScales = 21;
  bool isScaled = llvm::any_of(operands.slice(firstScale, endOfScales - firstScale), [](const Tensor *t) { return t; });
  bool isPrepacked = static_cast<int64_t>(getWeightsPrepacked().value_or(0)) > 0;
  if (!experts || isScaled || (bits != 4 && bits != 8) || isPrepacked || experts->sizes.inputsFirst ||
      getQuantType() != "int")
    return std::nullopt;
  ExpertOperands which = expertOperands(op);
  auto first = unpackLayer(operands, which.first, operands[firstZeros], bits, block);
  auto second = unpackLayer(operands, which.second, operands[firstZeros + 1], bits, block);
  if (operands[which.third])
    experts->third = unpackLayer(operands, which.third, operands[firstZeros + 2], bits, block);
  if (!first || !second || (operands[which.third] && !experts->third))
    return std::nullopt;
  experts->first = std::move(*first);
  experts->second = std::move(*second);
  bool fits = experts->first.weights.dims[2] == experts->sizes.hidden &&
              experts->second.weights.dims[2] == experts->sizes.inner;
  return fits ? visitExperts(op, operands, *experts, operands[routerWeights]) : std::nullopt;
}

// a * sigmoid(alpha * a) * b.
Evaluated SwiGLUOp::evaluate(Operands operands) {
  double alpha = getAlpha().convertToDouble();
  return evaluatePoints(*this, operands, [&](llvm::ArrayRef<Number> numbers) {
    double a = numbers[0].asReal();
    return std::optional(Number::of(a * sigmoid(alpha * a) * numbers[1].asReal()));
  });
}

} // namespace apc
