// GroupNorm and SkipGroupNorm of ONNX Runtime: channels in groups, which may stand last.
#include "../Attributes.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Localize.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/RuleBuilder.h"

#include <cmath>

namespace apc {

namespace {

constexpr unsigned skipIndex = 3, biasIndex = 4;

/// X [2, 8, 8, 320] in 32 groups of 10 channels.
struct GroupedChannels {
  size_t dim = 0; ///< of the channels
  int64_t channels = 1, groups = 1;

  int64_t inGroup() const { return channels / groups; }
};

mlir::FailureOr<GroupedChannels> readGroups(mlir::Operation *op) {
  llvm::ArrayRef<int64_t> x = dimsOf(op->getOperand(0));
  int64_t groups = intAttribute(op, "groups", 1);
  if (x.size() < 3)
    return op->emitOpError() << "operand 'X' has " << x.size()
                             << " dims; batch, channels and at least one spatial dim are needed",
           mlir::failure();
  size_t dim = intAttribute(op, "channels_last", 1) ? x.size() - 1 : 1;
  if (groups < 1 || groups > x[dim] || x[dim] % groups != 0)
    return op->emitOpError() << "groups " << groups << " must divide dim " << dim << " of X " << printDims(x),
           mlir::failure();
  for (unsigned index : {1U, 2U, biasIndex})
    if (index < op->getNumOperands() && mlir::failed(checkDims(op, index, {x[dim]})))
      return mlir::failure();
  return GroupedChannels{dim, x[dim], groups};
}

/// Skip has the shape of X, or one row of channels for each sample: [n, c] or 1 in all other dims.
mlir::LogicalResult checkSkip(mlir::Operation *op, const GroupedChannels &grouped) {
  llvm::ArrayRef<int64_t> x = dimsOf(op->getOperand(0)), skip = dimsOf(op->getOperand(skipIndex));
  llvm::SmallVector<int64_t, 4> row(x.size(), 1);
  row[0] = x[0];
  row[grouped.dim] = grouped.channels;
  int64_t flat[] = {x[0], grouped.channels};
  if (skip == x || skip == llvm::ArrayRef(row) || skip == llvm::ArrayRef(flat))
    return mlir::success();
  return op->emitOpError() << "operand 'skip' has shape " << printDims(skip) << " where " << printDims(x) << ", "
                           << printDims(row) << " or " << printDims(flat) << " is needed";
}

mlir::FailureOr<FactorRule> groupedRule(mlir::Operation *op) {
  auto grouped = readGroups(op);
  if (mlir::failed(grouped))
    return mlir::failure();
  llvm::ArrayRef<int64_t> x = dimsOf(op->getOperand(0));
  RuleBuilder layout(op);
  DimFactors batch = layout.parallel(x[0]), group = layout.parallel(grouped->groups);
  DimFactors channels{group[0], layout.whole(grouped->inGroup())[0]};
  llvm::SmallVector<DimFactors, 4> data;
  for (auto [dim, size] : llvm::enumerate(x))
    data.push_back(dim == 0 ? batch : dim == grouped->dim ? channels : layout.whole(size));
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    llvm::ArrayRef<int64_t> dims = dimsOf(operand);
    auto place = static_cast<unsigned>(index);
    if (dims == x)
      layout.setOperand(place, data);
    else if (dims.size() == 1)
      layout.setOperand(place, {channels});
    else if (dims.size() == 2)
      layout.setOperand(place, {batch, channels});
    else if (dims.size() == x.size()) {
      llvm::SmallVector<DimFactors, 4> row(x.size());
      row[0] = batch;
      row[grouped->dim] = channels;
      layout.setOperand(place, row);
    }
  }
  for (unsigned result = 0; result < op->getNumResults(); ++result)
    layout.setResult(result, data);
  FactorRule rule = layout.take(Work::Stream);
  rule.flopsPerPoint = 8;
  return rule;
}

void localizeGrouped(LocalOp &local) {
  auto grouped = readGroups(local.original);
  assert(mlir::succeeded(grouped) && "the op has a rule");
  local.setInt("groups", std::max<int64_t>(1, local.resultDims(0)[grouped->dim] / grouped->inGroup()));
}

/// The channel and the group of each element of X, row-major.
struct GroupWalk {
  GroupWalk(llvm::ArrayRef<int64_t> dims, const GroupedChannels &grouped)
      : grouped(grouped), inner(mergedSize(dims.drop_front(grouped.dim + 1))), ofSample(mergedSize(dims.drop_front())) {
  }
  int64_t channelOf(int64_t at) const { return at / inner % grouped.channels; }
  int64_t sampleOf(int64_t at) const { return at / ofSample; }
  int64_t rowOf(int64_t at) const { return sampleOf(at) * grouped.groups + channelOf(at) / grouped.inGroup(); }

  GroupedChannels grouped;
  int64_t inner, ofSample;
};

/// Takes the mean of each row of a sample's group from its elements, and divides by the root of their variance.
void normaliseGroups(std::vector<double> &data, const GroupWalk &walk, int64_t samples, double epsilon) {
  auto rows = static_cast<size_t>(samples * walk.grouped.groups);
  double count = rows == 0 ? 1 : static_cast<double>(data.size()) / static_cast<double>(rows);
  std::vector<double> mean(rows, 0), variance(rows, 0);
  for (auto [at, value] : llvm::enumerate(data))
    mean[walk.rowOf(static_cast<int64_t>(at))] += value / count;
  for (auto [at, value] : llvm::enumerate(data)) {
    int64_t row = walk.rowOf(static_cast<int64_t>(at));
    variance[row] += (value - mean[row]) * (value - mean[row]) / count;
  }
  for (auto [at, value] : llvm::enumerate(data)) {
    int64_t row = walk.rowOf(static_cast<int64_t>(at));
    value = (value - mean[row]) / std::sqrt(variance[row] + epsilon);
  }
}

/// Adds skip and bias, where they are.
void addSkip(std::vector<double> &data, const GroupWalk &walk, Operands operands) {
  const Tensor &skip = *operands[skipIndex];
  bool isRow = skip.numElements() != static_cast<int64_t>(data.size());
  for (auto [index, value] : llvm::enumerate(data)) {
    auto at = static_cast<int64_t>(index);
    int64_t channel = walk.channelOf(at);
    value += skip.floats[isRow ? walk.sampleOf(at) * walk.grouped.channels + channel : at];
    if (operands[biasIndex])
      value += operands[biasIndex]->floats[channel];
  }
}

Evaluated evaluateGrouped(mlir::Operation *op, Operands operands, double epsilon) {
  auto grouped = readGroups(op);
  for (auto [operand, value] : llvm::zip_equal(operands, op->getOperands()))
    if (!operand && !isAbsent(value))
      return std::nullopt;
  if (mlir::failed(grouped))
    return std::nullopt;
  Tensor result = *operands[0], sum;
  GroupWalk walk(operands[0]->dims, *grouped);
  if (operands.size() > skipIndex) {
    addSkip(result.floats, walk, operands);
    sum = result;
  }
  normaliseGroups(result.floats, walk, result.dims[0], epsilon);
  for (auto [at, value] : llvm::enumerate(result.floats)) {
    int64_t channel = walk.channelOf(static_cast<int64_t>(at));
    value = value * operands[1]->floats[channel] + operands[2]->floats[channel];
    if (intAttribute(op, "activation", 0))
      value /= 1 + std::exp(-value);
  }
  llvm::SmallVector<Tensor, 1> results{std::move(result)};
  if (op->getNumResults() > 1)
    results.push_back(isAbsent(op->getResult(1)) ? Tensor() : std::move(sum));
  return results;
}

} // namespace

mlir::LogicalResult GroupNormOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  if (mlir::failed(readGroups(*this)))
    return mlir::failure();
  return addType(*this, dimsOf(getX()), operandElement(*this, 0), types);
}

mlir::LogicalResult SkipGroupNormOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto grouped = readGroups(*this);
  if (mlir::failed(grouped) || mlir::failed(checkSkip(*this, *grouped)))
    return mlir::failure();
  types.assign(2, getX().getType());
  return mlir::success();
}

mlir::FailureOr<FactorRule> GroupNormOp::getRule() { return groupedRule(*this); }
mlir::FailureOr<FactorRule> SkipGroupNormOp::getRule() { return groupedRule(*this); }
void GroupNormOp::localize(LocalOp &local) { localizeGrouped(local); }
void SkipGroupNormOp::localize(LocalOp &local) { localizeGrouped(local); }

Evaluated GroupNormOp::evaluate(Operands operands) {
  return evaluateGrouped(*this, operands, getEpsilon().convertToDouble());
}
Evaluated SkipGroupNormOp::evaluate(Operands operands) {
  return evaluateGrouped(*this, operands, getEpsilon().convertToDouble());
}

} // namespace apc
