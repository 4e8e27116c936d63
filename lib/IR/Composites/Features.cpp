// Features scaled, filled in, put side by side and counted out: ai.onnx.ml's operators on rows of numbers.
#include "Parts.h"

#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"
#include "apc/IR/RuleBuilder.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

namespace apc {

namespace {

/// (X - offset) * scale; a list that is absent changes nothing.
PartValues scaler(Parts &p) {
  mlir::Value x = p.floats(0);
  if (std::vector<double> offset = p.reals("offset"); !offset.empty())
    x = p.sub(x, p.perFeature<double>("offset", offset, x));
  if (std::vector<double> scale = p.reals("scale"); !scale.empty())
    x = p.mul(x, p.perFeature<double>("scale", scale, x));
  return {p.toF32(x)};
}

/// Each row over its greatest number, its sum of magnitudes or its length; a row of zeros stays.
PartValues normalizer(Parts &p) {
  mlir::Value x = p.features(0, /*keepsShape=*/true);
  llvm::StringRef norm = p.text("norm", {"MAX", "L1", "L2"});
  if (!x)
    return {x};
  mlir::Value axes = p.list({static_cast<int64_t>(dimsOf(x).size()) - 1}), size;
  if (norm == "MAX")
    size = p.make<ReduceMaxOp>({x, axes});
  else if (norm == "L1")
    size = p.make<ReduceL1Op>({x, axes});
  else
    size = p.make<ReduceSumSquareOp>({x, axes});
  mlir::Value divisor = p.where(p.equal(size, p.scalar(0, x)), p.scalar(1, x), size);
  // The root has a slope there, where that of a row of zeros has none.
  return {p.toF32(p.div(x, norm == "L2" ? p.make<SqrtOp>(divisor) : divisor))};
}

/// The numbers of `attribute` where `x` is missing.
template <typename Real>
mlir::Value filledIn(Parts &p, mlir::Value x, mlir::Value isMissing, llvm::StringRef attribute,
                     llvm::ArrayRef<Real> values) {
  if (values.empty())
    return p.fail("attribute '" + attribute + "' is missing; it is required for inputs of this type");
  return p.where(isMissing, p.perFeature(attribute, values, x), x);
}

PartValues imputer(Parts &p) {
  mlir::Value x = p.operand(0);
  double missing = p.real("replaced_value_float", 0);
  int64_t missingInteger = p.integer("replaced_value_int64", 0);
  std::vector<double> floats = p.reals("imputed_value_floats");
  llvm::ArrayRef<int64_t> integers = p.integers("imputed_value_int64s");
  if (llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(x))) {
    mlir::Value isMissing = std::isnan(missing) ? p.make<IsNaNOp>(x) : p.equal(x, p.scalar(missing, x));
    return {filledIn<double>(p, x, isMissing, "imputed_value_floats", floats)};
  }
  if (!p.holdsNumbers(0))
    return {};
  mlir::Value isMissing = p.equal(x, p.constant(llvm::ArrayRef(missingInteger), {}, x));
  return {filledIn(p, x, isMissing, "imputed_value_int64s", integers)};
}

/// The features of one input, cut off behind `count` or with zeros up to it.
mlir::Value fitFeatures(Parts &p, mlir::Value x, int64_t count) {
  if (!x)
    return x;
  int64_t rows = dimsOf(x)[0], found = dimsOf(x)[1];
  if (found > count)
    return p.make<SliceOp>({x, p.list({0}), p.list({count}), p.list({1}), p.absent()});
  if (found == count)
    return x;
  return p.concat({x, p.make<ExpandOp>({p.scalar(0, x), p.list({rows, count - found})})}, 1);
}

/// [rows, features] of an input of any number of dims.
mlir::Value flatFeatures(Parts &p, size_t index) {
  mlir::Value x = p.toF32(p.floats(index));
  if (!x)
    return x;
  llvm::ArrayRef<int64_t> dims = dimsOf(x);
  int64_t rows = dims.size() < 2 ? 1 : dims[0];
  return p.reshape(x, {rows, mergedSize(dims.size() < 2 ? dims : dims.drop_front())});
}

/// Inputs side by side, each with as many features as `inputdimensions` gives it.
PartValues featureVectorizer(Parts &p) {
  constexpr int64_t most = 1 << 20;
  llvm::ArrayRef<int64_t> counts = p.integers("inputdimensions");
  if (!counts.empty() && counts.size() != p.numOperands())
    p.fail("attribute 'inputdimensions' has " + llvm::Twine(counts.size()) + " entries for " +
           llvm::Twine(p.numOperands()) + " inputs; as many are needed");
  for (int64_t count : counts)
    if (count < 1 || count > most)
      p.fail("attribute 'inputdimensions' has " + llvm::Twine(count) + "; 1 to 2^20 are accepted");
  llvm::SmallVector<mlir::Value> inputs;
  for (size_t i = 0; i < p.numOperands() && !p.hasFailed(); ++i) {
    mlir::Value x = flatFeatures(p, i);
    inputs.push_back(counts.empty() ? x : fitFeatures(p, x, counts[i]));
  }
  return {p.concat(inputs, 1)};
}

/// A last dim with 1 at the category that an element is, 0 elsewhere. ONNX ends a run at other elements without
/// `zeros`.
PartValues oneHotEncoder(Parts &p) {
  p.ignore("zeros");
  p.refuseStrings("cats_strings", "cats_int64s");
  llvm::ArrayRef<int64_t> categories = p.integers("cats_int64s");
  if (categories.empty())
    p.fail("attribute 'cats_int64s' is missing or empty; categories are needed");
  mlir::Value x = p.operand(0);
  if (!p.holdsNumbers(0))
    return {};
  mlir::Value last = p.list({static_cast<int64_t>(dimsOf(x).size())});
  mlir::Value numbers = p.make<UnsqueezeOp>({p.cast(x, mlir::IntegerType::get(x.getContext(), 64)), last});
  return {p.toF32(p.equal(numbers, p.list(categories)))};
}

constexpr size_t any = 1 << 16;
constexpr CompositeEntry featureEntries[] = {
    {"ai.onnx.ml.Scaler", 1, 1, 1, scaler},
    {"ai.onnx.ml.Normalizer", 1, 1, 1, normalizer},
    {"ai.onnx.ml.Imputer", 1, 1, 1, imputer},
    {"ai.onnx.ml.FeatureVectorizer", 1, any, 1, featureVectorizer},
    {"ai.onnx.ml.OneHotEncoder", 1, 1, 1, oneHotEncoder},
};

} // namespace

llvm::ArrayRef<CompositeEntry> featureComposites() { return featureEntries; }

} // namespace apc
