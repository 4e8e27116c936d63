// Losses and steps of optimizers in ONNX.
#include "../OnnxForm.h"
#include "apc/IR/Ops/Loss/Loss.h"

#include <numeric>

namespace apc {

namespace {

using Results = llvm::SmallVector<mlir::Value, 1>;

/// For the rows of a piece of scores: the class of each as counted in the piece (0 where it is elsewhere), the weight
/// of each there and anywhere, and the weight of all labels.
struct TargetForms {
  TargetForms(OnnxForm &form, mlir::Value scores, mlir::Value labels, mlir::Value weights)
      : axis(form.integer("axis", 1)), form(form), scores(scores) {
    mlir::Value own = form.cast(labels, form.getBuilder().getI64Type());
    weight = weightsOf(own, weights);
    total = form.sum(weight, allDims(weight), /*keepdims=*/false);
    for (unsigned dim = 0; dim < dimsOf(labels).size(); ++dim)
      choose(dim, own);
    place = own;
    mlir::Value isBefore;
    if (mlir::Value offset = offsetOf(static_cast<unsigned>(axis))) {
      place = form.sub(own, form.begin(offset));
      if (mlir::Value end = form.end(offset))
        isBefore = form.less(own, end);
    }
    mlir::Value zero = form.index(0), size = form.index(dimsOf(scores)[static_cast<size_t>(axis)]);
    mlir::Value here = form.both(form.make<GreaterOrEqualOp>({place, zero}), form.less(place, size));
    here = isBefore ? form.both(here, isBefore) : here;
    place = byClass(form.where(here, place, zero));
    weightHere = form.where(here, weight);
  }

  /// With a dim of one element for classes.
  mlir::Value byClass(mlir::Value rows) {
    llvm::SmallVector<int64_t> dims(dimsOf(rows));
    dims.insert(dims.begin() + axis, 1);
    return form.reshape(rows, dims);
  }
  static llvm::SmallVector<int64_t> allDims(mlir::Value value) {
    llvm::SmallVector<int64_t> dims(dimsOf(value).size());
    std::iota(dims.begin(), dims.end(), 0);
    return dims;
  }

  int64_t axis; ///< the scores' dim of classes
  mlir::Value place, weightHere, weight, total;

private:
  mlir::Value offsetOf(unsigned dim) { return form.offsets().empty() ? mlir::Value() : form.offsets()[dim]; }

  mlir::Value weightsOf(mlir::Value labels, mlir::Value weights) {
    llvm::SmallVector<int64_t> dims(dimsOf(labels));
    mlir::Value result;
    if (weights) {
      mlir::Value last = form.index(dimsOf(weights)[0] - 1);
      mlir::Value inside = form.make<MinOp>({form.make<MaxOp>({labels, form.index(0)}), last});
      result = form.precise(form.make<GatherOp>({weights, inside}, form.attribute("axis", 0)));
    } else {
      mlir::Value one = form.scalar(1, form.precise(scores));
      result = form.make<ExpandOp>({one, form.integers(dims)});
    }
    if (form.has("ignore_index")) {
      mlir::Value isIgnored = form.equal(labels, form.index(form.integer("ignore_index")));
      result = form.where(form.make<NotOp>({isIgnored}), result);
    }
    return result;
  }

  /// The labels and weights of one dim's rows that the piece has.
  void choose(unsigned dim, mlir::Value &own) {
    unsigned inScores = dim < axis ? dim : dim + 1;
    mlir::Value offset = offsetOf(inScores);
    if (!offset)
      return;
    llvm::SmallVector<int64_t> counted(static_cast<size_t>(dimsOf(scores)[inScores])), beside(dimsOf(own).size(), 1);
    std::iota(counted.begin(), counted.end(), 0);
    beside[dim] = dimsOf(scores)[inScores];
    mlir::Value places = form.add(form.integers(counted), form.begin(offset)), size = form.index(dimsOf(own)[dim]);
    mlir::Value inside = form.less(places, size);
    if (mlir::Value end = form.end(offset))
      inside = form.both(inside, form.less(places, end));
    places = form.make<MinOp>({places, form.index(dimsOf(own)[dim] - 1)});
    own = form.make<GatherOp>({own, places}, form.attribute("axis", dim));
    weight = form.make<GatherOp>({weight, places}, form.attribute("axis", dim));
    weight = form.where(form.reshape(inside, beside), weight);
  }

  OnnxForm &form;
  mlir::Value scores;
};

/// `log_sum` (null: 0) less the score at each label, times its weight.
Results lossOf(OnnxForm &form, mlir::Value scores, mlir::Value logSum, mlir::Value labels, mlir::Value weights) {
  scores = form.precise(scores);
  TargetForms targets(form, scores, labels, weights);
  mlir::Value picked = form.make<GatherElementsOp>({scores, targets.place}, form.attribute("axis", targets.axis));
  mlir::Value loss = logSum ? form.sub(logSum, picked) : form.make<NegOp>({picked});
  loss = form.reshape(loss, dimsOf(targets.weightHere));
  loss = form.where(form.equal(targets.weightHere, form.scalar(0, loss)), form.scalar(0, loss),
                    form.mul(loss, targets.weightHere));
  if (form.text("reduction") != "none")
    loss = form.sum(loss, TargetForms::allDims(loss), /*keepdims=*/false);
  if (form.text("reduction") == "mean")
    loss = form.div(loss, targets.total);
  return {form.asResult(form.reshape(loss, dimsOf(form.getOp()->getResult(0))))};
}

Results crossEntropy(OnnxForm &form) {
  return lossOf(form, form.operand("scores"), form.operand("log_sum"), form.operand("labels"), form.operand("weights"));
}

Results logLikelihood(OnnxForm &form) {
  return lossOf(form, form.operand("input"), {}, form.operand("target"), form.operand("weight"));
}

/// The shares of all classes (null: none) less one at each label, times what arrives and its weight.
Results lossGradient(OnnxForm &form, mlir::Value scores, mlir::Value shares) {
  TargetForms targets(form, scores, form.operand("labels"), form.operand("weights"));
  mlir::Value incoming = form.precise(form.operand("dY"));
  if (form.text("reduction") == "mean")
    incoming = form.div(incoming, targets.total);
  auto type = llvm::cast<mlir::RankedTensorType>(scores.getType());
  mlir::Value gradient =
      shares ? form.mul(shares, targets.byClass(form.mul(incoming, targets.weight))) : form.zeros(type);
  mlir::Value less = form.make<NegOp>({targets.byClass(form.mul(incoming, targets.weightHere))});
  mlir::Builder &builder = form.getBuilder();
  mlir::NamedAttribute attributes[] = {form.attribute("axis", targets.axis),
                                       builder.getNamedAttr("reduction", builder.getStringAttr("add"))};
  return {form.asResult(form.make<ScatterElementsOp>({gradient, targets.place, less}, attributes))};
}

Results crossEntropyGradient(OnnxForm &form) {
  mlir::Value scores = form.precise(form.operand("scores"));
  return lossGradient(form, scores, form.exp(form.sub(scores, form.operand("log_sum"))));
}

Results logLikelihoodGradient(OnnxForm &form) { return lossGradient(form, form.precise(form.operand("scores")), {}); }

/// A step of an optimizer: what it starts from, and its results, which are the old ones where the scale is 0.
class Update {
public:
  explicit Update(OnnxForm &form) : form(form), master(form.operand("master")), scale(form.operand("scale")) {
    value = master ? master : form.operand("parameter");
    gradient = form.cast(form.operand("gradient"), elementOf(value));
    if (scale)
      gradient = form.mul(gradient, form.cast(scale, elementOf(value)));
    rate = form.cast(form.operand("rate"), elementOf(value));
  }

  mlir::Value decayed() { return form.add(gradient, form.mul(value, form.real("weight_decay"))); }
  /// 1 - base^step, in 64 bits: for a base near 1 the difference is small.
  mlir::Value correction(double base) {
    mlir::Value count = form.cast(form.operand("step"), form.getBuilder().getF64Type());
    return form.cast(form.oneLess(form.make<PowOp>({form.scalar(base, count), count})), elementOf(value));
  }
  mlir::Value kept(mlir::Value next, mlir::Value old) {
    next = form.cast(next, elementOf(old));
    return scale ? form.where(form.equal(scale, form.scalar(0, scale)), old, next) : next;
  }
  Results finish(mlir::Value next, llvm::ArrayRef<mlir::Value> states) {
    Results results = {kept(next, form.operand("parameter"))};
    llvm::append_range(results, states);
    results.push_back(master ? kept(next, master) : form.absent());
    return results;
  }

  OnnxForm &form;
  mlir::Value master, scale, value, gradient, rate;

private:
  static mlir::Type elementOf(mlir::Value value) { return getElementTypeOrSelf(value.getType()); }
};

Results sgd(OnnxForm &form) {
  Update update(form);
  return update.finish(form.sub(update.value, form.mul(update.decayed(), update.rate)), {});
}

Results momentum(OnnxForm &form) {
  Update update(form);
  mlir::Value gradient = update.decayed(), before = form.operand("momentum");
  double decay = form.real("decay");
  mlir::Value later = form.add(form.mul(before, decay), form.mul(gradient, 1 - form.real("dampening")));
  mlir::Value isLater = form.greater(form.operand("step"), form.index(1));
  mlir::Value moving = form.where(isLater, later, gradient);
  mlir::Value along = form.integer("nesterov") != 0 ? form.add(gradient, form.mul(moving, decay)) : moving;
  return update.finish(form.sub(update.value, form.mul(along, update.rate)), {update.kept(moving, before)});
}

/// Adam's step; the root is that of `greatest`, the greatest mean of squares before the step, with the new one, or of
/// the new one alone.
Results adamBy(OnnxForm &form, mlir::Value greatest) {
  Update update(form);
  double beta1 = form.real("beta1"), beta2 = form.real("beta2"), decay = form.real("weight_decay");
  mlir::Value value = update.value, gradient = update.gradient;
  if (form.integer("decoupled") != 0)
    value = form.mul(value, form.oneLess(form.mul(update.rate, decay)));
  else if (decay != 0)
    gradient = update.decayed();
  mlir::Value before = form.operand("first"), squares = form.operand("second");
  mlir::Value first = form.add(form.mul(before, beta1), form.mul(gradient, 1 - beta1));
  mlir::Value second = form.add(form.mul(squares, beta2), form.mul(form.mul(gradient, gradient), 1 - beta2));
  mlir::Value root = greatest ? form.make<MaxOp>({greatest, second}) : second;
  mlir::Value deviation = form.add(form.sqrt(form.div(root, update.correction(beta2))), form.real("epsilon"));
  mlir::Value step = form.div(form.mul(form.div(first, update.correction(beta1)), update.rate), deviation);
  llvm::SmallVector<mlir::Value, 3> states = {update.kept(first, before), update.kept(second, squares)};
  if (greatest)
    states.push_back(update.kept(root, greatest));
  return update.finish(form.sub(value, step), states);
}

Results adam(OnnxForm &form) { return adamBy(form, {}); }
Results amsgrad(OnnxForm &form) { return adamBy(form, form.operand("greatest")); }

constexpr OnnxFormEntry forms[] = {
    {CrossEntropyOp::getOperationName(), crossEntropy},
    {NegativeLogLikelihoodLossOp::getOperationName(), logLikelihood},
    {CrossEntropyGradOp::getOperationName(), crossEntropyGradient},
    {NegativeLogLikelihoodGradOp::getOperationName(), logLikelihoodGradient},
    {SgdUpdateOp::getOperationName(), sgd},
    {MomentumUpdateOp::getOperationName(), momentum},
    {AdamUpdateOp::getOperationName(), adam},
    {AmsgradUpdateOp::getOperationName(), amsgrad},
};

} // namespace

llvm::ArrayRef<OnnxFormEntry> lossForms() { return forms; }

} // namespace apc
