// Factor rules of the operators that move elements: dims that keep their place are parallel, dims that are cut up or
// joined are whole.
#include "apc/IR/Ops/Movement/Movement.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/RuleBuilder.h"

#include <numeric>

namespace apc {

namespace {

using Dims = llvm::SmallVector<DimFactors, 4>;

/// A rule whose first operand's dims become the result's with a list for each: the factors of dims that are merged
/// stand together, major first.
mlir::FailureOr<FactorRule> viewRule(mlir::Operation *op, RuleBuilder &rule, Dims data, Dims result) {
  rule.setOperand(0, std::move(data));
  rule.setResult(0, std::move(result));
  rule.setLinear({0});
  return rule.take(Work::View);
}

Dims parallelDims(RuleBuilder &rule, llvm::ArrayRef<int64_t> sizes) {
  Dims dims;
  for (int64_t size : sizes)
    dims.push_back(rule.parallel(size));
  return dims;
}

/// The dims of a tensor and of those that are parts of one of its dims.
struct DividedDims {
  Dims whole;
  llvm::SmallVector<Dims, 3> parts;
};

DividedDims dividedDims(RuleBuilder &rule, mlir::Value whole, mlir::ValueRange parts, const PartedDim &parted,
                        const llvm::SmallBitVector &touched) {
  llvm::ArrayRef<int64_t> sizes = dimsOf(whole);
  DividedDims dims{Dims(sizes.size()), llvm::SmallVector<Dims, 3>(parts.size(), Dims(sizes.size()))};
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (dim == parted.dim)
      continue;
    dims.whole[dim] = touched.test(dim) ? rule.whole(size) : rule.parallel(size);
    for (auto [part, partDims] : llvm::zip_equal(parts, dims.parts))
      partDims[dim] = dimsOf(part)[dim] == size ? dims.whole[dim] : rule.whole(dimsOf(part)[dim]);
  }
  int64_t common = commonDivisor(parted.sizes);
  DimFactors each = rule.parallel(common);
  auto withRest = [&](int64_t size) {
    DimFactors dim = each;
    if (size != common)
      dim.append(rule.whole(size / common));
    return dim;
  };
  dims.whole[parted.dim] = withRest(sizes[parted.dim]);
  for (auto [part, partDims] : llvm::zip_equal(parts, dims.parts))
    partDims[parted.dim] = withRest(dimsOf(part)[parted.dim]);
  return dims;
}

/// The rule of an op whose results are parts of one dim of its operand: a dim of 512 in the parts 256, 128 and 128 is
/// `(d w)` with d=128, cut inside the parts, and the results are `(d w)`, `d` and `d`.
FactorRule takenApartRule(mlir::Operation *op, const PartedDim &parted, const llvm::SmallBitVector &touched) {
  RuleBuilder rule(op);
  DividedDims dims = dividedDims(rule, op->getOperand(0), op->getResults(), parted, touched);
  rule.setOperand(0, dims.whole);
  for (auto [index, part] : llvm::enumerate(dims.parts))
    rule.setResult(index, part);
  rule.setLinear({0});
  FactorRule divided = rule.take(Work::Stream);
  divided.operands.front().parted = {parted};
  return divided;
}

/// The rule of an op whose first `numParts` operands are parts of one dim of its result.
FactorRule putTogetherRule(mlir::Operation *op, unsigned numParts, const PartedDim &parted,
                           const llvm::SmallBitVector &touched) {
  RuleBuilder rule(op);
  DividedDims dims = dividedDims(rule, op->getResult(0), op->getOperands().take_front(numParts), parted, touched);
  llvm::SmallVector<unsigned, 2> group;
  for (auto [index, part] : llvm::enumerate(dims.parts)) {
    rule.setOperand(index, part);
    group.push_back(static_cast<unsigned>(index));
  }
  rule.setResult(0, dims.whole);
  rule.setLinear(group);
  FactorRule divided = rule.take(Work::Stream);
  divided.results.front().parted = {parted};
  return divided;
}

/// (3 h d) cut inside its three parts: h is cut, and 3 is whole.
void divide(FactorRule &rule, RuleTensor &tensor, const std::optional<PartedDim> &parted) {
  if (!parted)
    return;
  DimFactors &factors = tensor.dims[parted->dim];
  rule.factors[factors.front().index()].whole = true;
  std::rotate(factors.begin(), factors.begin() + 1, factors.end());
  tensor.parted = {*parted};
}

/// The dim and its parts that the attribute `apc.parts` has under `name`.
std::optional<PartedDim> partedDim(mlir::Operation *op, llvm::StringRef name) {
  auto parts = op->getAttrOfType<mlir::DictionaryAttr>(partsAttribute);
  auto numbers = parts ? parts.getAs<mlir::DenseI64ArrayAttr>(name) : mlir::DenseI64ArrayAttr();
  if (!numbers || numbers.size() < 3)
    return std::nullopt;
  llvm::ArrayRef<int64_t> sizes = numbers.asArrayRef().drop_front();
  return PartedDim{static_cast<unsigned>(numbers[0]), llvm::SmallVector<int64_t, 4>(sizes)};
}

} // namespace

int64_t commonDivisor(llvm::ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(0), [](int64_t a, int64_t b) { return std::gcd(a, b); });
}

std::optional<PartedDim> partedData(mlir::Operation *op) { return partedDim(op, partedDataName); }
std::optional<PartedDim> partedResult(mlir::Operation *op) { return partedDim(op, partedResultName); }

llvm::SmallVector<mlir::NamedAttribute, 1> partsOnTheWayBack(mlir::MLIRContext *context,
                                                             const std::optional<PartedDim> &data) {
  if (!data)
    return {};
  llvm::SmallVector<int64_t, 5> numbers = {static_cast<int64_t>(data->dim)};
  llvm::append_range(numbers, data->sizes);
  mlir::Builder builder(context);
  auto result = builder.getNamedAttr(partedResultName, builder.getDenseI64ArrayAttr(numbers));
  return {builder.getNamedAttr(partsAttribute, builder.getDictionaryAttr(result))};
}

mlir::FailureOr<FactorRule> ReshapeOp::getRule() {
  TensorShape from = *shapeOf(getData()), to = *shapeOf(getReshaped());
  FactorRule rule = reshapeRule(from, to);
  divide(rule, rule.operands.front(), partedData(*this));
  divide(rule, rule.results.front(), partedResult(*this));
  RuleTensor &shape = rule.operands.emplace_back();
  shape.elementBits = shapeOf(getShape())->elementBits;
  for (int64_t size : dimsOf(getShape())) {
    rule.factors.push_back({("w" + llvm::Twine(rule.numFactors())).str(), size, /*whole=*/true});
    shape.dims.push_back({FactorId(rule.numFactors() - 1U)});
  }
  return rule;
}

mlir::FailureOr<FactorRule> FlattenOp::getRule() {
  RuleBuilder rule(*this);
  llvm::ArrayRef<int64_t> sizes = dimsOf(getInput());
  auto axis = static_cast<int64_t>(getAxis());
  auto cut = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(sizes.size()) : axis);
  Dims dims = parallelDims(rule, sizes), flat(2);
  for (auto [dim, factors] : llvm::enumerate(dims))
    flat[dim < cut ? 0 : 1].append(factors);
  return viewRule(*this, rule, dims, flat);
}

mlir::FailureOr<FactorRule> SqueezeOp::getRule() {
  auto removed = squeezedDims(*this);
  if (mlir::failed(removed))
    return mlir::failure();
  RuleBuilder rule(*this);
  Dims dims, rest;
  for (auto [dim, size] : llvm::enumerate(dimsOf(getData()))) {
    dims.push_back(removed->test(dim) ? DimFactors() : rule.parallel(size));
    if (!removed->test(dim))
      rest.push_back(dims.back());
  }
  return viewRule(*this, rule, dims, rest);
}

mlir::FailureOr<FactorRule> UnsqueezeOp::getRule() {
  auto added = unsqueezedDims(*this);
  if (mlir::failed(added))
    return mlir::failure();
  RuleBuilder rule(*this);
  Dims dims = parallelDims(rule, dimsOf(getData())), all;
  for (unsigned dim = 0, next = 0; dim < added->size(); ++dim)
    all.push_back(added->test(dim) ? DimFactors() : dims[next++]);
  return viewRule(*this, rule, dims, all);
}

mlir::FailureOr<FactorRule> TransposeOp::getRule() {
  auto permutation = permutationOf(*this);
  if (mlir::failed(permutation))
    return mlir::failure();
  RuleBuilder rule(*this);
  Dims dims = parallelDims(rule, dimsOf(getData())), permuted;
  for (unsigned dim : *permutation)
    permuted.push_back(dims[dim]);
  rule.setOperand(0, dims);
  rule.setResult(0, permuted);
  rule.setLinear({0});
  return rule.take(Work::Stream);
}

mlir::FailureOr<FactorRule> ExpandOp::getRule() {
  RuleBuilder rule(*this);
  llvm::ArrayRef<int64_t> from = dimsOf(getInput()), to = dimsOf(getOutput());
  Dims dims(from.size()), all;
  size_t added = to.size() - from.size();
  for (auto [dim, size] : llvm::enumerate(to)) {
    all.push_back(rule.parallel(size));
    if (dim >= added && from[dim - added] == size)
      dims[dim - added] = all.back();
  }
  rule.setOperand(0, dims);
  rule.setResult(0, all);
  rule.setLinear({0});
  return rule.take(Work::Stream);
}

// Copies are major: [d] repeated 3 times is [(3 d)], and d may be cut only when each device holds one copy.
mlir::FailureOr<FactorRule> TileOp::getRule() {
  RuleBuilder rule(*this);
  Dims dims = parallelDims(rule, dimsOf(getInput())), tiled = dims;
  for (auto [dim, size] : llvm::enumerate(dimsOf(getInput()))) {
    int64_t copies = size == 0 ? 1 : dimsOf(getOutput())[dim] / size;
    if (copies == 1)
      continue;
    if (copies == 0)
      dims[dim] = rule.whole(size), tiled[dim] = rule.whole(0);
    else
      tiled[dim].insert(tiled[dim].begin(), rule.parallel(copies).front());
  }
  rule.setOperand(0, dims);
  rule.setResult(0, tiled);
  rule.setLinear({0});
  return rule.take(Work::Stream);
}

mlir::FailureOr<FactorRule> ConcatOp::getRule() {
  auto axis = concatDim(*this);
  if (mlir::failed(axis))
    return mlir::failure();
  llvm::SmallBitVector touched(std::max<unsigned>(*axis + 1, dimsOf(getInputs().front()).size()));
  if (std::optional<PartedDim> parted = partedResult(*this))
    return putTogetherRule(*this, (*this)->getNumOperands(), *parted, touched);
  touched.set(*axis);
  return alignedRule(*this, (*this)->getNumOperands(), touched, /*linear=*/true);
}

mlir::FailureOr<std::optional<PartedDim>> partedSplit(SplitOp op) {
  auto axis = normalizeAxis(op, static_cast<int64_t>(op.getAxis()), dimsOf(op.getInput()).size());
  if (mlir::failed(axis))
    return mlir::failure();
  auto sizes = splitSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  bool isDivided = sizes->size() > 1 && !llvm::is_contained(*sizes, 0) && commonDivisor(*sizes) > 1;
  return isDivided ? std::optional(PartedDim{*axis, {sizes->begin(), sizes->end()}}) : std::nullopt;
}

mlir::FailureOr<FactorRule> SplitOp::getRule() {
  size_t numDims = dimsOf(getInput()).size();
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), numDims);
  if (mlir::failed(axis))
    return mlir::failure();
  auto parted = partedSplit(*this);
  if (mlir::failed(parted))
    return mlir::failure();
  llvm::SmallBitVector touched(numDims);
  if (*parted)
    return takenApartRule(*this, **parted, touched);
  touched.set(*axis);
  return alignedRule(*this, 1, touched, /*linear=*/true);
}

mlir::FailureOr<FactorRule> SliceOp::getRule() {
  auto sliced = slicedDims(*this);
  if (mlir::failed(sliced))
    return mlir::failure();
  llvm::ArrayRef<int64_t> sizes = dimsOf(getData());
  llvm::SmallBitVector touched(sizes.size());
  for (auto [dim, taken] : llvm::enumerate(*sliced))
    touched[dim] = taken.step != 1 || taken.count != sizes[dim];
  std::optional<PartedDim> parted = partedData(*this);
  FactorRule rule = parted ? takenApartRule(*this, *parted, touched) : alignedRule(*this, 1, touched, /*linear=*/true);
  rule.operands.front().sparse = true;
  return rule;
}

mlir::FailureOr<FactorRule> PadOp::getRule() {
  auto padded = paddedDims(*this);
  if (mlir::failed(padded))
    return mlir::failure();
  llvm::SmallBitVector touched(padded->size());
  for (auto [dim, pad] : llvm::enumerate(*padded))
    touched[dim] = pad.before != 0 || pad.after != 0;
  // A partial sum stays partial when only zeros or copies are added.
  bool adds = getMode() == "constant" &&
              (!isAbsent(getConstantValue()) || getValue().value_or(llvm::APFloat(0.0F)).isNonZero());
  std::optional<PartedDim> parted = partedResult(*this);
  if (parted && !adds)
    return putTogetherRule(*this, 1, *parted, touched);
  return alignedRule(*this, 1, touched, /*linear=*/!adds);
}

mlir::FailureOr<FactorRule> ShapeOp::getRule() { return RuleBuilder(*this).take(Work::View); }

mlir::FailureOr<FactorRule> SizeOp::getRule() { return RuleBuilder(*this).take(Work::View); }

} // namespace apc
