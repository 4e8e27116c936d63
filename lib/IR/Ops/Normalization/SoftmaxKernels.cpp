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

/// Where the lines along which a softmax is taken stand: line i begins at `begin(i)`, its elements are `inner` apart.
struct Lines {
  int64_t count = 0, length = 0, inner = 1;

  Lines(const Tensor &data, std::optional<int64_t> axis, int64_t opset) {
    bool flattens = opset < 13;
    llvm::ArrayRef<int64_t> dims = data.dims;
    int64_t wanted = axis.value_or(flattens ? 1 : -1);
    size_t dim = wanted < 0 ? wanted + dims.size() : wanted;
    length = mergedSize(flattens ? dims.drop_front(dim) : dims.slice(dim, 1));
    inner = flattens ? 1 : mergedSize(dims.drop_front(dim + 1));
    count = length == 0 ? 0 : data.numElements() / length;
  }
  int64_t begin(int64_t line) const { return line / inner * length * inner + line % inner; }
};

} // namespace

Evaluated evaluateSoftmax(mlir::Operation *op, Operands operands, SoftmaxKind kind, std::optional<int64_t> axis,
                          int64_t opset) {
  if (!operands[0] || !operands[0]->isFloat())
    return std::nullopt;
  Tensor data = *operands[0];
  Lines lines(data, axis, opset);
  std::vector<double> line(lines.length);
  for (int64_t i = 0; i < lines.count; ++i) {
    double *first = data.floats.data() + lines.begin(i);
    for (int64_t j = 0; j < lines.length; ++j)
      line[j] = first[j * lines.inner];
    kind == SoftmaxKind::Hard ? takeHardmax(line) : takeSoftmax(line, kind);
    for (int64_t j = 0; j < lines.length; ++j)
      first[j * lines.inner] = line[j];
  }
  return evaluatedAs(std::move(data));
}

Evaluated evaluateSoftmaxGradient(mlir::Operation *op, Operands operands, SoftmaxKind kind, std::optional<int64_t> axis,
                                  int64_t opset) {
  if (!operands[0] || !operands[1])
    return std::nullopt;
  Tensor result = *operands[0];
  const Tensor &y = *operands[1];
  Lines lines(result, axis, opset);
  bool isLog = kind == SoftmaxKind::Log;
  for (int64_t i = 0; i < lines.count; ++i) {
    double *gradients = result.floats.data() + lines.begin(i);
    const double *values = y.floats.data() + lines.begin(i);
    double sum = 0;
    for (int64_t j = 0; j < lines.length * lines.inner; j += lines.inner)
      sum += gradients[j] * (isLog ? 1 : values[j]);
    for (int64_t j = 0; j < lines.length * lines.inner; j += lines.inner)
      gradients[j] = isLog ? gradients[j] - std::exp(values[j]) * sum : values[j] * (gradients[j] - sum);
  }
  return evaluatedAs(std::move(result));
}

} // namespace apc
