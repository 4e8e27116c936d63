// Signal processing: shapes that constants decide, and rules.
#include "Signal.h"

#include "../Attributes.h"
#include "apc/IR/RuleBuilder.h"

#include <cmath>

namespace apc {

namespace {

/// A constant scalar in [least, 2^31); `otherwise` when the operand is absent.
mlir::FailureOr<int64_t> requireScalar(mlir::Operation *op, unsigned operand, int64_t least, int64_t otherwise) {
  if (isAbsent(op->getOperand(operand)))
    return otherwise;
  auto values = requireInts(op, operand);
  if (mlir::failed(values))
    return mlir::failure();
  if (values->size() != 1 || values->front() < least || values->front() >= int64_t(1) << 31)
    return op->emitOpError() << "operand '" << operandName(op, operand) << "' needs to be one number in [" << least
                             << ", 2^31)",
           mlir::failure();
  return values->front();
}

/// FLOPs of one fast Fourier transform of `size` points.
double transformFlops(double size) { return 5 * size * std::log2(std::max(size, 2.0)); }

FactorRule withFlops(RuleBuilder &layout, double flops) {
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule, flops);
  return rule;
}

double numElements(mlir::Value value) { return double(shapeOf(value)->numElements()); }

} // namespace

mlir::FailureOr<Dft> readDft(mlir::Operation *op) {
  auto dft = llvm::cast<DFTOp>(op);
  llvm::ArrayRef<int64_t> input = dimsOf(dft.getInput());
  if (input.size() < 2 || input.back() < 1 || input.back() > 2)
    return op->emitOpError() << "operand 'input' has shape " << printDims(input)
                             << "; at least 2 dims are needed, the last 1 (real) or 2 (complex)",
           mlir::failure();
  // Until opset 19 the axis was an attribute, 1 unless given.
  int64_t axis = dft.getOpsetVersion() < 20 ? 1 : -2;
  if (!isAbsent(dft.getAxis())) {
    auto given = requireInts(op, 2);
    if (mlir::failed(given) || given->size() != 1)
      return mlir::failed(given) ? mlir::failure() : op->emitOpError("operand 'axis' needs to be one number");
    axis = given->front();
  }
  auto dim = normalizeAxis(op, axis, input.size());
  if (mlir::failed(dim))
    return mlir::failure();
  if (*dim + 1 == input.size())
    return op->emitOpError() << "axis " << axis << " is the last dim, which holds real and imaginary parts",
           mlir::failure();
  bool half = dft.getOnesided() != 0, inverse = dft.getInverse() != 0;
  // The half spectrum of a real signal of 10 points has 6; backwards 6 give 10.
  int64_t points = input[*dim];
  if (points >= int64_t(1) << 31)
    return op->emitOpError("has more than 2^31 points"), mlir::failure();
  auto length = requireScalar(op, 1, 1, half && inverse ? std::max<int64_t>(1, 2 * (points - 1)) : points);
  if (mlir::failed(length))
    return mlir::failure();
  return Dft{*dim, *length, half && !inverse ? *length / 2 + 1 : *length, half && inverse ? 1 : 2};
}

mlir::FailureOr<Stft> readStft(mlir::Operation *op) {
  auto stft = llvm::cast<STFTOp>(op);
  llvm::ArrayRef<int64_t> signal = dimsOf(stft.getSignal());
  bool isComplex = signal.size() == 3 && signal[2] == 2;
  if (!isComplex && signal.size() != 2 && (signal.size() != 3 || signal[2] != 1))
    return op->emitOpError()
               << "operand 'signal' has shape " << printDims(signal)
               << "; [batch, points] or [batch, points, 1] (real) or [batch, points, 2] (complex) is needed",
           mlir::failure();
  if (mlir::failed(checkDims(op, 2, {-1})))
    return mlir::failure();
  auto step = requireScalar(op, 1, 1, 1);
  bool windowed = !isAbsent(stft.getWindow());
  auto length = requireScalar(op, 3, 1, windowed ? dimsOf(stft.getWindow())[0] : 0);
  if (mlir::failed(step) || mlir::failed(length))
    return mlir::failure();
  if (*length < 1 || *length > signal[1])
    return op->emitOpError() << "needs a window or a frame length of 1 to " << signal[1] << " points", mlir::failure();
  return Stft{(signal[1] - *length) / *step + 1, *length, stft.getOnesided() ? *length / 2 + 1 : *length, *step};
}

mlir::LogicalResult inferDft(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto dft = readDft(op);
  if (mlir::failed(dft))
    return mlir::failure();
  llvm::SmallVector<int64_t, 5> dims(dimsOf(op->getOperand(0)));
  dims[dft->dim] = dft->output;
  dims.back() = dft->parts;
  return addType(op, dims, operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> ruleDft(mlir::Operation *op) {
  auto dft = readDft(op);
  if (mlir::failed(dft))
    return mlir::failure();
  RuleBuilder layout(op);
  llvm::ArrayRef<int64_t> input = dimsOf(op->getOperand(0)), output = dimsOf(op->getResult(0));
  llvm::SmallVector<DimFactors, 4> data, result;
  double transforms = 1;
  for (unsigned dim = 0; dim < input.size(); ++dim) {
    bool kept = dim != dft->dim && dim + 1 != input.size();
    data.push_back(kept ? layout.parallel(input[dim]) : layout.whole(input[dim]));
    result.push_back(kept ? data.back() : layout.whole(output[dim]));
    transforms *= kept ? double(input[dim]) : 1;
  }
  layout.setOperand(0, data);
  layout.setResult(0, result);
  layout.setLinear({0});
  return withFlops(layout, transforms * transformFlops(double(dft->length)));
}

mlir::LogicalResult inferStft(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto stft = readStft(op);
  if (mlir::failed(stft))
    return mlir::failure();
  return addType(op, {dimsOf(op->getOperand(0))[0], stft->frames, stft->bins, 2}, operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> ruleStft(mlir::Operation *op) {
  auto stft = readStft(op);
  if (mlir::failed(stft))
    return mlir::failure();
  RuleBuilder layout(op);
  llvm::ArrayRef<int64_t> signal = dimsOf(op->getOperand(0));
  DimFactors batch = layout.parallel(signal[0]);
  llvm::SmallVector<DimFactors, 4> data = {batch};
  for (int64_t size : signal.drop_front())
    data.push_back(layout.whole(size));
  layout.setOperand(0, data);
  layout.setResult(0, {batch, layout.whole(stft->frames), layout.whole(stft->bins), layout.whole(2)});
  return withFlops(layout, double(signal[0]) * double(stft->frames) * transformFlops(double(stft->length)));
}

namespace {

mlir::LogicalResult checkSquare(mlir::Operation *op) {
  llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(0));
  if (dims.size() >= 2 && dims.back() == dims[dims.size() - 2])
    return mlir::success();
  return op->emitOpError() << "operand 'X' has shape " << printDims(dims)
                           << "; at least 2 dims are needed, the last two equal";
}

/// The result is a number, or a matrix, for each matrix [m, m], by `flops` m^3 FLOPs.
FactorRule ruleOfMatrices(mlir::Operation *op, double flops, bool givesMatrices) {
  RuleBuilder layout(op);
  llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(0));
  llvm::SmallVector<DimFactors, 4> data;
  for (int64_t size : dims.drop_back(2))
    data.push_back(layout.parallel(size));
  if (!givesMatrices)
    layout.setResult(0, data);
  data.push_back(layout.whole(dims.back()));
  data.push_back(layout.whole(dims.back()));
  layout.setOperand(0, data);
  if (givesMatrices)
    layout.setResult(0, data);
  return withFlops(layout, flops * numElements(op->getOperand(0)) * double(dims.back()));
}

} // namespace

mlir::LogicalResult inferDet(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  if (mlir::failed(checkSquare(op)))
    return mlir::failure();
  return addType(op, dimsOf(op->getOperand(0)).drop_back(2), operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> ruleDet(mlir::Operation *op) {
  return ruleOfMatrices(op, 2.0 / 3.0, /*givesMatrices=*/false);
}

mlir::LogicalResult inferCofactors(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  types.push_back(op->getOperand(0).getType());
  return checkSquare(op);
}

mlir::FailureOr<FactorRule> ruleCofactors(mlir::Operation *op) { return ruleOfMatrices(op, 2, /*givesMatrices=*/true); }

} // namespace apc
