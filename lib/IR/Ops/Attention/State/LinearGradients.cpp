// Gradients of linear attention: the backward pass through the positions.
#include "../../Attributes.h"
#include "../Kernels.h"
#include "States.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/RuleBuilder.h"

#include <cmath>

namespace apc {

namespace {

/// Operands with a dim for the key heads or query heads there are fewer of, and one for those that share one of them.
class ByHead {
public:
  ByHead(GradientBuilder &g, const LinearSizes &sizes)
      : g(g), sizes(sizes), few(std::min(sizes.queryHeads, sizes.keyHeads)), group(sizes.resultHeads() / few) {}

  /// [b, t, heads * size] or a state [b, heads, d, e], as they are and with a copy for each of the heads that share
  /// one.
  struct Spread {
    mlir::Value narrow, wide;
  };
  Spread sequence(mlir::Value value, int64_t heads, int64_t size) {
    return isAbsent(value)
               ? Spread{value, value}
               : spread(value, {sizes.batch, sizes.positions, std::min(few, heads), heads > few ? group : 1, size}, 2);
  }
  Spread state(mlir::Value value) {
    return isAbsent(value)
               ? Spread{value, value}
               : spread(value, {sizes.batch, few, sizes.keyHeads > few ? group : 1, sizes.keySize, sizes.valueSize}, 1);
  }
  /// A gate of one value for each key head, for each element of its keys, or of one value for all.
  Spread gate(mlir::Value value) {
    if (isAbsent(value))
      return {value, value};
    int64_t found = dimsOf(value)[2];
    bool isOfAll = found == 1 && sizes.keyHeads > 1;
    return sequence(value, isOfAll ? 1 : sizes.keyHeads, isOfAll ? 1 : found / sizes.keyHeads);
  }
  int64_t copiesOfState() const { return sizes.keyHeads > few ? 1 : group; }

  void give(unsigned operand, const Spread &forward, mlir::Value gradient) {
    if (g.wants(operand))
      g.give(operand, g.reshapeTo(g.sumTo(gradient, forward.narrow), g.operand(operand)));
  }

private:
  Spread spread(mlir::Value value, llvm::SmallVector<int64_t, 5> dims, size_t headDim) {
    mlir::Value narrow = g.make<ReshapeOp>({value, g.integers(dims)}, g.attribute("allowzero", int64_t(1)));
    if (dims[headDim] == few && dims[headDim + 1] == group)
      return {narrow, narrow};
    dims[headDim] = few;
    dims[headDim + 1] = group;
    return {narrow, g.make<ExpandOp>({narrow, g.integers(dims)})};
  }

  GradientBuilder &g;
  const LinearSizes &sizes;
  int64_t few, group;
};

} // namespace

bool LinearAttentionOp::differentiate(GradientBuilder &g) {
  auto sizes = readLinear(*this);
  if (mlir::failed(sizes))
    return false;
  ByHead heads(g, *sizes);
  bool isDelta = getUpdateRule().contains("delta");
  ByHead::Spread query = heads.sequence(getQuery(), sizes->queryHeads, sizes->keySize),
                 key = heads.sequence(getKey(), sizes->keyHeads, sizes->keySize),
                 value = heads.sequence(getValue(), sizes->keyHeads, sizes->valueSize),
                 past = heads.state(getPastState()), decay = heads.gate(getDecay()),
                 beta = isDelta ? heads.gate(getBeta()) : ByHead::Spread{g.absent(), g.absent()};
  mlir::Value ofResult = g.incoming(0) ? heads.sequence(g.incoming(0), sizes->resultHeads(), sizes->valueSize).wide
                                       : g.absent(),
              ofState = g.absent();
  if (g.incoming(1)) // each copy of a state has its share
    ofState = heads.state(g.mul(g.incoming(1), g.scalar(1.0 / double(heads.copiesOfState()), g.incoming(1)))).wide;
  mlir::Operation *back = g.create<LinearAttentionGradOp>(
      {query.wide, key.wide, value.wide, past.wide, decay.wide, beta.wide, ofResult, ofState},
      {g.attribute("delta", int64_t(isDelta)),
       g.attribute("scale", g.getBuilder().getF32FloatAttr(float(linearScale(*this, *sizes))))});
  for (auto [operand, forward] : llvm::enumerate(std::array{query, key, value, past, decay, beta}))
    if (!isAbsent(forward.narrow))
      heads.give(static_cast<unsigned>(operand), forward, back->getResult(static_cast<unsigned>(operand)));
  return true;
}

namespace {

enum Arriving : unsigned { ToResult = 6, ToState = 7 };

mlir::LogicalResult checkLinearGradient(LinearAttentionGradOp op) {
  if (mlir::failed(checkDims(op, Query, {-1, -1, -1, -1, -1})) ||
      mlir::failed(checkDims(op, Value, {-1, -1, -1, -1, -1})))
    return mlir::failure();
  llvm::ArrayRef<int64_t> q = dimsOf(op.getQuery());
  int64_t b = q[0], t = q[1], kv = q[2], heads = q[3], d = q[4], e = dimsOf(op.getValue())[4];
  bool fits = mlir::succeeded(checkDims(op, Key, {b, t, kv, heads, d})) &&
              mlir::succeeded(checkDims(op, Value, {b, t, kv, heads, e})) &&
              mlir::succeeded(checkDims(op, PastState, {b, kv, heads, d, e})) &&
              mlir::succeeded(checkDims(op, Decay, {b, t, kv, heads, -1})) &&
              mlir::succeeded(checkDims(op, Beta, {b, t, kv, heads, 1})) &&
              mlir::succeeded(checkDims(op, ToResult, {b, t, kv, heads, e})) &&
              mlir::succeeded(checkDims(op, ToState, {b, kv, heads, d, e}));
  if (fits && !isAbsent(op.getDecay()) && dimsOf(op.getDecay())[4] != 1)
    fits = mlir::succeeded(checkDims(op, Decay, {b, t, kv, heads, d}));
  return mlir::success(fits);
}

} // namespace

mlir::LogicalResult LinearAttentionGradOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  LinearAttentionGradOp op = *this;
  if (mlir::failed(checkLinearGradient(op)))
    return mlir::failure();
  for (unsigned operand : {Query, Key, Value})
    types.push_back(op->getOperand(operand).getType());
  llvm::ArrayRef<int64_t> q = dimsOf(getQuery());
  unsigned state = Query;
  for (unsigned given : {unsigned(PastState), unsigned(ToState)})
    if (!isAbsent(op->getOperand(given)))
      state = given;
  if (mlir::failed(addType(op, {q[0], q[2], q[3], q[4], dimsOf(getValue())[4]}, operandElement(op, state), types)))
    return mlir::failure();
  for (unsigned gate : {Decay, Beta})
    types.push_back(op->getOperand(gate).getType());
  return mlir::success();
}

// `b !t kv g !d, b !t kv g !d, b !t kv g !e, b kv g !d !e, ...`.
mlir::FailureOr<FactorRule> LinearAttentionGradOp::getRule() {
  LinearAttentionGradOp op = *this;
  if (mlir::failed(checkLinearGradient(op)))
    return mlir::failure();
  llvm::ArrayRef<int64_t> q = dimsOf(getQuery());
  int64_t valueDim = dimsOf(getValue())[4];
  FactorRuleBuilder builder;
  DimFactors batch = {builder.addFactor("b", q[0])}, positions = {builder.addWhole("t", q[1])},
             heads = {builder.addFactor("kv", q[2])}, shared = {builder.addFactor("g", q[3])},
             keySize = {builder.addWhole("d", q[4])}, valueSize = {builder.addWhole("e", valueDim)};
  auto sequence = [&](const DimFactors &size) {
    return llvm::SmallVector<DimFactors, 4>{batch, positions, heads, shared, size};
  };
  const llvm::SmallVector<DimFactors, 4> state = {batch, heads, shared, keySize, valueSize};
  bool isByElement = !isAbsent(getDecay()) && dimsOf(getDecay())[4] != 1;
  const std::array<llvm::SmallVector<DimFactors, 4>, 8> dims = {sequence(keySize),
                                                                sequence(keySize),
                                                                sequence(valueSize),
                                                                state,
                                                                sequence(isByElement ? keySize : DimFactors()),
                                                                sequence({}),
                                                                sequence(valueSize),
                                                                state};
  for (auto [index, value] : llvm::enumerate(op->getOperands()))
    addOperand(builder, value, dims[index]);
  for (auto [index, value] : llvm::enumerate(op->getResults()))
    addResult(builder, value, dims[index]);
  builder.setWork(Work::Contraction);
  FactorRule rule = builder.take();
  // Two products for each of those of the forward pass, and the states once more.
  double products = getDelta() != 0 ? 10 : 6;
  setFlops(rule, 2.0 * products * double(q[0]) * double(q[1]) * double(q[2]) * double(q[3]) * double(q[4]) *
                     double(valueDim));
  return rule;
}

namespace {

using Reals = std::vector<double>;

/// Matrices [d, e] and what vectors make of them.
struct Matrices {
  int64_t d, e;

  /// S' k
  Reals asked(const double *matrix, const double *key) const {
    Reals answer(e, 0);
    for (int64_t i = 0; i < d * e; ++i)
      answer[i % e] += key[i / e] * matrix[i];
    return answer;
  }
  /// S v
  Reals times(const double *matrix, llvm::ArrayRef<double> value) const {
    Reals result(d, 0);
    for (int64_t i = 0; i < d * e; ++i)
      result[i / e] += matrix[i] * value[i % e];
    return result;
  }
  /// S + factor k v'
  void add(double *matrix, const double *key, llvm::ArrayRef<double> value, double factor) const {
    for (int64_t i = 0; i < d * e; ++i)
      matrix[i] += factor * key[i / e] * value[i % e];
  }
};

/// The passes of one head of one batch element.
class LinearPasses {
public:
  LinearPasses(LinearAttentionGradOp op, Operands operands, llvm::MutableArrayRef<Tensor> results)
      : operands(operands), results(results), q(dimsOf(op.getQuery())), of{q[4], dimsOf(op.getValue())[4]},
        positions(q[1]), heads(q[2] * q[3]), scale(op.getScale().convertToDouble()), isDelta(op.getDelta() != 0) {}

  int64_t numHeads() const { return q[0] * heads; }

  /// `index` counts the heads of all batch elements.
  void run(int64_t index) {
    batch = index / heads;
    head = index % heads;
    int64_t area = of.d * of.e;
    states.assign((positions + 1) * area, 0);
    if (operands[PastState])
      std::copy_n(operands[PastState]->floats.begin() + index * area, area, states.begin());
    for (int64_t t = 0; t < positions; ++t)
      forward(t);
    slope.assign(area, 0);
    if (operands[ToState])
      std::copy_n(operands[ToState]->floats.begin() + index * area, area, slope.begin());
    for (int64_t t = positions - 1; t >= 0; --t)
      backward(t);
    std::copy_n(slope.begin(), area, results[PastState].floats.begin() + index * area);
  }

private:
  int64_t place(int64_t t, int64_t size) const { return ((batch * positions + t) * heads + head) * size; }
  const double *at(unsigned operand, int64_t t, int64_t size) const {
    return operands[operand]->floats.data() + place(t, size);
  }
  double *before(int64_t t) { return states.data() + t * of.d * of.e; }
  double gate(int64_t t) const { return operands[Beta] ? *at(Beta, t, 1) : 1; }
  int64_t numDecays() const { return operands[Decay] ? operands[Decay]->dims.back() : 0; }
  double decay(int64_t t, int64_t element) const {
    int64_t count = numDecays();
    return count == 0 ? 1 : std::exp(at(Decay, t, count)[count == 1 ? 0 : element]);
  }
  /// The state before position t, decayed.
  Reals decayed(int64_t t) {
    Reals state(before(t), before(t + 1));
    for (auto [i, x] : llvm::enumerate(state))
      x *= decay(t, static_cast<int64_t>(i) / of.e);
    return state;
  }
  /// The value less what the state knows of it.
  Reals news(int64_t t, const Reals &state) const {
    const double *value = at(Value, t, of.e);
    Reals news(value, value + of.e);
    if (isDelta)
      for (auto [x, known] : llvm::zip_equal(news, of.asked(state.data(), at(Key, t, of.d))))
        x -= known;
    return news;
  }
  static Reals scaled(Reals values, double factor) {
    for (double &x : values)
      x *= factor;
    return values;
  }
  void put(unsigned result, int64_t t, const Reals &values) {
    std::copy(values.begin(), values.end(),
              results[result].floats.begin() + place(t, static_cast<int64_t>(values.size())));
  }

  void forward(int64_t t) {
    Reals state = decayed(t);
    of.add(state.data(), at(Key, t, of.d), scaled(news(t, state), gate(t)), 1);
    std::copy(state.begin(), state.end(), before(t + 1));
  }
  void backward(int64_t t);
  void decayBack(int64_t t);

  Operands operands;
  llvm::MutableArrayRef<Tensor> results;
  llvm::ArrayRef<int64_t> q;
  Matrices of;
  int64_t positions, heads;
  double scale;
  bool isDelta;
  int64_t batch = 0, head = 0;
  Reals states; ///< before each position, and behind the last
  Reals slope;  ///< the gradient of the state
};

// With S~ = exp(decay) S', w = beta u and u = v - S~' k (or v): S = S~ + k w', y = scale S' q.
void LinearPasses::backward(int64_t t) {
  const double *key = at(Key, t, of.d);
  if (operands[ToResult]) {
    llvm::ArrayRef<double> arriving(at(ToResult, t, of.e), of.e);
    put(Query, t, scaled(of.times(before(t + 1), arriving), scale));
    of.add(slope.data(), at(Query, t, of.d), arriving, scale);
  }
  Reals state = decayed(t), added = news(t, state);
  Reals ofKey = of.times(slope.data(), scaled(added, gate(t)));
  Reals ofAdded = of.asked(slope.data(), key), ofNews = scaled(ofAdded, gate(t));
  if (isDelta) {
    double ofGate = 0;
    for (auto [x, y] : llvm::zip_equal(ofAdded, added))
      ofGate += x * y;
    if (operands[Beta])
      put(Beta, t, {ofGate});
    for (auto [x, known] : llvm::zip_equal(ofKey, of.times(state.data(), ofNews)))
      x -= known;
    of.add(slope.data(), key, ofNews, -1);
  }
  put(Key, t, ofKey);
  put(Value, t, ofNews);
  decayBack(t);
}

void LinearPasses::decayBack(int64_t t) {
  Reals ofDecay(numDecays(), 0);
  for (auto [i, x] : llvm::enumerate(slope)) {
    int64_t element = static_cast<int64_t>(i) / of.e;
    x *= decay(t, element);
    if (!ofDecay.empty())
      ofDecay[ofDecay.size() == 1 ? 0 : element] += x * before(t)[i];
  }
  put(Decay, t, ofDecay);
}

} // namespace

Evaluated LinearAttentionGradOp::evaluate(Operands operands) {
  LinearAttentionGradOp op = *this;
  if (mlir::failed(checkLinearGradient(op)) || !areAllKnown(op, operands))
    return std::nullopt;
  llvm::SmallVector<Tensor, 1> results;
  for (mlir::Value result : op->getResults())
    results.push_back(isAbsent(result) ? Tensor() : zeros(result.getType()));
  LinearPasses passes(op, operands, results);
  for (int64_t index = 0, count = passes.numHeads(); index < count; ++index)
    passes.run(index);
  return results;
}

} // namespace apc
