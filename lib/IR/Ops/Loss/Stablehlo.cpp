// Losses and steps of optimizers in StableHLO.
#include "apc/IR/Hlo/HloWriter.h"
#include "apc/IR/Ops/Loss/Loss.h"

namespace apc {

namespace hlo {
namespace {

double real(const llvm::APFloat &number) { return number.convertToDouble(); }

/// The terms of a loss on a piece of the scores, one dim of which is classes; labels are those of the whole.
class Targets {
public:
  template <typename Op>
  Targets(Op op, Hlo scores, Hlo labels, Hlo weights, HloWriter &h)
      : h(h), isMean(op.getReduction() == "mean"), isNone(op.getReduction() == "none"),
        classDim(static_cast<unsigned>(apc::classDim(op))) {
    labels = convert(labels, h.i64());
    Hlo everywhere = weights ? weightOf(labels, weights) : filled(h, scores.element(), labels.dims(), 1);
    if (auto ignored = op.getIgnoreIndex()) {
      Hlo counts = compare(labels, "NE", static_cast<double>(*ignored));
      everywhere = select(counts, everywhere, filled(everywhere, 0));
    }
    HloDims all;
    for (unsigned dim = 0; dim < labels.numDims(); ++dim)
      all.push_back(dim);
    total = sum(everywhere, all);
    ofRow = everywhere;
    for (unsigned dim = 0; dim < labels.numDims(); ++dim)
      cutDim(op, labels, dim, dim < classDim ? dim : dim + 1, scores);
    HloDims dims(scores.dims());
    dims[classDim] = 1;
    labels = reshape(labels, dims), ofRow = reshape(ofRow, dims);
    Hlo classes = iota(h, h.i64(), scores.dims(), classDim);
    if (!op.getOffsets().empty()) {
      auto [begin, end] = span(op, classDim);
      classes = classes + begin;
      isLabel = compare(classes, "EQ", labels);
      isLabel = end ? isLabel & compare(classes, "LT", end) : isLabel;
    } else {
      isLabel = compare(classes, "EQ", labels);
    }
  }

  /// `logSum` less the score at each label, times its weight; zeros where the label is elsewhere.
  HloList loss(Hlo logSum, Hlo scores, llvm::ArrayRef<int64_t> dims) const {
    Hlo difference = logSum ? logSum - scores : -scores;
    Hlo losses = select(isLabel & compare(ofRow, "NE", 0), difference * ofRow, filled(scores, 0));
    losses = sum(losses, {classDim});
    if (isNone)
      return reshape(losses, dims);
    HloDims all;
    for (unsigned dim = 0; dim < losses.numDims(); ++dim)
      all.push_back(dim);
    Hlo added = sum(losses, all);
    return isMean ? added / total : added;
  }

  /// The shares of all classes less one at each label, times what arrives and its weight.
  Hlo gradient(Hlo dy, Hlo shares) const {
    dy = isNone ? unsqueeze(dy, classDim) : dy;
    Hlo incoming = (isMean ? dy / total : dy) * ofRow;
    Hlo less = select(isLabel, shares - 1, shares);
    return less * incoming;
  }

private:
  Hlo weightOf(Hlo labels, Hlo weights) const {
    int64_t count = 1;
    for (int64_t size : labels.dims())
      count *= size;
    auto last = static_cast<double>(weights.size(0) - 1);
    Hlo inside = hlo::max(hlo::min(labels, filled(labels, last)), filled(labels, 0));
    return reshape(take(weights, reshape(inside, {count}), 0), labels.dims());
  }

  /// Where the piece begins in a dim of the scores, and where it ends, if that is said.
  template <typename Op>
  std::pair<Hlo, Hlo> span(Op op, unsigned dim) const {
    Hlo offset = convert(h(op.getOffsets()[dim]), h.i64());
    if (offset.numDims() == 0)
      return {offset, Hlo()};
    return {reshape(slice(offset, 0, 0, 1), {}), offset.size(0) > 1 ? reshape(slice(offset, 0, 1, 2), {}) : Hlo()};
  }

  /// Takes the rows of the piece out of labels and weights; rows of padding weigh nothing.
  template <typename Op>
  void cutDim(Op op, Hlo &labels, unsigned dim, unsigned ofScores, Hlo scores) {
    int64_t whole = labels.size(dim), held = scores.size(ofScores);
    if (op.getOffsets().empty())
      return;
    auto [begin, end] = span(op, ofScores);
    Hlo places = iota(h, h.i64(), {held}, 0) + begin;
    Hlo isInside = compare(places, "LT", static_cast<double>(whole));
    isInside = end ? isInside & compare(places, "LT", end) : isInside;
    Hlo inside = hlo::min(places, filled(places, static_cast<double>(whole - 1)));
    labels = take(labels, inside, dim), ofRow = take(ofRow, inside, dim);
    HloDims beside(labels.numDims(), 1);
    beside[dim] = held;
    ofRow = select(reshape(isInside, beside), ofRow, filled(ofRow, 0));
  }

  HloWriter &h;
  bool isMean, isNone;
  unsigned classDim; ///< of the scores
  Hlo isLabel;       ///< for each score whether it is that of its row's label
  Hlo ofRow;         ///< the weight of each row, with one class
  Hlo total;         ///< the weight of all labels of the whole
};

HloList crossEntropy(CrossEntropyOp op, HloWriter &h) {
  Hlo scores = precise(h(op.getScores()));
  HloList losses = Targets(op, scores, h(op.getLabels()), h(op.getWeights()), h)
                       .loss(h(op.getLogSum()), scores, dimsOf(op.getOutput()));
  return convert(losses.front(), h(op.getScores()).element());
}
HloList crossEntropyGradient(CrossEntropyGradOp op, HloWriter &h) {
  Hlo scores = precise(h(op.getScores())), shares = exp(scores - h(op.getLogSum()));
  Targets targets(op, scores, h(op.getLabels()), h(op.getWeights()), h);
  return convert(targets.gradient(precise(h(op.getDY())), shares), h(op.getScores()).element());
}
HloList softmaxCrossEntropy(SoftmaxCrossEntropyLossOp op, HloWriter &h) {
  Hlo scores = precise(h(op.getScores())), logSum = logSumExp(scores, {1}, true);
  HloList results =
      Targets(op, scores, h(op.getLabels()), h(op.getWeights()), h).loss(logSum, scores, dimsOf(op.getOutput()));
  mlir::Type element = h(op.getScores()).element();
  return {convert(results.front(), element), convert(scores - logSum, element)};
}
HloList softmaxCrossEntropyGradient(SoftmaxCrossEntropyLossGradOp op, HloWriter &h) {
  Hlo logProb = precise(h(op.getLogProb())), bias = h(op.getBias());
  Targets targets(op, logProb, h(op.getLabel()), h(op.getWeight()), h);
  Hlo gradient = convert(targets.gradient(precise(h(op.getDY())), exp(logProb)), h(op.getLogProb()).element());
  return bias ? gradient + bias : gradient;
}
HloList logLikelihood(NegativeLogLikelihoodLossOp op, HloWriter &h) {
  Hlo scores = h(op.getInput());
  return Targets(op, scores, h(op.getTarget()), h(op.getWeight()), h).loss({}, scores, dimsOf(op.getLoss()));
}
HloList logLikelihoodGradient(NegativeLogLikelihoodGradOp op, HloWriter &h) {
  Hlo scores = h(op.getScores());
  return Targets(op, scores, h(op.getLabels()), h(op.getWeights()), h).gradient(h(op.getDY()), filled(scores, 0));
}

/// A step of an optimizer on the parameter, or its master, in the type of the latter.
template <typename Op>
class Update {
public:
  Update(Op op, HloWriter &h) : op(op), h(h) {
    old = h(op.getMaster()) ? h(op.getMaster()) : h(op.getParameter());
    scale = h(op.getScale());
    gradient = convert(h(op.getGradient()), old.element());
    gradient = scale ? gradient * convert(scale, old.element()) : gradient;
    rate = convert(h(op.getRate()), old.element());
  }
  double decay() { return real(op.getWeightDecay()); }

  /// The results for the new value and states; a scale of 0 leaves all as they were.
  HloList results(Hlo value, HloList states, HloList before) {
    auto kept = [&](Hlo now, Hlo then) { return scale ? select(compare(scale, "EQ", 0), then, now) : now; };
    value = kept(value, old);
    HloList list = {convert(value, h(op.getParameter()).element())};
    for (auto [now, then] : llvm::zip_equal(states, before))
      list.push_back(kept(now, then));
    list.push_back(value);
    return list;
  }

  Op op;
  HloWriter &h;
  Hlo old, gradient, rate, scale;
};

HloList sgd(SgdUpdateOp op, HloWriter &h) {
  Update step(op, h);
  Hlo gradient = step.decay() != 0 ? step.gradient + step.decay() * step.old : step.gradient;
  return step.results(step.old - step.rate * gradient, {}, {});
}

HloList momentum(MomentumUpdateOp op, HloWriter &h) {
  Update step(op, h);
  double decay = real(op.getDecay());
  Hlo before = h(op.getMomentum()), gradient = step.gradient + step.decay() * step.old;
  gradient = convert(gradient, before.element());
  Hlo moved = decay * before + (1 - real(op.getDampening())) * gradient;
  moved = select(compare(h(op.getStep()), "GT", 1), moved, gradient);
  Hlo along = op.getNesterov() != 0 ? gradient + decay * moved : moved;
  return step.results(step.old - step.rate * convert(along, step.old.element()), {moved}, {before});
}

/// Adam's step; the root is that of the last state.
template <typename Op>
HloList adam(Op op, HloWriter &h) {
  Update step(op, h);
  double beta1 = real(op.getBeta1()), beta2 = real(op.getBeta2());
  Hlo value = step.old, gradient = step.gradient, first = h(op.getFirst()), second = h(op.getSecond());
  if (op.getDecoupled() != 0)
    value = value * (1 - step.rate * step.decay());
  else
    gradient = gradient + step.decay() * value;
  gradient = convert(gradient, first.element());
  Hlo newFirst = beta1 * first + (1 - beta1) * gradient;
  Hlo newSecond = beta2 * second + (1 - beta2) * square(gradient);
  HloList before = {first, second}, states = {newFirst, newSecond};
  if constexpr (std::is_same_v<Op, AmsgradUpdateOp>) {
    before.push_back(h(op.getGreatest()));
    states.push_back(max(before.back(), newSecond));
  }
  Hlo count = convert(h(op.getStep()), h.getBuilder().getF64Type());
  auto corrected = [&](Hlo mean, double beta) {
    return mean / convert(1 - power(filled(count, beta), count), mean.element());
  };
  Hlo deviation = sqrt(corrected(states.back(), beta2)) + real(op.getEpsilon());
  value = value - step.rate * convert(corrected(newFirst, beta1) / deviation, value.element());
  return step.results(value, states, before);
}

constexpr HloLowering rows[] = {
    hloRow<CrossEntropyOp, crossEntropy>(),
    hloRow<CrossEntropyGradOp, crossEntropyGradient>(),
    hloRow<SoftmaxCrossEntropyLossOp, softmaxCrossEntropy>(),
    hloRow<SoftmaxCrossEntropyLossGradOp, softmaxCrossEntropyGradient>(),
    hloRow<NegativeLogLikelihoodLossOp, logLikelihood>(),
    hloRow<NegativeLogLikelihoodGradOp, logLikelihoodGradient>(),
    hloRow<SgdUpdateOp, sgd>(),
    hloRow<MomentumUpdateOp, momentum>(),
    hloRow<AdamUpdateOp, adam<AdamUpdateOp>>(),
    hloRow<AmsgradUpdateOp, adam<AmsgradUpdateOp>>(),
};

} // namespace
} // namespace hlo

llvm::ArrayRef<HloLowering> hloLoss();
llvm::ArrayRef<HloLowering> hloLoss() { return hlo::rows; }

} // namespace apc
