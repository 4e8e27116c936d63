// Support vector machines: ai.onnx.ml's SVMRegressor and SVMClassifier.
#include "Parts.h"

#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

#include <numeric>

namespace apc {

namespace {

/// X [rows, features] W^T [features, count] + shift, one number or one for each column.
mlir::Value product(Parts &p, mlir::Value x, llvm::ArrayRef<double> weights, int64_t count,
                    llvm::ArrayRef<double> shift) {
  if (!x)
    return x;
  mlir::Value matrix = p.constant(weights, {count, dimsOf(x)[1]}, x, "coefficients");
  mlir::Value more = p.constant(shift, static_cast<int64_t>(shift.size()), x, "rho");
  return p.make<GemmOp>({x, matrix, more}, p.attribute("transB", 1));
}

/// exp(-gamma |x - v|^2) by |x|^2 - 2 x v + |v|^2, so that a product does the work.
mlir::Value radialKernel(Parts &p, mlir::Value x, llvm::ArrayRef<double> vectors, int64_t count, double gamma) {
  int64_t features = dimsOf(x)[1];
  std::vector<double> squares(static_cast<size_t>(count), 0);
  for (size_t i = 0; i < vectors.size(); ++i)
    squares[i / static_cast<size_t>(features)] += vectors[i] * vectors[i];
  mlir::NamedAttribute attributes[] = {p.attribute("transB", 1),
                                       p.attribute("alpha", mlir::Builder(x.getContext()).getF32FloatAttr(-2))};
  mlir::Value crossed = p.make<GemmOp>(
      {x, p.constant(vectors, {count, features}, x, "support_vectors"), p.constant<double>(squares, count, x)},
      attributes);
  mlir::Value lengths = p.make<ReduceSumSquareOp>({x, p.list({1})});
  return p.make<ExpOp>(p.mul(p.add(crossed, lengths), p.scalar(-gamma, x)));
}

/// The kernel of each row and each of `count` support vectors: [rows, count].
mlir::Value kernelOf(Parts &p, mlir::Value x, int64_t count) {
  llvm::StringRef type = p.text("kernel_type", {"LINEAR", "POLY", "RBF", "SIGMOID"});
  std::vector<double> vectors = p.reals("support_vectors"), numbers = p.reals("kernel_params");
  if (!x)
    return x;
  int64_t features = dimsOf(x)[1], given = static_cast<int64_t>(vectors.size());
  if (given == 0 || features == 0 || given % features != 0 || given / features != count)
    return p.fail("attribute 'support_vectors' has " + llvm::Twine(given) + " entries for " + llvm::Twine(count) +
                  " vectors of " + llvm::Twine(features) + " features; one for each feature of each is needed");
  if (type != "LINEAR" && numbers.size() != 3)
    return p.fail("attribute 'kernel_params' has " + llvm::Twine(numbers.size()) +
                  " entries; gamma, coef0 and degree are needed");
  if (type == "RBF")
    return radialKernel(p, x, vectors, count, numbers[0]);
  mlir::Value matrix = p.constant<double>(vectors, {count, features}, x, "support_vectors");
  mlir::Value products = p.make<GemmOp>({x, matrix, p.absent()}, p.attribute("transB", 1));
  if (type == "LINEAR")
    return products;
  mlir::Value line = p.add(p.mul(products, p.scalar(numbers[0], x)), p.scalar(numbers[1], x));
  return type == "SIGMOID" ? p.make<TanhOp>(line) : p.make<PowOp>({line, p.scalar(numbers[2], x)});
}

/// The attribute `rho`, of `count` entries; zeros and a failure for others.
std::vector<double> shiftsOf(Parts &p, size_t count) {
  std::vector<double> rho = p.reals("rho");
  if (rho.size() != count)
    p.fail("attribute 'rho' has " + llvm::Twine(rho.size()) + " entries; " + llvm::Twine(count) + " are needed");
  rho.resize(count);
  return rho;
}

PartValues supportRegressor(Parts &p) {
  constexpr int64_t most = 1 << 24;
  mlir::Value x = p.features(0);
  int64_t supports = p.integer("n_supports", 0);
  std::vector<double> weights = p.reals("coefficients"), rho = shiftsOf(p, 1);
  if (supports < 0 || supports > most)
    return {p.fail("attribute 'n_supports' is " + llvm::Twine(supports) + "; 0 to 2^24 are accepted")};
  for (llvm::StringRef name : {"kernel_type", "kernel_params", "support_vectors"})
    p.ignore(name);
  if (supports > 0)
    x = kernelOf(p, x, supports);
  if (!x)
    return {x};
  if (static_cast<int64_t>(weights.size()) != dimsOf(x)[1])
    return {p.fail("attribute 'coefficients' has " + llvm::Twine(weights.size()) + " entries; " +
                   llvm::Twine(dimsOf(x)[1]) + " are needed")};
  mlir::Value score = product(p, x, weights, 1, rho);
  if (p.integer("one_class", 0) == 0)
    return {p.toF32(transformed(p, score))};
  p.ignore("post_transform");
  mlir::Value isInside = p.greater(score, p.scalar(0, score));
  return {p.toF32(p.where(isInside, p.scalar(1, score), p.scalar(-1, score)))};
}

/// The pairs (i, j), i < j, of classes, in the order of scores.
std::vector<std::pair<size_t, size_t>> pairsOf(size_t classes) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < classes; ++i)
    for (size_t j = i + 1; j < classes; ++j)
      pairs.push_back({i, j});
  return pairs;
}

/// For each pair of classes the weights of all support vectors: of a vector of class i the coefficient against j and
/// the other way round, 0 for vectors of other classes. `coefficients` is [classes - 1, vectors].
std::vector<double> pairWeights(llvm::ArrayRef<double> coefficients, llvm::ArrayRef<int64_t> perClass) {
  auto vectors = static_cast<size_t>(std::accumulate(perClass.begin(), perClass.end(), int64_t(0)));
  std::vector<size_t> begins = {0};
  for (int64_t count : perClass)
    begins.push_back(begins.back() + static_cast<size_t>(count));
  std::vector<double> weights;
  for (auto [i, j] : pairsOf(perClass.size())) {
    std::vector<double> row(vectors, 0);
    for (size_t at = begins[i]; at < begins[i + 1]; ++at)
      row[at] = coefficients[(j - 1) * vectors + at];
    for (size_t at = begins[j]; at < begins[j + 1]; ++at)
      row[at] = coefficients[i * vectors + at];
    weights.insert(weights.end(), row.begin(), row.end());
  }
  return weights;
}

/// How often each class wins against another: [rows, classes]. A score above 0 is a win of the first of the pair.
mlir::Value votesOf(Parts &p, mlir::Value scores, size_t classes) {
  std::vector<std::pair<size_t, size_t>> pairs = pairsOf(classes);
  std::vector<double> signs(classes * pairs.size(), 0), losses(classes, 0);
  for (auto [place, pair] : llvm::enumerate(pairs)) {
    signs[pair.first * pairs.size() + place] = 1;
    signs[pair.second * pairs.size() + place] = -1;
    losses[pair.second] += 1;
  }
  mlir::Value wins = p.where(p.greater(scores, p.scalar(0, scores)), p.scalar(1, scores), p.scalar(0, scores));
  if (!wins)
    return wins;
  auto numPairs = static_cast<int64_t>(pairs.size()), numClasses = static_cast<int64_t>(classes);
  return p.make<GemmOp>(
      {wins, p.constant<double>(signs, {numClasses, numPairs}, wins), p.constant<double>(losses, numClasses, wins)},
      p.attribute("transB", 1));
}

/// Two classes with probabilities: that of the first is a logistic of the score, which decides the label all the same.
PartValues classifyByChance(Parts &p, mlir::Value score, double a, double b, llvm::ArrayRef<int64_t> labels) {
  mlir::Value line = p.add(p.mul(score, p.scalar(-a, score)), p.scalar(-b, score));
  if (!line)
    return {};
  mlir::Value signs = p.constant<double>({1, -1}, 2, line);
  mlir::Value chances = p.make<SigmoidOp>(p.mul(line, signs));
  return {labelAbove(p, score, 0, labels[0], labels[1]), p.toF32(transformed(p, chances))};
}

/// The numbers of support vectors by class; empty, with a failure, where they do not fit.
llvm::ArrayRef<int64_t> countVectors(Parts &p, size_t classes, size_t coefficients) {
  constexpr int64_t most = 1 << 24;
  llvm::ArrayRef<int64_t> counts = p.integers("vectors_per_class");
  int64_t sum = 0;
  for (int64_t count : counts)
    sum = count < 0 || count > most || sum < 0 ? -1 : sum + count;
  if (counts.size() == classes && sum > 0 && coefficients == static_cast<size_t>(sum) * (classes - 1))
    return counts;
  p.fail("attributes 'vectors_per_class' and 'coefficients' have " + llvm::Twine(counts.size()) + " and " +
         llvm::Twine(coefficients) + " entries; a count for each of " + llvm::Twine(classes) +
         " classes and a coefficient of each vector against each other class are needed");
  return {};
}

/// Without support vectors, a score for each class is a product of the features.
PartValues classifyLinearly(Parts &p, mlir::Value x, llvm::ArrayRef<double> weights, llvm::ArrayRef<int64_t> labels) {
  auto classes = static_cast<int64_t>(labels.size());
  std::vector<double> rho = p.reals("rho");
  if (rho.size() != 1 && rho.size() != labels.size())
    return {p.fail("attribute 'rho' has " + llvm::Twine(rho.size()) + " entries; 1 or " + llvm::Twine(classes) +
                   " are needed")};
  if (static_cast<int64_t>(weights.size()) != classes * dimsOf(x)[1])
    return {p.fail("attribute 'coefficients' has " + llvm::Twine(weights.size()) + " entries for " +
                   llvm::Twine(classes) + " classes of " + llvm::Twine(dimsOf(x)[1]) + " features")};
  rho.resize(labels.size(), rho.front());
  mlir::Value scores = product(p, x, weights, classes, rho);
  return {greatestLabel(p, scores, labels), p.toF32(transformed(p, scores))};
}

/// Labels by the most wins over other classes, and the scores of pairs. Numbers of two classes are ONNX Runtime's.
PartValues supportClassifier(Parts &p) {
  constexpr size_t most = 1 << 12;
  p.refuseStrings("classlabels_strings", "classlabels_ints");
  llvm::ArrayRef<int64_t> labels = p.integers("classlabels_ints");
  std::vector<double> weights = p.reals("coefficients"), a = p.reals("prob_a"), b = p.reals("prob_b");
  mlir::Value x = p.features(0);
  if (labels.size() < 2 || labels.size() > most)
    p.fail("attribute 'classlabels_ints' has " + llvm::Twine(labels.size()) + " entries; 2 to 4096 are accepted");
  if (!x || p.hasFailed())
    return {};
  if (!p.has("vectors_per_class")) {
    for (llvm::StringRef name : {"kernel_type", "kernel_params", "support_vectors"})
      p.ignore(name);
    return classifyLinearly(p, x, weights, labels);
  }
  if (!a.empty() && (labels.size() > 2 || a.size() != 1 || b.size() != 1))
    return {p.fail("attributes 'prob_a' and 'prob_b' have " + llvm::Twine(a.size()) + " and " + llvm::Twine(b.size()) +
                   " entries; probabilities of two classes, by one of each, are accepted")};
  llvm::ArrayRef<int64_t> perClass = countVectors(p, labels.size(), weights.size());
  if (p.hasFailed())
    return {};
  std::vector<double> rho = shiftsOf(p, labels.size() * (labels.size() - 1) / 2);
  mlir::Value kernel = kernelOf(p, x, std::accumulate(perClass.begin(), perClass.end(), int64_t(0)));
  mlir::Value scores = product(p, kernel, pairWeights(weights, perClass), static_cast<int64_t>(rho.size()), rho);
  if (!a.empty())
    return classifyByChance(p, scores, a[0], b[0], labels);
  if (labels.size() > 2)
    return {greatestLabel(p, votesOf(p, scores, labels.size()), labels), p.toF32(transformed(p, scores))};
  bool isShare = p.has("post_transform") &&
                 p.text("post_transform", {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}) != "NONE";
  return {labelAbove(p, scores, 0, labels[0], labels[1]), p.toF32(pairOfScores(p, scores, isShare))};
}

constexpr CompositeEntry supportEntries[] = {
    {"ai.onnx.ml.SVMRegressor", 1, 1, 1, supportRegressor},
    {"ai.onnx.ml.SVMClassifier", 1, 1, 2, supportClassifier},
};

} // namespace

llvm::ArrayRef<CompositeEntry> supportComposites() { return supportEntries; }

} // namespace apc
