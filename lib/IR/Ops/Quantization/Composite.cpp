// Operators on quantised tensors that are more than elementwise: pools, softmax, concatenation, products of matrices.
#include "Quantization.h"

#include "../Attributes.h"
#include "../Convolution/Convolution.h"
#include "../Convolution/WindowWalk.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/RuleBuilder.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace apc {

namespace {

/// [batch, channels, space] of data whose channels may stand last.
llvm::SmallVector<int64_t, 5> channelsFirst(llvm::ArrayRef<int64_t> dims, bool channelsLast) {
  llvm::SmallVector<int64_t, 5> first(dims);
  if (channelsLast)
    std::rotate(first.begin() + 1, first.end() - 1, first.end());
  return first;
}

/// The position in the data of element `inPlane` of a plane, whose channel may stand last.
int64_t positionIn(int64_t plane, int64_t inPlane, int64_t channels, int64_t planeSize, bool channelsLast) {
  if (!channelsLast)
    return plane * planeSize + inPlane;
  return (plane / channels * planeSize + inPlane) * channels + plane % channels;
}

} // namespace

mlir::LogicalResult QLinearAveragePoolOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> dims = dimsOf(getX());
  if (dims.size() < 3)
    return emitOpError() << "operand 'X' has " << dims.size()
                         << " dims; batch, channels and at least one spatial dim are needed";
  auto data = channelsFirst(dims, getChannelsLast() != 0);
  auto windows = readPool(*this, data);
  if (mlir::failed(windows))
    return mlir::failure();
  for (auto [dim, window] : llvm::zip_equal(llvm::MutableArrayRef(data).drop_front(2), *windows))
    dim = window.output;
  if (getChannelsLast())
    std::rotate(data.begin() + 1, data.begin() + 2, data.end());
  return addType(*this, data, operandElement(*this, 0), types);
}

mlir::FailureOr<FactorRule> QLinearAveragePoolOp::getRule() {
  RuleBuilder layout(*this);
  llvm::ArrayRef<int64_t> from = dimsOf(getX()), to = dimsOf(getY());
  size_t channels = getChannelsLast() ? from.size() - 1 : 1;
  llvm::SmallVector<DimFactors, 4> data, result;
  for (size_t dim = 0; dim < from.size(); ++dim) {
    bool isKept = dim == 0 || dim == channels;
    data.push_back(isKept ? layout.parallel(from[dim]) : layout.whole(from[dim]));
    result.push_back(isKept ? data.back() : layout.whole(to[dim]));
  }
  layout.setOperand(0, data);
  layout.setResult(0, result);
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule,
           static_cast<double>(shapeOf(getY())->numElements()) * static_cast<double>(mergedSize(getKernelShape())));
  return rule;
}

Evaluated QLinearAveragePoolOp::evaluate(Operands operands) {
  auto x = affineAt(*this, operands, 1), y = affineAt(*this, operands, 3);
  if (!operands[0] || !x || !y)
    return std::nullopt;
  bool isLast = getChannelsLast() != 0;
  auto dims = channelsFirst(operands[0]->dims, isLast);
  auto windows = readPool(*this, dims);
  if (mlir::failed(windows))
    return std::nullopt;
  int64_t input = countInputs(*windows), output = countOutputs(*windows);
  std::vector<WindowRun> runs = windowRuns(*windows);
  std::vector<double> counts = countPoints(*windows, getCountIncludePad() != 0);
  Tensor result = zeros(getY().getType());
  for (int64_t plane = 0; plane < dims[0] * dims[1]; ++plane) {
    std::vector<double> sums(output, 0);
    for (const WindowRun &run : runs)
      for (int64_t i = 0; i < run.count; ++i) {
        int64_t from = positionIn(plane, run.data + i * run.step, dims[1], input, isLast);
        sums[run.first + i] += x->real(getElement(*operands[0], from));
      }
    for (int64_t i = 0; i < output; ++i)
      setElement(result, positionIn(plane, i, dims[1], output, isLast),
                 y->quantized(sums[i] / std::max(counts[i], 1.0), result.element));
  }
  return evaluatedAs(std::move(result));
}

mlir::FailureOr<std::string> qlinearSoftmaxRule(mlir::Operation *op, int64_t axis, int64_t opset) {
  auto text = softmaxRule(op, axis, opset);
  if (mlir::failed(text))
    return mlir::failure();
  size_t arrow = text->find(" ->");
  return text->substr(0, arrow) + ", _, _, _, _" + text->substr(arrow);
}

Evaluated QLinearSoftmaxOp::evaluate(Operands operands) {
  auto x = affineAt(*this, operands, 1), y = affineAt(*this, operands, 3);
  if (!operands[0] || !x || !y)
    return std::nullopt;
  llvm::ArrayRef<int64_t> dims = operands[0]->dims;
  auto numDims = static_cast<int64_t>(dims.size()), axis = static_cast<int64_t>(getAxis());
  auto dim = static_cast<size_t>(axis < 0 ? axis + numDims : axis);
  bool flattens = getOpset() < 13;
  int64_t row = flattens ? mergedSize(dims.drop_front(dim)) : dims[dim];
  int64_t step = flattens ? 1 : mergedSize(dims.drop_front(dim + 1));
  Tensor result = zeros(getY().getType());
  int64_t rows = row == 0 ? 0 : result.numElements() / row;
  for (int64_t r = 0; r < rows; ++r) {
    auto at = [&](int64_t i) { return r / step * step * row + r % step + i * step; };
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < row; ++i)
      largest = std::max(largest, x->real(getElement(*operands[0], at(i))));
    for (int64_t i = 0; i < row; ++i)
      sum += std::exp(x->real(getElement(*operands[0], at(i))) - largest);
    for (int64_t i = 0; i < row; ++i) {
      double share = std::exp(x->real(getElement(*operands[0], at(i))) - largest) / sum;
      setElement(result, at(i), y->quantized(share, result.element));
    }
  }
  return evaluatedAs(std::move(result));
}

mlir::LogicalResult QLinearConcatOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  if (getInputs().empty() || getInputs().size() % 3 != 0)
    return emitOpError()
           << "has " << getInputs().size()
           << " inputs behind the result's zero point; data, scale and zero point of each part are needed";
  llvm::SmallVector<int64_t, 5> dims(dimsOf(getInputs()[0]));
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), dims.size());
  if (mlir::failed(axis))
    return mlir::failure();
  dims[*axis] = 0;
  for (size_t part = 0; part < getInputs().size(); part += 3) {
    mlir::Value data = getInputs()[part];
    llvm::SmallVector<int64_t, 5> own(dimsOf(data));
    if (own.size() != dims.size())
      return emitOpError() << "part " << part / 3 << " has shape " << printDims(own) << ", another number of dims than "
                           << printDims(dimsOf(getInputs()[0]));
    if (llvm::AddOverflow(dims[*axis], own[*axis], dims[*axis]))
      return emitOpError() << "parts have 2^63 or more indices along axis " << *axis;
    own[*axis] = dims[*axis];
    if (own != dims)
      return emitOpError() << "parts of shapes " << printDims(dimsOf(getInputs()[0])) << " and "
                           << printDims(dimsOf(data)) << " differ beside axis " << *axis;
  }
  return addType(*this, dims, operandElement(*this, 1), types);
}

mlir::FailureOr<FactorRule> QLinearConcatOp::getRule() {
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), dimsOf(getY()).size());
  if (mlir::failed(axis))
    return mlir::failure();
  RuleBuilder layout(*this);
  llvm::SmallVector<DimFactors, 4> result;
  for (auto [dim, size] : llvm::enumerate(dimsOf(getY())))
    result.push_back(dim == *axis ? layout.whole(size) : layout.parallel(size));
  for (unsigned part = 0; part < getInputs().size(); part += 3) {
    llvm::SmallVector<DimFactors, 4> data = result;
    data[*axis] = layout.whole(dimsOf(getInputs()[part])[*axis]);
    layout.setOperand(2 + part, data);
  }
  layout.setResult(0, result);
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule, 4 * static_cast<double>(shapeOf(getY())->numElements()));
  return rule;
}

Evaluated QLinearConcatOp::evaluate(Operands operands) {
  auto y = affineAt(*this, operands, 0);
  if (!y)
    return std::nullopt;
  Tensor result = zeros(getY().getType());
  auto numDims = static_cast<int64_t>(result.dims.size()), axis = static_cast<int64_t>(getAxis());
  auto dim = static_cast<size_t>(axis < 0 ? axis + numDims : axis);
  int64_t before = 0;
  for (unsigned part = 2; part + 2 < operands.size(); part += 3) {
    auto own = affineAt(*this, operands, part + 1);
    if (!operands[part] || !own)
      return std::nullopt;
    const Tensor &data = *operands[part];
    int64_t at = 0;
    llvm::SmallVector<int64_t, 4> place;
    forEachIndex(data.dims, [&](llvm::ArrayRef<int64_t> index) {
      place.assign(index.begin(), index.end());
      place[dim] += before;
      setElement(result, positionOf(place, result.dims),
                 y->quantized(own->real(getElement(data, at++)), result.element));
    });
    before += data.dims[dim];
  }
  return evaluatedAs(std::move(result));
}

namespace {

/// An error where the scale or zero point of A, B or the result, or C, has another shape than the kernel reads.
mlir::LogicalResult checkQGemm(mlir::Operation *op, int64_t rows, int64_t columns) {
  for (unsigned index : {1U, 2U, 4U, 5U, 7U, 8U}) {
    llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(index));
    bool perColumn = (index == 4 || index == 5) && dims.size() == 1 && dims[0] == columns;
    if (!perColumn && !(dims.size() <= 1 && checkedProduct(dims) == 1))
      return op->emitOpError() << "operand '" << operandName(op, index) << "' has shape " << printDims(dims)
                               << "; one number is needed"
                               << (index == 4 || index == 5 ? ", or one for each of the columns of B" : "");
  }
  llvm::SmallVector<int64_t, 2> c(dimsOf(op->getOperand(6)));
  while (c.size() < 2)
    c.insert(c.begin(), 1);
  if (c.size() == 2 && (c[0] == 1 || c[0] == rows) && (c[1] == 1 || c[1] == columns))
    return mlir::success();
  return op->emitOpError() << "operand 'C' has shape " << printDims(dimsOf(op->getOperand(6)))
                           << ", which does not broadcast to [" << rows << ", " << columns << "]";
}

} // namespace

mlir::FailureOr<std::string> qgemmRule(mlir::Operation *op, bool transposeA, bool transposeB) {
  llvm::ArrayRef<int64_t> a = dimsOf(op->getOperand(0)), b = dimsOf(op->getOperand(3)), c = dimsOf(op->getOperand(6));
  if (mlir::failed(checkDims(op, 0, {-1, -1})) || mlir::failed(checkDims(op, 3, {-1, -1})))
    return mlir::failure();
  int64_t columns = b[transposeB ? 0 : 1];
  if (mlir::failed(checkQGemm(op, a[transposeA ? 1 : 0], columns)))
    return mlir::failure();
  auto perColumn = [&](unsigned index) {
    llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(index));
    return dims.size() == 1 && dims[0] == columns && columns != 1 ? "n" : "_";
  };
  std::string text = transposeA ? "!k m, _, _, " : "m !k, _, _, ";
  text += transposeB ? "n !k, " : "!k n, ";
  text += llvm::formatv("{0}, {1}, ", perColumn(4), perColumn(5));
  if (c.size() == 2)
    text += std::string(c[0] == 1 ? "1 " : "m ") + (c[1] == 1 && columns != 1 ? "1" : "n");
  else
    text += isAbsent(op->getOperand(6)) ? "_" : c.empty() || c[0] != columns ? "_" : "n";
  return text + ", _, _ -> m n";
}

namespace {

/// One scale and zero point, or one for each column.
struct Columns {
  const Tensor &scale, &zero;

  Affine operator[](int64_t column) const {
    auto at = [&](const Tensor &tensor) { return getElement(tensor, tensor.numElements() == 1 ? 0 : column).asReal(); };
    return {at(scale), at(zero)};
  }
};

/// The element of C that is added to element (row, column): C may lack either.
double added(const Tensor *c, int64_t row, int64_t column) {
  if (!c)
    return 0;
  int64_t rows = c->dims.size() == 2 ? c->dims[0] : 1, columns = c->dims.empty() ? 1 : c->dims.back();
  return getElement(*c, (rows == 1 ? 0 : row) * columns + (columns == 1 ? 0 : column)).asReal();
}

} // namespace

Evaluated QGemmOp::evaluate(Operands operands) {
  auto a = affineAt(*this, operands, 1);
  auto y = isAbsent(getYScale()) ? std::optional(Affine()) : affineAt(*this, operands, 7);
  if (!a || !y || llvm::is_contained(operands.slice(3, 3), nullptr) || !operands[0] ||
      (!isAbsent(getC()) && !operands[6]))
    return std::nullopt;
  const Tensor &left = *operands[0], &right = *operands[3];
  Columns columns{*operands[4], *operands[5]};
  Tensor result = zeros(getY().getType());
  int64_t n = result.dims[1], depth = left.dims[getTransA() ? 0 : 1];
  for (int64_t row = 0; row < result.dims[0]; ++row)
    for (int64_t column = 0; column < n; ++column) {
      Affine b = columns[column];
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        double x = getElement(left, getTransA() ? k * result.dims[0] + row : row * depth + k).asReal() - a->zero;
        sum += x * (getElement(right, getTransB() ? column * depth + k : k * n + column).asReal() - b.zero);
      }
      double real = getAlpha().convertToDouble() * a->scale * b.scale * (sum + added(operands[6], row, column));
      bool isFloat = result.isFloat();
      setElement(result, row * n + column, isFloat ? Number::of(real) : y->quantized(real, result.element));
    }
  return evaluatedAs(std::move(result));
}

} // namespace apc
