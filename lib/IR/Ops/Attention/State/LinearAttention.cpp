// Operators that carry a state of fixed size along the positions: linear attention and causal convolution.
#include "apc/IR/Ops/Attention/Attention.h"

#include "../../Attributes.h"
#include "../../Elementwise/Activation.h"
#include "../Kernels.h"
#include "States.h"
#include "apc/IR/RuleBuilder.h"

#include <cmath>

namespace apc {

/// Decay has one value for each key head, for each element of its keys, or one for all; beta none for elements.
static mlir::LogicalResult checkGates(LinearAttentionOp op, const LinearSizes &sizes) {
  for (unsigned gate : {Decay, Beta}) {
    if (isAbsent(op->getOperand(gate)))
      continue;
    if (mlir::failed(checkDims(op, gate, {sizes.batch, sizes.positions, -1})))
      return mlir::failure();
    int64_t found = dimsOf(op->getOperand(gate))[2], ofElements = sizes.keyHeads * sizes.keySize;
    if (found != 1 && found != sizes.keyHeads && (gate != Decay || found != ofElements))
      return op->emitOpError() << "operand '" << operandName(op, gate) << "' has " << found
                               << " values for a position; accepted are 1, " << sizes.keyHeads
                               << (gate == Decay ? ", " + std::to_string(ofElements) : "");
  }
  return mlir::success();
}

mlir::FailureOr<LinearSizes> readLinear(LinearAttentionOp op) {
  if (mlir::failed(checkExtents(op)) || mlir::failed(checkDims(op, Query, {-1, -1, -1})) ||
      mlir::failed(checkDims(op, Key, {-1, -1, -1})) || mlir::failed(checkDims(op, Value, {-1, -1, -1})))
    return mlir::failure();
  llvm::ArrayRef<int64_t> query = dimsOf(op->getOperand(Query));
  LinearSizes sizes{query[0], query[1], 1, 1, 1, 1};
  sizes.queryHeads = op.getQNumHeads();
  sizes.keyHeads = op.getKvNumHeads();
  auto keySize = divide(op, query[2], sizes.queryHeads, "'q_num_heads'");
  auto valueSize = divide(op, dimsOf(op->getOperand(Value))[2], sizes.keyHeads, "'kv_num_heads'");
  if (mlir::failed(keySize) || mlir::failed(valueSize))
    return mlir::failure();
  sizes.keySize = *keySize;
  sizes.valueSize = *valueSize;
  if (sizes.resultHeads() % std::min(sizes.queryHeads, sizes.keyHeads) != 0)
    return op->emitOpError() << "'q_num_heads' is " << sizes.queryHeads << " and 'kv_num_heads' " << sizes.keyHeads
                             << "; one must be a multiple of the other",
           mlir::failure();
  if (mlir::failed(checkDims(op, Key, {sizes.batch, sizes.positions, sizes.keyHeads * sizes.keySize})) ||
      mlir::failed(checkDims(op, Value, {sizes.batch, sizes.positions, -1})) ||
      mlir::failed(checkDims(op, PastState, {sizes.batch, sizes.keyHeads, sizes.keySize, sizes.valueSize})) ||
      mlir::failed(checkGates(op, sizes)))
    return mlir::failure();
  return sizes;
}

double linearScale(mlir::Operation *op, const LinearSizes &sizes) {
  double scale = floatAttribute(op, "scale", 0);
  return scale == 0 ? 1 / std::sqrt(static_cast<double>(sizes.keySize)) : scale;
}

namespace {

mlir::Type stateElement(mlir::Operation *op) {
  return operandElement(op, isAbsent(op->getOperand(PastState)) ? Query : PastState);
}

/// One value for each key head, for each element of its keys, or one for all.
DimFactors gateFactors(FactorRuleBuilder &builder, mlir::Value gate, const LinearSizes &sizes, const DimFactors &heads,
                       const DimFactors &size, llvm::StringRef name) {
  if (isAbsent(gate))
    return {};
  int64_t found = dimsOf(gate)[2];
  DimFactors all = heads;
  all.append(size);
  if (found == sizes.keyHeads)
    return heads;
  return found == sizes.keyHeads * sizes.keySize ? all : DimFactors{builder.addWhole(name, found)};
}

} // namespace

mlir::FailureOr<ConvolutionOfState> readCausal(CausalConvWithStateOp op) {
  if (op.getChannelsLast() != 0 || op.getNdim() != 1)
    return op->emitOpError()
               << "is known with operands [batch, channels, positions] only; 'channels_last' 0 and 'ndim' "
                  "1 are needed",
           mlir::failure();
  if (mlir::failed(checkDims(op, 0, {-1, -1, -1})) || mlir::failed(checkDims(op, 1, {-1, 1, -1})))
    return mlir::failure();
  llvm::ArrayRef<int64_t> input = dimsOf(op->getOperand(0)), weight = dimsOf(op->getOperand(1));
  int64_t dilation = op.getDilation();
  if (weight[2] < 1 || weight[2] >= int64_t(1) << 31 || dilation < 1 || dilation >= int64_t(1) << 31)
    return op->emitOpError() << "has a kernel of " << weight[2] << " with dilation " << dilation
                             << "; each is at least 1 and less than 2^31",
           mlir::failure();
  ConvolutionOfState sizes{input[0], input[1], input[2], weight[2], (weight[2] - 1) * dilation};
  if (mlir::failed(checkDims(op, 1, {sizes.channels, 1, sizes.kernel})) ||
      mlir::failed(checkDims(op, 2, {sizes.channels})) ||
      mlir::failed(checkDims(op, 3, {sizes.batch, sizes.channels, sizes.kept})))
    return mlir::failure();
  return sizes;
}

mlir::LogicalResult LinearAttentionOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  LinearAttentionOp op = *this;
  auto sizes = readLinear(op);
  if (mlir::failed(sizes) ||
      mlir::failed(addType(op, {sizes->batch, sizes->positions, sizes->resultHeads() * sizes->valueSize},
                           operandElement(op, Query), types)))
    return mlir::failure();
  return addType(op, {sizes->batch, sizes->keyHeads, sizes->keySize, sizes->valueSize}, stateElement(op), types);
}

// `b !t (kv g !d), b !t (kv !d), b !t (kv !e), b kv !d !e -> b !t (kv g !e), b kv !d !e`.
mlir::FailureOr<FactorRule> LinearAttentionOp::getRule() {
  LinearAttentionOp op = *this;
  auto sizes = readLinear(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  DimFactors batch = {builder.addFactor("b", sizes->batch)}, positions = {builder.addWhole("t", sizes->positions)};
  int64_t common = std::min(sizes->queryHeads, sizes->keyHeads), group = sizes->resultHeads() / common;
  DimFactors few, many;
  if (common != 1 || group == 1)
    few = {builder.addFactor("kv", common)};
  many = few;
  if (group != 1)
    many.push_back(builder.addFactor("g", group));
  const DimFactors &queryHeads = sizes->queryHeads == common ? few : many;
  const DimFactors &keyHeads = sizes->keyHeads == common ? few : many;
  DimFactors keySize = {builder.addWhole("d", sizes->keySize)}, valueSize = {builder.addWhole("e", sizes->valueSize)};
  auto flat = [](DimFactors heads, const DimFactors &size) {
    heads.append(size);
    return heads;
  };
  llvm::SmallVector<DimFactors, 4> state = {batch, keyHeads, keySize, valueSize};
  addOperand(builder, op->getOperand(Query), {batch, positions, flat(queryHeads, keySize)});
  addOperand(builder, op->getOperand(Key), {batch, positions, flat(keyHeads, keySize)});
  addOperand(builder, op->getOperand(Value), {batch, positions, flat(keyHeads, valueSize)});
  addOperand(builder, op->getOperand(PastState), state);
  for (unsigned gate : {Decay, Beta}) {
    mlir::Value value = op->getOperand(gate);
    addOperand(
        builder, value,
        {batch, positions, gateFactors(builder, value, *sizes, keyHeads, keySize, gate == Decay ? "decay" : "beta")});
  }
  addResult(builder, op->getResult(0), {batch, positions, flat(many, valueSize)});
  addResult(builder, op->getResult(1), state);
  builder.setWork(Work::Contraction);
  FactorRule rule = builder.take();
  // Each position adds k v' to the state and asks it with q; a delta rule first asks it with k.
  bool delta = getUpdateRule().contains("delta");
  double products = double(sizes->resultHeads()) + double(sizes->keyHeads) * (delta ? 2 : 1);
  setFlops(rule, 2.0 * double(sizes->batch) * double(sizes->positions) * products * double(sizes->keySize) *
                     double(sizes->valueSize));
  return rule;
}

mlir::LogicalResult CausalConvWithStateOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  CausalConvWithStateOp op = *this;
  auto sizes = readCausal(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  types.push_back(op->getOperand(0).getType());
  return addType(op, {sizes->batch, sizes->channels, sizes->kept}, operandElement(op, 0), types);
}

// `b c !s, c _ !k, c, b c !p -> b c !s, b c !p`.
mlir::FailureOr<FactorRule> CausalConvWithStateOp::getRule() {
  CausalConvWithStateOp op = *this;
  auto sizes = readCausal(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  DimFactors batch = {builder.addFactor("b", sizes->batch)}, channels = {builder.addFactor("c", sizes->channels)};
  DimFactors positions = {builder.addWhole("s", sizes->positions)}, kernel = {builder.addWhole("k", sizes->kernel)};
  // A kernel of 1 keeps nothing; a factor of size 0 would leave the loop nest without points.
  DimFactors kept;
  if (sizes->kept > 0)
    kept = {builder.addWhole("p", sizes->kept)};
  addOperand(builder, op->getOperand(0), {batch, channels, positions});
  addOperand(builder, op->getOperand(1), {channels, {}, kernel});
  addOperand(builder, op->getOperand(2), {channels});
  addOperand(builder, op->getOperand(3), {batch, channels, kept});
  addResult(builder, op->getResult(0), {batch, channels, positions});
  addResult(builder, op->getResult(1), {batch, channels, kept});
  FactorRule rule = builder.take();
  setFlops(rule,
           2.0 * double(sizes->batch) * double(sizes->channels) * double(sizes->positions) * double(sizes->kernel));
  return rule;
}

namespace {

/// One gate [b, positions, heads | heads * size | 1] at a position, head and element of the key; `otherwise` when
/// absent.
double gateAt(const Tensor *gate, const LinearSizes &sizes, int64_t row, int64_t head, int64_t element,
              double otherwise) {
  if (!gate)
    return otherwise;
  int64_t found = gate->dims[2], at = found == sizes.keyHeads ? head : found == 1 ? 0 : head * sizes.keySize + element;
  return gate->floats[row * found + at];
}

/// One head's matrix [key size, value size] while positions pass by.
class LinearState {
public:
  LinearState(const LinearSizes &sizes, double *state)
      : keySize(sizes.keySize), valueSize(sizes.valueSize), state(state) {}

  void decay(int64_t element, double factor) {
    for (int64_t e = 0; e < valueSize; ++e)
      state[element * valueSize + e] *= factor;
  }
  /// S' k.
  std::vector<double> ask(const double *key) const {
    std::vector<double> answer(valueSize, 0);
    for (int64_t d = 0; d < keySize; ++d)
      for (int64_t e = 0; e < valueSize; ++e)
        answer[e] += key[d] * state[d * valueSize + e];
    return answer;
  }
  void add(const double *key, llvm::ArrayRef<double> value) {
    for (int64_t d = 0; d < keySize; ++d)
      for (int64_t e = 0; e < valueSize; ++e)
        state[d * valueSize + e] += key[d] * value[e];
  }

private:
  int64_t keySize, valueSize;
  double *state;
};

/// The operands of one key head at one position (row = batch * positions + position).
struct LinearStep {
  const LinearSizes &sizes;
  Operands operands;
  bool isDelta;
  int64_t row, head;

  /// A head's elements of an operand whose rows have `heads` heads of `size` elements.
  const double *at(LinearOperand operand, int64_t heads, int64_t head, int64_t size) const {
    return operands[operand]->floats.data() + (row * heads + head) * size;
  }
  void update(LinearState &state) const {
    const double *key = at(Key, sizes.keyHeads, head, sizes.keySize),
                 *given = at(Value, sizes.keyHeads, head, sizes.valueSize);
    for (int64_t d = 0; operands[Decay] && d < sizes.keySize; ++d)
      state.decay(d, std::exp(gateAt(operands[Decay], sizes, row, head, d, 0)));
    std::vector<double> value(given, given + sizes.valueSize);
    if (isDelta)
      for (auto [v, known] : llvm::zip_equal(value, state.ask(key)))
        v = gateAt(operands[Beta], sizes, row, head, 0, 1) * (v - known);
    state.add(key, value);
  }
  /// The results of the query heads that share this key head, or of this one where several key heads share a query.
  void answer(const LinearState &state, double scale, Tensor &output) const {
    int64_t perKey = sizes.queryHeads / sizes.keyHeads, perQuery = sizes.keyHeads / sizes.queryHeads;
    for (int64_t i = 0; i < std::max<int64_t>(1, perKey); ++i) {
      int64_t query = perKey > 0 ? head * perKey + i : head / perQuery, result = perKey > 0 ? query : head;
      for (auto [e, x] : llvm::enumerate(state.ask(at(Query, sizes.queryHeads, query, sizes.keySize))))
        output.floats[(row * sizes.resultHeads() + result) * sizes.valueSize + static_cast<int64_t>(e)] = scale * x;
    }
  }
};

} // namespace

// S <- exp(decay) S; v <- beta (v - S' k) under a delta rule; S <- S + k v'; result: scale S' q.
Evaluated LinearAttentionOp::evaluate(Operands operands) {
  LinearAttentionOp op = *this;
  auto sizes = readLinear(op);
  if (mlir::failed(sizes) || !areAllKnown(op, operands))
    return std::nullopt;
  bool isDelta = getUpdateRule().contains("delta");
  double scale = linearScale(op, *sizes);
  Tensor output = zeros(op->getResult(0).getType()), state;
  state.element = stateElement(op);
  state.dims = {sizes->batch, sizes->keyHeads, sizes->keySize, sizes->valueSize};
  state.floats.resize(state.numElements());
  if (operands[PastState])
    state.floats = operands[PastState]->floats;
  for (int64_t row = 0, rows = sizes->batch * sizes->positions; row < rows; ++row)
    for (int64_t head = 0; head < sizes->keyHeads; ++head) {
      int64_t index = row / sizes->positions * sizes->keyHeads + head;
      LinearState matrix(*sizes, state.floats.data() + index * sizes->keySize * sizes->valueSize);
      LinearStep step{*sizes, operands, isDelta, row, head};
      step.update(matrix);
      step.answer(matrix, scale, output);
    }
  return llvm::SmallVector<Tensor, 1>{std::move(output), resultOrNone(op, 1, std::move(state))};
}

void LinearAttentionOp::localize(LocalOp &local) {
  auto sizes = readLinear(*this);
  if (mlir::failed(sizes))
    return;
  int64_t few = localHeads(local, {"kv"}), many = localHeads(local, {"kv", "g"});
  int64_t common = std::min(sizes->queryHeads, sizes->keyHeads);
  local.setInt("q_num_heads", sizes->queryHeads == common ? few : many);
  local.setInt("kv_num_heads", sizes->keyHeads == common ? few : many);
}

// Position s of the result is sum over i of weight[i] x[s + i * dilation], where x is the input behind the past.
Evaluated CausalConvWithStateOp::evaluate(Operands operands) {
  CausalConvWithStateOp op = *this;
  auto sizes = readCausal(op);
  if (mlir::failed(sizes) || !areAllKnown(op, operands))
    return std::nullopt;
  Activation activation{getActivation(), {}, {}, {}};
  int64_t dilation = getDilation(), length = sizes->kept + sizes->positions;
  Tensor output = zeros(op->getResult(0).getType()), present;
  present.element = output.element;
  present.dims = {sizes->batch, sizes->channels, sizes->kept};
  for (int64_t line = 0, lines = sizes->batch * sizes->channels; line < lines; ++line) {
    int64_t channel = line % sizes->channels;
    std::vector<double> x(sizes->kept, 0);
    if (operands[3])
      x.assign(operands[3]->floats.begin() + line * sizes->kept,
               operands[3]->floats.begin() + (line + 1) * sizes->kept);
    auto first = operands[0]->floats.begin() + line * sizes->positions;
    x.insert(x.end(), first, first + sizes->positions);
    for (int64_t position = 0; position < sizes->positions; ++position) {
      double sum = operands[2] ? operands[2]->floats[channel] : 0;
      for (int64_t i = 0; i < sizes->kernel; ++i)
        sum += operands[1]->floats[channel * sizes->kernel + i] * x[position + i * dilation];
      auto activated = activation.at(sum);
      if (!activated)
        return std::nullopt;
      output.floats[line * sizes->positions + position] = *activated;
    }
    present.floats.insert(present.floats.end(), x.begin() + (length - sizes->kept), x.end());
  }
  return llvm::SmallVector<Tensor, 1>{std::move(output), resultOrNone(op, 1, std::move(present))};
}

} // namespace apc
