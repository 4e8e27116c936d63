// Normalisations: which dims must be whole, and how parameters stand at dims.
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

/// "d0 d1 !d2" with the dims of `whole` marked.
std::string namedDims(size_t numDims, const llvm::SmallBitVector &whole) {
  std::string text;
  for (unsigned dim = 0; dim < numDims; ++dim)
    text += (whole.test(dim) ? " !d" : " d") + std::to_string(dim);
  return text;
}

std::string namedDims(size_t numDims) {
  return namedDims(numDims, llvm::SmallBitVector(static_cast<unsigned>(numDims)));
}

/// The dims of `value` aligned at the end of `data`: [1, 8] beside [4, 5, 8] is "1 d2"; nothing for `none`.
mlir::FailureOr<std::string> alignedText(mlir::Operation *op, mlir::Value value, llvm::ArrayRef<int64_t> data) {
  llvm::ArrayRef<int64_t> dims = dimsOf(value);
  if (dims.size() > data.size())
    return op->emitOpError() << "shape " << printDims(dims) << " does not broadcast to " << printDims(data),
           mlir::failure();
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t dim = data.size() - dims.size() + i;
    text += dims[i] == 1 && data[dim] != 1 ? " 1" : " d" + std::to_string(dim);
  }
  return text;
}

/// "d0 d1 1": the dims before `axis`, with the others kept as 1.
std::string statisticsText(size_t numDims, size_t axis) {
  std::string text = namedDims(axis);
  for (size_t dim = axis; dim < numDims; ++dim)
    text += " 1";
  return text;
}

llvm::SmallBitVector wholeFrom(size_t numDims, size_t axis) {
  llvm::SmallBitVector whole(static_cast<unsigned>(numDims));
  whole.set(static_cast<unsigned>(axis), static_cast<unsigned>(numDims));
  return whole;
}

/// "d0 !d1, d1, d1" for operand 0 and all others aligned to it.
mlir::FailureOr<std::string> alignedOperands(mlir::Operation *op, size_t axis) {
  llvm::ArrayRef<int64_t> data = dimsOf(op->getOperand(0));
  std::string text = namedDims(data.size(), wholeFrom(data.size(), axis));
  for (mlir::Value operand : op->getOperands().drop_front()) {
    auto aligned = alignedText(op, operand, data);
    if (mlir::failed(aligned))
      return mlir::failure();
    text += "," + *aligned;
  }
  return text;
}

} // namespace

mlir::FailureOr<std::string> softmaxRule(mlir::Operation *op, std::optional<int64_t> axis, int64_t opset) {
  size_t numDims = dimsOf(op->getOperand(0)).size();
  bool flattens = opset < 13;
  int64_t wanted = axis.value_or(flattens ? 1 : -1);
  // With an axis behind the last dim each row has one element.
  if (flattens && wanted == static_cast<int64_t>(numDims))
    return namedDims(numDims) + " ->" + namedDims(numDims);
  auto dim = normalizeAxis(op, wanted, numDims);
  if (mlir::failed(dim))
    return mlir::failure();
  llvm::SmallBitVector whole(static_cast<unsigned>(numDims));
  whole.set(*dim, flattens ? static_cast<unsigned>(numDims) : *dim + 1);
  return namedDims(numDims, whole) + " ->" + namedDims(numDims);
}

mlir::FailureOr<std::string> softmaxGradientRule(mlir::Operation *op, std::optional<int64_t> axis, int64_t opset) {
  auto text = softmaxRule(op, axis, opset);
  if (mlir::failed(text))
    return mlir::failure();
  size_t arrow = text->find(" ->");
  return text->substr(0, arrow) + "," + *text;
}

mlir::FailureOr<std::string> softmaxSumRule(mlir::Operation *op, int64_t axis) {
  size_t numDims = dimsOf(op->getOperand(0)).size();
  auto reduced = normalizeAxis(op, axis, numDims);
  if (mlir::failed(reduced))
    return mlir::failure();
  std::string data = namedDims(numDims), text = data + "," + data + " ->";
  for (size_t dim = 0; dim < numDims; ++dim)
    text += dim == *reduced ? " 1" : " d" + std::to_string(dim);
  return text;
}

mlir::FailureOr<std::string> layerScaleGradientRule(mlir::Operation *op, int64_t axis) {
  size_t numDims = dimsOf(op->getOperand(0)).size();
  auto first = normalizeAxis(op, axis, numDims);
  if (mlir::failed(first))
    return mlir::failure();
  std::string data = namedDims(numDims, wholeFrom(numDims, *first)), text = data + "," + data + " ->";
  for (size_t dim = *first; dim < numDims; ++dim)
    text += " d" + std::to_string(dim);
  return text;
}

mlir::FailureOr<std::string> layerRule(mlir::Operation *op, int64_t axis, unsigned numStatistics) {
  size_t numDims = dimsOf(op->getOperand(0)).size();
  auto first = normalizeAxis(op, axis, numDims);
  if (mlir::failed(first))
    return mlir::failure();
  auto text = alignedOperands(op, *first);
  if (mlir::failed(text))
    return mlir::failure();
  *text += " ->" + namedDims(numDims);
  for (unsigned i = 0; i < numStatistics; ++i)
    *text += "," + statisticsText(numDims, *first);
  return text;
}

mlir::FailureOr<std::string> skipLayerRule(mlir::Operation *op) {
  size_t numDims = dimsOf(op->getOperand(0)).size();
  auto last = normalizeAxis(op, -1, numDims, "operand 'input' needs a last dim:");
  if (mlir::failed(last))
    return mlir::failure();
  auto text = alignedOperands(op, *last);
  if (mlir::failed(text))
    return mlir::failure();
  std::string statistics = statisticsText(numDims, *last);
  return *text + " ->" + namedDims(numDims) + "," + statistics + "," + statistics + "," + namedDims(numDims);
}

llvm::SmallVector<mlir::Type, 4> skipLayerElements(mlir::Operation *op) {
  mlir::Type data = operandElement(op, 0), statistics = mlir::Float32Type::get(op->getContext());
  return {data, statistics, statistics, data};
}

std::string batchRule(mlir::Operation *op, bool training, bool spatial) {
  size_t numDims = dimsOf(op->getOperand(0)).size();
  llvm::SmallBitVector whole(static_cast<unsigned>(numDims), training);
  std::string channels;
  if (numDims < 2) // one channel
    channels = " 1";
  for (size_t dim = 1; dim < (spatial ? std::min<size_t>(numDims, 2) : numDims); ++dim) {
    channels += " d" + std::to_string(dim);
    whole.reset(static_cast<unsigned>(dim));
  }
  std::string text = namedDims(numDims, whole);
  for (unsigned i = 0; i < 4; ++i)
    text += "," + channels;
  text += " ->" + namedDims(numDims);
  for (unsigned i = 0; i < 4; ++i)
    text += "," + channels;
  return text;
}

mlir::FailureOr<std::string> channelRule(mlir::Operation *op, llvm::ArrayRef<unsigned> data, bool sums) {
  size_t numDims = dimsOf(op->getOperand(0)).size();
  if (numDims < 2)
    return op->emitOpError() << "operand '" << operandName(op, 0) << "' has " << numDims
                             << " dims; batch and channels at least are needed",
           mlir::failure();
  std::string text;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    text += (i == 0 ? "" : ",") + (llvm::is_contained(data, i) ? namedDims(numDims) : std::string(" d1"));
  return text + " ->" + (sums ? std::string(" d1") : namedDims(numDims));
}

mlir::FailureOr<std::string> instanceRule(mlir::Operation *op) {
  size_t numDims = dimsOf(op->getOperand(0)).size();
  if (numDims < 2)
    return op->emitOpError() << "operand 'input' has " << numDims << " dims; batch and channels at least are needed",
           mlir::failure();
  llvm::SmallBitVector whole = wholeFrom(numDims, std::min<size_t>(numDims, 2));
  return namedDims(numDims, whole) + ", d1, d1 ->" + namedDims(numDims);
}

mlir::FailureOr<std::string> wholeRule(mlir::Operation *op, llvm::ArrayRef<int64_t> axes) {
  size_t numDims = dimsOf(op->getOperand(0)).size();
  auto dims = normalizeAxes(op, axes, numDims);
  if (mlir::failed(dims))
    return mlir::failure();
  llvm::SmallBitVector whole(static_cast<unsigned>(numDims));
  for (unsigned dim : *dims)
    whole.set(dim);
  return namedDims(numDims, whole) + " ->" + namedDims(numDims);
}

namespace {

/// Channels in groups: [2, 6, 4, 4] in 3 groups is d0=2 (g=3 2) w w.
mlir::LogicalResult checkGroups(GroupNormalizationOp op) {
  llvm::ArrayRef<int64_t> x = dimsOf(op.getX());
  auto groups = static_cast<int64_t>(op.getNumGroups());
  if (x.size() < 2 || groups < 1 || x[1] % groups != 0)
    return op.emitOpError() << "num_groups " << groups << " must divide dim 1 of X " << printDims(x);
  for (mlir::Value parameter : {op.getScale(), op.getBias()}) {
    llvm::ArrayRef<int64_t> dims = dimsOf(parameter);
    if (dims.size() != 1 || (dims[0] != x[1] && dims[0] != groups))
      return op.emitOpError() << "scale and bias must be [" << x[1] << "] or [" << groups << "], not "
                              << printDims(dims);
  }
  return mlir::success();
}

} // namespace

mlir::LogicalResult GroupNormalizationOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  if (mlir::failed(checkGroups(*this)))
    return mlir::failure();
  return addType(*this, dimsOf(getX()), operandElement(*this, 0), types);
}

mlir::FailureOr<FactorRule> GroupNormalizationOp::getRule() {
  if (mlir::failed(checkGroups(*this)))
    return mlir::failure();
  llvm::ArrayRef<int64_t> x = dimsOf(getX());
  auto groups = static_cast<int64_t>(getNumGroups());
  RuleBuilder layout(*this);
  DimFactors batch = layout.parallel(x[0]), group = layout.parallel(groups), inGroup = layout.whole(x[1] / groups);
  DimFactors channels{group[0], inGroup[0]};
  llvm::SmallVector<DimFactors, 4> dims{batch, channels};
  for (int64_t dim : x.drop_front(2))
    dims.push_back(layout.whole(dim));
  layout.setOperand(0, dims);
  for (unsigned i : {1u, 2u})
    layout.setOperand(i, {dimsOf(getOperand(i))[0] == x[1] ? channels : group});
  layout.setResult(0, dims);
  FactorRule rule = layout.take(Work::Stream);
  rule.flopsPerPoint = 8;
  return rule;
}

namespace {

mlir::LogicalResult checkEmbedding(EmbedLayerNormalizationOp op) {
  llvm::ArrayRef<int64_t> ids = dimsOf(op.getInputIds()), words = dimsOf(op.getWordEmbedding());
  if (ids.size() != 2 || words.size() != 2)
    return op.emitOpError() << "input_ids " << printDims(ids) << " and word_embedding " << printDims(words)
                            << " must have 2 dims each";
  for (mlir::Value table : {op.getPositionEmbedding(), op.getSegmentEmbedding()})
    if (!isAbsent(table) && (dimsOf(table).size() != 2 || dimsOf(table)[1] != words[1]))
      return op.emitOpError() << "an embedding of shape " << printDims(dimsOf(table)) << " does not have " << words[1]
                              << " columns as word_embedding has";
  for (mlir::Value parameter : {op.getGamma(), op.getBeta()})
    if (dimsOf(parameter) != words.drop_front())
      return op.emitOpError() << "gamma and beta must be [" << words[1] << "], not " << printDims(dimsOf(parameter));
  llvm::ArrayRef<int64_t> positions = dimsOf(op.getPositionIds());
  if (!isAbsent(op.getPositionIds()) && positions != ids && positions != llvm::ArrayRef<int64_t>({1, ids[1]}))
    return op.emitOpError() << "position_ids must be " << printDims(ids) << " or " << printDims({1, ids[1]}) << ", not "
                            << printDims(positions);
  for (mlir::Value perToken : {op.getSegmentIds(), op.getMask()})
    if (!isAbsent(perToken) && dimsOf(perToken) != ids)
      return op.emitOpError() << "segment_ids and mask must be " << printDims(ids) << " as input_ids is, not "
                              << printDims(dimsOf(perToken));
  return mlir::success();
}

} // namespace

mlir::LogicalResult EmbedLayerNormalizationOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  if (mlir::failed(checkEmbedding(*this)))
    return mlir::failure();
  llvm::SmallVector<int64_t, 3> dims(dimsOf(getInputIds()));
  dims.push_back(dimsOf(getWordEmbedding())[1]);
  mlir::Type element = operandElement(*this, 2), index = mlir::IntegerType::get(getContext(), 32);
  if (mlir::failed(addType(*this, dims, element, types)) || mlir::failed(addType(*this, dims[0], index, types)))
    return mlir::failure();
  return addType(*this, dims, element, types);
}

mlir::FailureOr<FactorRule> EmbedLayerNormalizationOp::getRule() {
  if (mlir::failed(checkEmbedding(*this)))
    return mlir::failure();
  llvm::ArrayRef<int64_t> ids = dimsOf(getInputIds());
  RuleBuilder layout(*this);
  // Positions are counted, and masks added up, along the sequence: it may be cut only with explicit positions and no
  // mask.
  bool cutsSequence = dimsOf(getPositionIds()) == ids && isAbsent(getMask());
  DimFactors batch = layout.parallel(ids[0]);
  DimFactors sequence = cutsSequence ? layout.parallel(ids[1]) : layout.whole(ids[1]);
  DimFactors hidden = layout.whole(dimsOf(getWordEmbedding())[1]);
  for (unsigned perToken : {0u, 1u, 7u})
    layout.setOperand(perToken, {batch, sequence});
  if (dimsOf(getPositionIds()) == ids)
    layout.setOperand(8, {batch, sequence});
  for (unsigned table : {2u, 3u, 4u}) {
    if (isAbsent(getOperand(table)))
      continue;
    layout.setOperand(table, {layout.whole(dimsOf(getOperand(table))[0]), hidden});
    layout.setSparse(table);
  }
  layout.setOperand(5, {hidden});
  layout.setOperand(6, {hidden});
  layout.setResult(0, {batch, sequence, hidden});
  layout.setResult(1, {batch});
  layout.setResult(2, {batch, sequence, hidden});
  FactorRule rule = layout.take(Work::Stream);
  double elements =
      static_cast<double>(ids[0]) * static_cast<double>(ids[1]) * static_cast<double>(dimsOf(getGamma())[0]);
  rule.flopsPerPoint = 10 * elements / std::max(rule.numPoints(), 1.0);
  return rule;
}

} // namespace apc
