// Linear models, and what models of any kind make of scores: ai.onnx.ml's `post_transform` and labels.
#include "Parts.h"

#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

namespace {

llvm::StringRef transformOf(Parts &p) {
  return p.text("post_transform", {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"});
}

/// Softmax over scores that are not 0; those that are stay so. 0 is what lies within 1e-7 of it.
mlir::Value softmaxOfOthers(Parts &p, mlir::Value x) {
  if (!x)
    return x;
  mlir::Value axes = p.list({1}), none = p.scalar(0, x);
  mlir::Value counts = p.greater(p.make<AbsOp>(x), p.scalar(1e-7, x));
  mlir::Value shares = p.where(counts, p.make<ExpOp>(p.sub(x, p.make<ReduceMaxOp>({x, axes}))), none);
  mlir::Value sum = p.make<ReduceSumOp>({shares, axes});
  return p.div(shares, p.where(p.equal(sum, none), p.scalar(1, x), sum));
}

/// The scores [rows, count] of X [rows, features], with as many coefficients for each as there are features. `count` is
/// 0 where the coefficients tell it.
mlir::Value linearScores(Parts &p, int64_t count) {
  mlir::Value x = p.features(0);
  std::vector<double> coefficients = p.reals("coefficients"), intercepts = p.reals("intercepts");
  if (!x)
    return x;
  int64_t features = dimsOf(x)[1], given = static_cast<int64_t>(coefficients.size());
  if (count == 0 && features > 0)
    count = given / features;
  if (given == 0 || features == 0 || given % features != 0 || given / features != count)
    return p.fail("attribute 'coefficients' has " + llvm::Twine(given) + " entries for " + llvm::Twine(features) +
                  " features and " + llvm::Twine(count) + " scores; one for each feature of each score is needed");
  if (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != count)
    return p.fail("attribute 'intercepts' has " + llvm::Twine(intercepts.size()) + " entries for " +
                  llvm::Twine(count) + " scores; as many are needed");
  mlir::Value matrix = p.constant<double>(coefficients, {count, features}, x, "coefficients");
  mlir::Value shift = intercepts.empty() ? p.absent() : p.constant<double>(intercepts, count, x, "intercepts");
  return p.make<GemmOp>({x, matrix, shift}, p.attribute("transB", 1));
}

PartValues linearRegressor(Parts &p) {
  constexpr int64_t most = 1 << 20;
  int64_t targets = p.integer("targets", 1);
  if (targets < 1 || targets > most)
    p.fail("attribute 'targets' is " + llvm::Twine(targets) + "; 1 to 2^20 are accepted");
  return {p.toF32(transformed(p, linearScores(p, targets)))};
}

/// Labels and scores. A single score is that of the second of two classes, or of being of a class without labels.
PartValues linearClassifier(Parts &p) {
  p.ignore("multi_class");
  p.refuseStrings("classlabels_strings", "classlabels_ints");
  llvm::ArrayRef<int64_t> labels = p.integers("classlabels_ints");
  mlir::Value scores = linearScores(p, 0);
  if (!scores)
    return {};
  auto count = static_cast<size_t>(dimsOf(scores)[1]);
  if (count == 1 && labels.empty())
    return {labelAbove(p, scores, 0, 1, 0), p.toF32(transformed(p, scores))};
  if (count == 1 && labels.size() == 2)
    return {labelAbove(p, scores, 0, labels[1], labels[0]), p.toF32(pairOfScores(p, scores, /*isShare=*/true))};
  if (count != labels.size())
    return {p.fail("attribute 'classlabels_ints' has " + llvm::Twine(labels.size()) + " entries for " +
                   llvm::Twine(count) + " scores; as many, or two for one score, are needed")};
  return {greatestLabel(p, scores, labels), p.toF32(transformed(p, scores))};
}

constexpr CompositeEntry linearEntries[] = {
    {"ai.onnx.ml.LinearRegressor", 1, 1, 1, linearRegressor},
    {"ai.onnx.ml.LinearClassifier", 1, 1, 2, linearClassifier},
};

} // namespace

mlir::Value transformed(Parts &p, mlir::Value scores) {
  llvm::StringRef how = transformOf(p);
  if (!scores)
    return scores;
  if (how == "PROBIT")
    return p.make<ProbitOp>(scores);
  if (how == "NONE" || dimsOf(scores)[1] == 1)
    return scores;
  if (how == "LOGISTIC")
    return p.make<SigmoidOp>(scores);
  return how == "SOFTMAX" ? p.make<SoftmaxOp>(scores, p.attribute("axis", 1)) : softmaxOfOthers(p, scores);
}

mlir::Value greatestLabel(Parts &p, mlir::Value scores, llvm::ArrayRef<int64_t> labels) {
  mlir::NamedAttribute attributes[] = {p.attribute("axis", 1), p.attribute("keepdims", 0)};
  mlir::Value place = p.make<ArgMaxOp>(scores, attributes);
  bool areCounted = llvm::all_of(
      llvm::enumerate(labels), [](const auto &label) { return label.value() == static_cast<int64_t>(label.index()); });
  return areCounted ? place : p.make<GatherOp>({p.list(labels), place});
}

mlir::Value labelAbove(Parts &p, mlir::Value scores, double threshold, int64_t above, int64_t below) {
  mlir::Value isAbove = p.make<SqueezeOp>({p.greater(scores, p.scalar(threshold, scores)), p.list({1})});
  return p.where(isAbove, p.index(above), p.index(below));
}

mlir::Value pairOfScores(Parts &p, mlir::Value score, bool isShare) {
  llvm::StringRef how = transformOf(p);
  if (how == "PROBIT")
    return p.fail("attribute 'post_transform' is 'PROBIT' for one score of two classes; NONE, SOFTMAX, LOGISTIC and "
                  "SOFTMAX_ZERO are accepted");
  bool isLogistic = how == "LOGISTIC";
  mlir::Value pair = p.mul(score, p.constant<double>({-1, 1}, 2, score));
  if (isLogistic)
    return p.make<SigmoidOp>(pair);
  return isShare ? p.add(pair, p.constant<double>({1, 0}, 2, score)) : pair;
}

llvm::ArrayRef<CompositeEntry> linearComposites() { return linearEntries; }

} // namespace apc
