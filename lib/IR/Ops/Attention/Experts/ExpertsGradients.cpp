// Gradients of mixtures of experts. Shapes do not depend on values, so that all experts see all tokens here, and those
// that a token does not visit have the share 0.
#include "ExpertsGradients.h"
#include "../../Attributes.h"
#include "../../Elementwise/Activation.h"
#include "../HeadGradients.h"
#include "../Kernels.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

namespace {

using mlir::Value;

Value filled(GradientBuilder &g, double value, Value like, llvm::ArrayRef<int64_t> dims) {
  return g.make<ExpandOp>({g.scalar(value, like), g.integers(dims)});
}

/// The shares [tokens, experts] of the experts in each token, and the way back to what they are made of: the router's
/// scores, or `weights` (null for none) beside scores that choose alone.
class Router {
public:
  Router(GradientBuilder &g, Value scores, Value weights, int64_t chosen, bool normalizes)
      : g(g), isOfWeights(weights), normalizes(normalizes) {
    all = weights ? weights : Value(g.make<SoftmaxOp>({scores}, axis()));
    Value best = g.create<TopKOp>({scores, g.integers({chosen})}, axis())->getResult(1);
    Value none = filled(g, 0, scores, dimsOf(scores)), ones = filled(g, 1, scores, dimsOf(best));
    isChosen = g.make<ScatterElementsOp>({none, best, ones}, axis());
    shares = kept = g.mul(all, isChosen);
    if (normalizes) {
      total = sum(shares);
      total = g.make<WhereOp>( // of nothing, as the kernels take it
          {g.make<EqualOp>({total, g.scalar(0, total)}), g.scalar(1, total), total});
      shares = g.div(shares, total);
    }
  }

  /// [tokens, experts], as the scores are.
  Value getShares() const { return shares; }

  /// Of s = softmax(scores) where experts are chosen, for each score s (g - sum of s g).
  Value ofMade(Value ofShares) {
    if (normalizes)
      ofShares = g.div(g.sub(ofShares, sum(g.mul(shares, ofShares))), total);
    if (isOfWeights)
      return g.mul(isChosen, ofShares);
    Value weighted = g.mul(kept, ofShares);
    return g.sub(weighted, g.mul(all, sum(weighted)));
  }

private:
  mlir::NamedAttribute axis() const { return g.attribute("axis", int64_t(-1)); }
  Value sum(Value value) const { return g.make<ReduceSumOp>({value, g.integers({-1})}); }

  GradientBuilder &g;
  bool isOfWeights, normalizes;
  Value all, isChosen;       ///< the shares of all experts; 1 for the chosen ones, 0 for others
  Value kept, total, shares; ///< those of the chosen ones, their sum, and over that
};

/// Gate and value inside an expert: min(gate, limit) sigmoid(alpha gate) (clamped value + beta).
class GatedUnit {
public:
  GatedUnit(GradientBuilder &g, Value gate, Value value)
      : g(g), gate(gate), value(value), bounded(gate), alpha(g.attribute("alpha", alphaOf(g))) {
    mlir::Operation *op = g.getForward();
    Value shifted = value;
    if (op->hasAttr("swiglu_limit")) {
      double bound = floatAttribute(op, "swiglu_limit", 0);
      limit = g.scalar(bound, gate);
      bounded = g.make<MinOp>({gate, limit});
      shifted = g.make<MaxOp>({g.make<MinOp>({value, limit}), g.scalar(-bound, gate)});
    }
    other = g.add(shifted, g.scalar(floatAttribute(op, "activation_beta", 0), gate));
    swish = g.make<SwishOp>({bounded}, alpha);
  }

  Value getResult() { return g.mul(swish, other); }
  Value ofGate(Value arriving) {
    Value slope = g.make<SwishGradOp>({g.mul(arriving, other), bounded}, alpha);
    return limit ? g.where(g.make<LessOrEqualOp>({gate, limit}), slope) : slope;
  }
  Value ofValue(Value arriving) {
    Value slope = g.mul(arriving, swish);
    return limit ? g.where(g.make<LessOrEqualOp>({g.make<AbsOp>({value}), limit}), slope) : slope;
  }

private:
  static mlir::Attribute alphaOf(GradientBuilder &g) {
    double alpha = floatAttribute(g.getForward(), "activation_alpha", 1);
    return g.getBuilder().getF32FloatAttr(static_cast<float>(alpha));
  }

  GradientBuilder &g;
  Value gate, value, bounded, limit, other, swish;
  mlir::NamedAttribute alpha;
};

/// The elements between the layers of all experts, [tokens, experts, inner], and the way back to the sums of the first
/// and the third layer.
class Between {
public:
  Between(GradientBuilder &g, const ExpertSizes &sizes, Value first, Value third)
      : g(g), sizes(sizes), first(first), third(third) {
    mlir::Operation *op = g.getForward();
    llvm::StringRef type = stringAttribute(op, "activation_type", "relu");
    inBlocks = intAttribute(op, "swiglu_fusion", 0) == 2;
    if (type == "swiglu") {
      Value value = sizes.fused == 2 ? part(1) : third ? third : filled(g, 1, first, dimsOf(first));
      unit.emplace(g, sizes.fused == 2 ? part(0) : first, value);
      return;
    }
    // GELU is meant by its approximation.
    activation.name = type == "gelu" ? "fastgelu" : type;
    activated = activation.make(g, first);
  }

  bool isKnown() const { return unit || activated; }
  Value getResult() { return unit ? unit->getResult() : third ? g.mul(activated, third) : activated; }

  Value ofFirst(Value arriving) {
    if (!unit)
      return activation.gradient(g, third ? g.mul(arriving, third) : arriving, activated, [&] { return first; });
    Value ofGate = unit->ofGate(arriving);
    return sizes.fused == 2 ? joined(ofGate, unit->ofValue(arriving)) : ofGate;
  }
  Value ofThird(Value arriving) { return unit ? unit->ofValue(arriving) : g.mul(arriving, activated); }

private:
  /// The dim of the pair of gate and value.
  size_t pairDim() const { return dimsOf(first).size() - (inBlocks ? 2 : 1); }
  llvm::SmallVector<int64_t, 5> dimsOfPart() const {
    llvm::SmallVector<int64_t, 5> dims(dimsOf(first));
    dims[pairDim()] = 1;
    return dims;
  }
  /// The gates or the values of a first layer that gives both.
  Value part(int64_t index) {
    llvm::SmallVector<int64_t, 5> dims = dimsOfPart();
    auto axis = static_cast<int64_t>(pairDim());
    Value taken =
        g.make<SliceOp>({first, g.integers({index}), g.integers({index + 1}), g.integers({axis}), g.absent()});
    dims.erase(dims.begin() + axis);
    return shaped(g, taken, dims);
  }
  Value joined(Value gates, Value values) {
    llvm::SmallVector<Value, 2> parts = {shaped(g, gates, dimsOfPart()), shaped(g, values, dimsOfPart())};
    return g.make<ConcatOp>(parts, g.attribute("axis", static_cast<int64_t>(pairDim())));
  }

  GradientBuilder &g;
  const ExpertSizes &sizes;
  Value first, third, activated;
  bool inBlocks = false;
  std::optional<GatedUnit> unit;
  Activation activation;
};

/// Products over letters: tokens t (and b before them), experts e, hidden h, rows of the first layer (inner i, also
/// with a pair p of gate and value), results n.
class Mixture {
public:
  Mixture(GradientBuilder &g, const ExpertSizes &sizes, const ExpertWeights &reals)
      : g(g), sizes(sizes), reals(reals), which(expertOperands(g.getForward())),
        tokens(sizes.tokens.size() == 2 ? "bt" : "t"),
        router(g, byToken(1), reals.routing == 1 ? Value() : byToken(reals.routing), sizes.chosen,
               intAttribute(g.getForward(), "normalize_routing_weights", 0) != 0),
        shares(router.getShares()) {}

  /// False for activations that are not known.
  bool give() {
    bool hasThird = sizes.third && sizes.fused == 1;
    Layer first = layer(which.first, reals.first), third = hasThird ? layer(which.third, reals.third) : Layer();
    Between between(g, sizes, sumsOf(first), hasThird ? sumsOf(third) : Value());
    if (!between.isKnown())
      return false;
    Value inner = between.getResult();
    Value ofInner = g.einsum(tokens + "n," + weights("n", "i") + "->" + tokens + "ei", {g.incoming(), reals.second});
    if (g.wants(reals.routing))
      giveRouter(inner, ofInner);
    giveSecond(inner);
    ofInner = g.mul(ofInner, column(shares));
    Value ofInput = giveLayer(first, between.ofFirst(ofInner));
    if (hasThird) {
      Value more = giveLayer(third, between.ofThird(ofInner));
      ofInput = ofInput ? g.add(ofInput, more) : Value();
    }
    if (ofInput)
      g.give(0, ofInput);
    return true;
  }

private:
  /// The first or the third layer, with the pair of gate and value apart from the inner elements.
  struct Layer {
    unsigned operand = 0;
    std::string rows = {};
    Value weights = {}, bias = {};
  };

  /// An operand [all tokens, experts] with the dims of the tokens.
  Value byToken(unsigned operand) {
    if (sizes.tokens.size() == 1)
      return g.operand(operand);
    return shaped(g, g.operand(operand), {sizes.tokens[0], sizes.tokens[1], sizes.experts});
  }
  std::string weights(llvm::StringRef outputs, llvm::StringRef inputs) const {
    return ("e" + (sizes.inputsFirst ? inputs + outputs : outputs + inputs)).str();
  }
  bool has(unsigned operand) const { return !isAbsent(g.operand(operand)); }
  Value column(Value value) {
    llvm::SmallVector<int64_t, 4> dims(dimsOf(value));
    dims.push_back(1);
    return shaped(g, value, dims);
  }

  Layer layer(unsigned operand, Value weights) {
    Layer layer{operand, "i", weights, has(which.bias(operand)) ? g.operand(which.bias(operand)) : Value()};
    if (sizes.fused == 1)
      return layer;
    bool inBlocks = intAttribute(g.getForward(), "swiglu_fusion", 0) == 2;
    layer.rows = inBlocks ? "pi" : "ip";
    auto apart = [&](Value value, unsigned rowDim) {
      llvm::SmallVector<int64_t, 4> dims(dimsOf(value));
      dims[rowDim] = inBlocks ? 2 : sizes.inner;
      dims.insert(dims.begin() + rowDim + 1, inBlocks ? sizes.inner : 2);
      return shaped(g, value, dims);
    };
    layer.weights = apart(layer.weights, sizes.inputsFirst ? 2 : 1);
    if (layer.bias)
      layer.bias = apart(layer.bias, 1);
    return layer;
  }

  /// [tokens, experts, rows]
  Value sumsOf(const Layer &layer) {
    Value sums = g.einsum(tokens + "h," + weights(layer.rows, "h") + "->" + tokens + "e" + layer.rows,
                          {g.operand(0), layer.weights});
    return layer.bias ? g.add(sums, layer.bias) : sums;
  }

  /// From the gradient of these sums; returns the part of the input, null where it is not wanted.
  Value giveLayer(const Layer &layer, Value ofSums) {
    std::string sums = tokens + "e" + layer.rows, inputs = tokens + "h", letters = weights(layer.rows, "h");
    unsigned bias = which.bias(layer.operand);
    if (g.wants(layer.operand))
      g.give(layer.operand, g.reshapeTo(g.einsum(sums + "," + inputs + "->" + letters, {ofSums, g.operand(0)}),
                                        g.operand(layer.operand)));
    if (layer.bias && g.wants(bias))
      g.give(bias, g.reshapeTo(g.sumTo(ofSums, layer.bias), g.operand(bias)));
    return g.wants(0) ? g.einsum(sums + "," + letters + "->" + inputs, {ofSums, layer.weights}) : Value();
  }

  void giveSecond(Value inner) {
    unsigned bias = which.bias(which.second);
    if (g.wants(which.second))
      g.give(which.second, g.einsum(tokens + "ei," + tokens + "n->" + weights("n", "i"),
                                    {g.mul(inner, column(shares)), g.incoming()}));
    if (has(bias) && g.wants(bias))
      g.give(bias, g.einsum(tokens + "e," + tokens + "n->en", {shares, g.incoming()}));
  }

  /// The gradient of a share is the product of what arrives with the expert's result.
  void giveRouter(Value inner, Value ofInner) {
    Value ofShares = g.einsum(tokens + "ei," + tokens + "ei->" + tokens + "e", {inner, ofInner});
    if (unsigned bias = which.bias(which.second); has(bias))
      ofShares = g.add(ofShares, g.einsum(tokens + "n,en->" + tokens + "e", {g.incoming(), g.operand(bias)}));
    g.give(reals.routing, g.reshapeTo(router.ofMade(ofShares), g.operand(reals.routing)));
  }

  GradientBuilder &g;
  const ExpertSizes &sizes;
  const ExpertWeights &reals;
  ExpertOperands which;
  std::string tokens;
  Router router;
  Value shares;
};

} // namespace

bool differentiateExperts(GradientBuilder &g, const ExpertSizes &sizes, const ExpertWeights &reals) {
  mlir::Operation *op = g.getForward();
  if (int64_t mixes = intAttribute(op, "use_sparse_mixer", 0); mixes != 0)
    return g.refuse("attribute 'use_sparse_mixer' is " + llvm::Twine(mixes) + ", and 0 is accepted");
  return Mixture(g, sizes, reals).give() ||
         g.refuse("attribute 'activation_type' is '" + stringAttribute(op, "activation_type", "relu") +
                  "', and swiglu, " + knownActivations() + " are accepted");
}

bool MoEOp::differentiate(GradientBuilder &g) {
  auto sizes = readExperts(*this);
  if (mlir::failed(sizes))
    return false;
  ExpertOperands which = expertOperands(*this);
  return differentiateExperts(g, *sizes, {g.operand(which.first), g.operand(which.second), g.operand(which.third)});
}

} // namespace apc
