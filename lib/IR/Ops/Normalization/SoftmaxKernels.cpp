// Softmax, its logarithm and its maximum along one dim or, before opset 13, along all dims from `axis` on.
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/RuleBuilder.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

/// Exponentials of x - greatest, so that none overflows; log softmax is x - greatest - log(sum).
void takeSoftmax(std::vector<double> &line, SoftmaxKind kind) {
  double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (double x : line)
    greatest = std::isnan(x) || x > greatest ? x : greatest;
  for (double x : line)
    sum += std::exp(x - greatest);
  for (double &x : line)
    x = kind == SoftmaxKind::Log ? x - greatest - std::log(sum) : std::exp(x - greatest) / sum;
}

/// 1 at the first of the greatest, 0 elsewhere.
void takeHardmax(std::vector<double> &line) {
  auto greatest = std::max_element(line.begin(), line.end()) - line.begin();
  for (auto [i, x] : llvm::enumerate(line))
    x = static_cast<std::ptrdiff_t>(i) == greatest ? 1 : 0;
}

} // namespace

Evaluated evaluateSoftmax(mlir::Operation *op, Operands operands, SoftmaxKind kind, std::optional<int64_t> axis,
                          int64_t opset) {
  if (!operands[0] || !operands[0]->isFloat())
    return std::nullopt;
  Tensor data = *operands[0];
  bool flattens = opset < 13;
  llvm::ArrayRef<int64_t> dims = data.dims;
  int64_t wanted = axis.value_or(flattens ? 1 : -1);
  size_t dim = wanted < 0 ? wanted + dims.size() : wanted;
  int64_t length = mergedSize(flattens ? dims.drop_front(dim) : dims.slice(dim, 1));
  int64_t inner = flattens ? 1 : mergedSize(dims.drop_front(dim + 1));
  int64_t lines = length == 0 ? 0 : data.numElements() / length;
  std::vector<double> line(length);
  for (int64_t i = 0; i < lines; ++i) {
    double *first = data.floats.data() + i / inner * length * inner + i % inner;
    for (int64_t j = 0; j < length; ++j)
      line[j] = first[j * inner];
    kind == SoftmaxKind::Hard ? takeHardmax(line) : takeSoftmax(line, kind);
    for (int64_t j = 0; j < length; ++j)
      first[j * inner] = line[j];
  }
  return evaluatedAs(std::move(data));
}

} // namespace apc
