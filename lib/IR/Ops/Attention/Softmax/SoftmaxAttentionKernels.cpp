// Kernels of softmax attention, one row of scores at a time.
#include "../Kernels.h"
#include "SoftmaxAttention.h"

#include "apc/IR/Ops/Attention/Attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace apc {

namespace {

constexpr double minusInfinity = -std::numeric_limits<double>::infinity();

const Tensor *known(Operands operands, std::optional<unsigned> place) { return place ? operands[*place] : nullptr; }

/// The number of keys of a piece that are not padding: all but of pieces that say where they begin.
int64_t keysHeld(mlir::Operation *op, Operands operands, int64_t keys, unsigned offset) {
  if (operands.size() <= offset)
    return keys;
  HeldSpan span = HeldSpan::read(operands[offset]).value_or(HeldSpan());
  int64_t end = std::min(span.end, intAttribute(op, "total_keys", std::numeric_limits<int64_t>::max()));
  return std::clamp<int64_t>(end - span.begin, 0, keys);
}

} // namespace

RowAttention::RowAttention(mlir::Operation *op, Operands operands, const ScoreSizes &sizes)
    : places(attentionOperands(op)), q(*operands[AttentionOperands::Queries]), k(*operands[AttentionOperands::Keys]),
      v(known(operands, places.values)), mask(operands[places.mask]), arriving(known(operands, places.arriving)),
      result(known(operands, places.result)), logSum(known(operands, places.logSum)), sizes(sizes),
      scores(sizes.scores()), scale(floatAttribute(op, "scale", 1)), softcap(floatAttribute(op, "softcap", 0)),
      seen(intAttribute(op, "seen", 1)), held(keysHeld(op, operands, sizes.keys, places.numOperands)),
      areTransposed(intAttribute(op, "keys_transposed", 0) != 0), nanIsZero(intAttribute(op, "nan_is_zero", 0) != 0),
      weights(sizes.keys) {
  if (op->hasAttr("fill"))
    fill = floatAttribute(op, "fill", 0);
}

void RowAttention::compute(int64_t row, double *result) {
  weigh(row);
  int64_t keyHead = keyHeadOf(row);
  for (int64_t t = 0; t < held; ++t)
    for (int64_t e = 0; e < sizes.valueSize; ++e)
      result[e] += weights[t] * v->floats[(keyHead * sizes.keys + t) * sizes.valueSize + e];
}

double RowAttention::logSumOf(int64_t row) {
  score(row);
  double greatest = greatestScore(), sum = 0;
  if (greatest == minusInfinity)
    return greatest;
  for (double x : weights)
    sum += std::exp(x - greatest);
  return greatest + std::log(sum);
}

void RowAttention::addGradient(int64_t row, unsigned which, Tensor &gradient) {
  weigh(row);
  int64_t keyHead = keyHeadOf(row);
  if (which == places.values) {
    for (int64_t t = 0; t < held; ++t)
      for (int64_t e = 0; e < sizes.valueSize; ++e)
        gradient.floats[(keyHead * sizes.keys + t) * sizes.valueSize + e] +=
            weights[t] * arriving->floats[row * sizes.valueSize + e];
    return;
  }
  bool isOfMask = which == places.mask, isOfQueries = which == AttentionOperands::Queries;
  for (auto [index, slope] : llvm::enumerate(slopes(row))) {
    auto t = static_cast<int64_t>(index);
    if (isOfMask)
      gradient.floats[broadcastIndex(mask->dims, scores, row * sizes.keys + t)] += slope;
    double ofProduct = isOfMask ? 0 : scale * capSlope(row, keyHead, t) * slope;
    for (int64_t d = 0; !isOfMask && d < sizes.headSize; ++d) {
      int64_t query = row * sizes.headSize + d, key = keyAt(keyHead, t, d);
      gradient.floats[isOfQueries ? query : key] += ofProduct * (isOfQueries ? k.floats[key] : q.floats[query]);
    }
  }
}

double RowAttention::product(int64_t row, int64_t keyHead, int64_t t) const {
  double sum = 0;
  for (int64_t d = 0; d < sizes.headSize; ++d)
    sum += q.floats[row * sizes.headSize + d] * k.floats[keyAt(keyHead, t, d)];
  return sum;
}

double RowAttention::capped(int64_t row, int64_t keyHead, int64_t t) const {
  double scaled = scale * product(row, keyHead, t);
  return softcap > 0 ? softcap * std::tanh(scaled / softcap) : scaled;
}

double RowAttention::capSlope(int64_t row, int64_t keyHead, int64_t t) const {
  if (softcap <= 0)
    return 1;
  double share = capped(row, keyHead, t) / softcap;
  return 1 - share * share;
}

void RowAttention::score(int64_t row) {
  int64_t keyHead = keyHeadOf(row);
  std::fill(weights.begin(), weights.end(), minusInfinity);
  for (int64_t t = 0; t < held; ++t)
    weights[t] = masked(row * sizes.keys + t, capped(row, keyHead, t));
}

void RowAttention::weigh(int64_t row) {
  score(row);
  if (!logSum)
    return takeSoftmax();
  for (int64_t t = 0; t < held; ++t) {
    weights[t] = std::exp(weights[t] - logSum->floats[row]);
    if (nanIsZero && std::isnan(weights[t]))
      weights[t] = 0;
  }
}

std::vector<double> RowAttention::slopes(int64_t row) const {
  std::vector<double> slopes(held, 0);
  const double *incoming = arriving->floats.data() + row * sizes.valueSize;
  double along = 0;
  for (int64_t t = 0; t < held; ++t) {
    for (int64_t e = 0; e < sizes.valueSize; ++e)
      slopes[t] += incoming[e] * v->floats[(keyHeadOf(row) * sizes.keys + t) * sizes.valueSize + e];
    along += weights[t] * slopes[t];
  }
  if (result) { // the same sum over all keys, also those that other devices hold
    const double *whole = result->floats.data() + row * sizes.valueSize;
    along = std::inner_product(incoming, incoming + sizes.valueSize, whole, 0.0);
  }
  for (int64_t t = 0; t < held; ++t)
    slopes[t] = isFilled(row * sizes.keys + t) ? 0 : weights[t] * (slopes[t] - along);
  return slopes;
}

bool RowAttention::isFilled(int64_t position) const {
  return mask && fill && mask->ints[broadcastIndex(mask->dims, scores, position)] != seen;
}

double RowAttention::masked(int64_t position, double score) const {
  if (!mask)
    return score;
  int64_t at = broadcastIndex(mask->dims, scores, position);
  return !fill ? score + mask->floats[at] : mask->ints[at] == seen ? score : *fill;
}

double RowAttention::greatestScore() const {
  double greatest = minusInfinity;
  for (double x : weights)
    greatest = std::isnan(x) || x > greatest ? x : greatest;
  return greatest;
}

void RowAttention::takeSoftmax() {
  double greatest = greatestScore(), sum = 0;
  for (double &x : weights)
    sum += x = std::exp(x - greatest);
  for (double &x : weights) {
    x /= sum;
    if (nanIsZero && std::isnan(x))
      x = 0;
  }
}

/// Calls `take` with each row of the scores; false where the operands do not say them.
static bool forEachRow(mlir::Operation *op, Operands operands,
                       llvm::function_ref<void(RowAttention &, const ScoreSizes &, int64_t)> take) {
  auto sizes = readScoreSizes(op);
  if (mlir::failed(sizes) || !areAllKnown(op, operands) || !operands[AttentionOperands::Queries]->isFloat())
    return false;
  RowAttention attention(op, operands, *sizes);
  for (int64_t row = 0, rows = attention.numRows(); row < rows; ++row)
    take(attention, *sizes, row);
  return true;
}

Evaluated evaluateSoftmaxAttention(mlir::Operation *op, Operands operands) {
  Tensor result = zeros(op->getResult(0).getType());
  if (!forEachRow(op, operands, [&](RowAttention &attention, const ScoreSizes &sizes, int64_t row) {
        attention.compute(row, result.floats.data() + row * sizes.valueSize);
      }))
    return std::nullopt;
  return evaluatedAs(std::move(result));
}

Evaluated evaluateAttentionGradient(mlir::Operation *op, Operands operands, unsigned which) {
  Tensor gradient = zeros(op->getResult(0).getType());
  if (!forEachRow(op, operands, [&](RowAttention &attention, const ScoreSizes &, int64_t row) {
        attention.addGradient(row, which, gradient);
      }))
    return std::nullopt;
  return evaluatedAs(std::move(gradient));
}

Evaluated SoftmaxAttentionLogSumOp::evaluate(Operands operands) {
  Tensor sums = zeros(getLogSum().getType());
  if (!forEachRow(*this, operands, [&](RowAttention &attention, const ScoreSizes &, int64_t row) {
        sums.floats[row] = attention.logSumOf(row);
      }))
    return std::nullopt;
  return evaluatedAs(std::move(sums));
}

} // namespace apc
