// The attention that all operators share, and tensors brought into its form.
#include "Kernels.h"

#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/RuleBuilder.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

/// exp(score - greatest) / sum, where the sink counts in the sum; 0 where a query sees no key.
void takeSoftmax(llvm::MutableArrayRef<double> scores, std::optional<double> sink) {
  double greatest = sink.value_or(masked), sum = 0;
  for (double score : scores)
    greatest = std::isnan(score) || score > greatest ? score : greatest;
  if (greatest == masked)
    return std::fill(scores.begin(), scores.end(), 0.0);
  for (double &score : scores)
    sum += score = std::exp(score - greatest);
  if (sink)
    sum += std::exp(*sink - greatest);
  for (double &score : scores)
    score /= sum;
}

double dot(const double *a, const double *b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// One query's scores over all keys, left as weights; `kept` takes them at the stage that is returned.
void scoreKeys(const Scoring &scoring, const double *query, const double *keys, int64_t size, ScoreIndex index,
               llvm::MutableArrayRef<double> weights, double *kept) {
  auto keep = [&](ScoreStage stage) {
    if (scoring.returned == stage)
      std::copy(weights.begin(), weights.end(), kept);
  };
  for (auto [key, score] : llvm::enumerate(weights))
    score = scoring.scale * dot(query, keys + static_cast<int64_t>(key) * size, size);
  keep(ScoreStage::Scaled);
  for (double &score : weights)
    score = scoring.softcap > 0 ? scoring.softcap * std::tanh(score / scoring.softcap) : score;
  keep(ScoreStage::Capped);
  for (auto [key, score] : llvm::enumerate(weights)) {
    index.key = static_cast<int64_t>(key);
    double bias = scoring.bias(index);
    // Not seen, whatever it is.
    score = bias == masked ? masked : score + bias;
  }
  keep(ScoreStage::Biased);
  takeSoftmax(weights, scoring.sink ? scoring.sink(index.head) : std::nullopt);
  keep(ScoreStage::Softmax);
}

} // namespace

Attended attend(const HeadTensors &tensors, const Scoring &scoring) {
  const Tensor &q = tensors.queries, &k = tensors.keys, &v = tensors.values;
  int64_t heads = q.dims[1], queries = q.dims[2], size = q.dims[3], keyHeads = std::max<int64_t>(1, k.dims[1]),
          keys = k.dims[2], valueSize = v.dims[3], group = std::max<int64_t>(1, heads / keyHeads);
  Attended attended;
  attended.results = {{q.dims[0], heads, queries, valueSize}, q.element, {}, {}};
  attended.scores = {{q.dims[0], heads, queries, keys}, q.element, {}, {}};
  attended.results.floats.resize(attended.results.numElements());
  attended.scores.floats.resize(attended.scores.numElements());
  std::vector<double> weights(keys);
  for (int64_t row = 0, rows = q.dims[0] * heads * queries; row < rows; ++row) {
    ScoreIndex index{row / queries / heads, row / queries % heads, row % queries, 0};
    int64_t keyHead = index.batch * keyHeads + index.head / group;
    scoreKeys(scoring, q.floats.data() + row * size, k.floats.data() + keyHead * keys * size, size, index, weights,
              attended.scores.floats.data() + row * keys);
    double *result = attended.results.floats.data() + row * valueSize;
    const double *values = v.floats.data() + keyHead * keys * valueSize;
    for (int64_t key = 0; key < keys; ++key)
      for (int64_t e = 0; weights[key] != 0 && e < valueSize; ++e)
        result[e] += weights[key] * values[key * valueSize + e];
  }
  return attended;
}

Tensor permuted(const Tensor &from, llvm::ArrayRef<int64_t> order) {
  Tensor to;
  to.element = from.element;
  llvm::SmallVector<int64_t, 4> strides;
  for (int64_t dim : order) {
    to.dims.push_back(from.dims[dim]);
    strides.push_back(mergedSize(llvm::ArrayRef(from.dims).drop_front(dim + 1)));
  }
  forEachIndex(to.dims, [&](llvm::ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (auto [i, stride] : llvm::zip_equal(index, strides))
      position += i * stride;
    appendElement(to, from, position);
  });
  return to;
}

Tensor splitHeads(const Tensor &flat, int64_t heads) {
  Tensor apart = flat;
  apart.dims = {flat.dims[0], flat.dims[1], heads, flat.dims[2] / std::max<int64_t>(1, heads)};
  return permuted(apart, {0, 2, 1, 3});
}

Tensor joinHeads(const Tensor &split) {
  Tensor flat = permuted(split, {0, 2, 1, 3});
  flat.dims = {flat.dims[0], flat.dims[1], flat.dims[2] * flat.dims[3]};
  return flat;
}

Tensor sliced(const Tensor &from, size_t dim, int64_t first, int64_t count) {
  Tensor to;
  to.element = from.element;
  to.dims = from.dims;
  to.dims[dim] = count;
  llvm::SmallVector<int64_t, 4> at;
  forEachIndex(to.dims, [&](llvm::ArrayRef<int64_t> index) {
    at.assign(index.begin(), index.end());
    at[dim] += first;
    if (at[dim] < from.dims[dim])
      return appendElement(to, from, positionOf(at, from.dims));
    from.isFloat() ? to.floats.push_back(0) : to.ints.push_back(0);
  });
  return to;
}

Tensor appendPositions(const Tensor *past, const Tensor &current) {
  if (!past)
    return current;
  Tensor joined;
  joined.element = current.element;
  joined.dims = current.dims;
  joined.dims[2] += past->dims[2];
  int64_t size = current.dims[3], before = past->dims[2] * size, now = current.dims[2] * size;
  for (int64_t head = 0, heads = current.dims[0] * current.dims[1]; head < heads; ++head) {
    auto append = [&](const Tensor &from, int64_t count) {
      auto first = from.floats.begin() + head * count;
      joined.floats.insert(joined.floats.end(), first, first + count);
    };
    append(*past, before);
    append(current, now);
  }
  return joined;
}

} // namespace apc
