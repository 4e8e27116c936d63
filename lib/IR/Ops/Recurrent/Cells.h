// The recurrent cells on all lanes at once, forward and backward, in terms of any tensors with arithmetic: `T` is a
// tensor of StableHLO, or of a form in ONNX.
#pragma once

#include "Sizes.h"

#include "apc/IR/Hlo/Hlo.h"

#include "llvm/ADT/StringSwitch.h"

namespace apc {

// The functions below are those of `hlo`, or stand beside another `T`.
using namespace hlo;

template <typename T>
T where(T condition, T a) {
  return select(condition, a, filled(a, 0));
}

/// Tensors one behind the other in a dim.
template <typename T>
T joined(std::initializer_list<T> parts, unsigned dim) {
  return concat(llvm::ArrayRef<T>(parts), dim);
}

/// Activation of elements, or its derivative; `affine` where the name is none of the others.
template <typename T>
T activated(const Activation &function, T x, bool isSlope) {
  double alpha = function.alpha.value_or(1), beta = function.beta.value_or(1);
  std::string name = function.name.lower();
  auto line = [&](double a, double b) { return x * a + b; };
  auto either = [&](T condition, T a, T b) { return select(condition, a, b); };
  T one = filled(x, 1), zero = filled(x, 0);
  if (name == "tanh")
    return isSlope ? 1 - square(tanh(x)) : tanh(x);
  if (name == "sigmoid")
    return isSlope ? sigmoid(x) * (1 - sigmoid(x)) : sigmoid(x);
  if (name == "relu")
    return where(compare(x, "GT", zero), isSlope ? one : x);
  if (name == "thresholdedrelu")
    return where(compare(x, "GT", filled(x, alpha)), isSlope ? one : x);
  if (name == "leakyrelu") {
    alpha = function.alpha.value_or(0.01);
    return either(compare(x, "LT", zero), isSlope ? filled(x, alpha) : x * alpha, isSlope ? one : x);
  }
  if (name == "elu")
    return either(compare(x, "GT", zero), isSlope ? one : x, isSlope ? exp(x) * alpha : (exp(x) - 1) * alpha);
  if (name == "scaledtanh") {
    T inner = tanh(x * beta);
    return isSlope ? (1 - square(inner)) * (alpha * beta) : inner * alpha;
  }
  if (name == "hardsigmoid") {
    alpha = function.alpha.value_or(0.2);
    T y = line(alpha, function.beta.value_or(0.5));
    return isSlope ? where(compare(y, "GT", zero), where(compare(y, "LT", one), filled(x, alpha)))
                   : min(max(y, zero), one);
  }
  if (name == "softplus")
    return isSlope ? sigmoid(x) : max(x, zero) + log(exp(-abs(x)) + 1);
  if (name == "softsign")
    return isSlope ? one / square(abs(x) + 1) : x / (abs(x) + 1);
  // Affine; the slope has the dims of x.
  return isSlope ? where(compare(x, "EQ", x), filled(x, alpha)) : line(alpha, function.beta.value_or(0));
}

/// The tensors and settings that all positions share. Tensors have directions in front: sums of gates are [d, b, gates
/// * h].
template <typename T>
struct CellTensors {
  Cell cell;
  int64_t hidden;
  T r, turned;                                  ///< [d, gates * h, h], and with the last two dims exchanged
  T bias;                                       ///< of the state, [d, 1, gates * h]; empty where there is none
  T peepholes;                                  ///< [d, 1, 3 * h]; empty where there are none
  llvm::SmallVector<Activation, 6> activations; ///< of all directions
  int64_t directions;                           ///< that the piece holds
  T zeros;                                      ///< of a state's dims
  T isSecond; ///< whether the piece holds the second direction; empty where both, or the first, are there
  std::optional<double> clip;
  bool linearBeforeReset, inputForget;

  /// R state + Rb for the gates [first, last).
  T product(T state, int64_t first, int64_t last) const {
    T sums = matmul(state, slice(turned, 2, first * hidden, last * hidden));
    return bias ? sums + slice(bias, 2, first * hidden, last * hidden) : sums;
  }
  /// R' slopes, of the gates [first, last).
  T productBack(T slopes, int64_t first, int64_t last) const {
    return matmul(slice(slopes, 2, first * hidden, last * hidden), slice(r, 1, first * hidden, last * hidden));
  }
  T gate(T sums, int64_t number) const { return slice(sums, 2, number * hidden, (number + 1) * hidden); }
  T peephole(int64_t number) const { return slice(peepholes, 2, number * hidden, (number + 1) * hidden); }

  /// Activation `number` (f, g, h) of a gate's sums, or its derivative.
  T activate(size_t number, T sums, bool isSlope = false) const {
    T inside = clip ? min(max(sums, filled(sums, -*clip)), filled(sums, *clip)) : sums;
    T result = unclipped(number, inside, isSlope);
    return clip && isSlope ? where(compare(abs(sums), "LE", filled(sums, *clip)), result) : result;
  }
  T slope(size_t number, T sums) const { return activate(number, sums, /*isSlope=*/true); }
  T unclipped(size_t number, T x, bool isSlope = false) const {
    size_t each = cell == Cell::Lstm ? 3 : cell == Cell::Gru ? 2 : 1;
    auto of = [&](size_t direction, T part) {
      return activated(activations[direction * each + number], part, isSlope);
    };
    bool hasTwo = activations.size() > each;
    if (!hasTwo || isSame(activations[number], activations[each + number]))
      return of(0, x);
    if (isSecond)
      return select(isSecond, of(1, x), of(0, x));
    return joined<T>({of(0, slice(x, 0, 0, 1)), of(1, slice(x, 0, 1, 2))}, 0);
  }

private:
  static bool isSame(const Activation &a, const Activation &b) {
    return a.name.equals_insensitive(b.name) && a.alpha == b.alpha && a.beta == b.beta;
  }
};

/// The state of all lanes, [d, b, h]; the cell is that of an Lstm.
template <typename T>
struct StateTensors {
  T hidden, cell;
};

/// One position: the sums that enter the activations, by gate, the gates, and the state behind it.
template <typename T>
struct StepTensors {
  llvm::SmallVector<T, 4> sums, gates;
  T reset; ///< Gru: r H', or R H' + Rb of the third gate where the reset comes behind it
  StateTensors<T> after;
};

/// The gradients of one position: of the gates' sums, of what the state adds to them, and of the state before.
template <typename T>
struct SlopeTensors {
  T gates, recurrent;
  StateTensors<T> before;
};

template <typename T>
StepTensors<T> stepOfGru(const CellTensors<T> &cell, T input, T state) {
  int64_t hidden = cell.hidden;
  StepTensors<T> step;
  T both = slice(input, 2, 0, 2 * hidden) + cell.product(state, 0, 2), last = slice(input, 2, 2 * hidden, 3 * hidden);
  T update = cell.activate(0, cell.gate(both, 0)), reset = cell.activate(0, cell.gate(both, 1));
  step.reset = cell.linearBeforeReset ? cell.product(state, 2, 3) : reset * state;
  last = last + (cell.linearBeforeReset ? reset * step.reset : cell.product(step.reset, 2, 3));
  T fresh = cell.activate(1, last);
  step.sums = {cell.gate(both, 0), cell.gate(both, 1), last};
  step.gates = {update, reset, fresh};
  step.after.hidden = (1 - update) * fresh + update * state;
  return step;
}

template <typename T>
StepTensors<T> stepOfLstm(const CellTensors<T> &cell, T input, const StateTensors<T> &state) {
  StepTensors<T> step;
  T all = input + cell.product(state.hidden, 0, 4);
  for (int64_t gate = 0; gate < 4; ++gate)
    step.sums.push_back(cell.gate(all, gate));
  if (cell.peepholes) {
    step.sums[0] = step.sums[0] + cell.peephole(0) * state.cell;
    step.sums[2] = step.sums[2] + cell.peephole(2) * state.cell;
  }
  T in = cell.activate(0, step.sums[0]), candidate = cell.activate(1, step.sums[3]);
  T forget = cell.inputForget ? 1 - in : cell.activate(0, step.sums[2]);
  step.after.cell = forget * state.cell + in * candidate;
  if (cell.peepholes)
    step.sums[1] = step.sums[1] + cell.peephole(1) * step.after.cell;
  T out = cell.activate(0, step.sums[1]);
  step.gates = {in, out, forget, candidate};
  step.after.hidden = out * cell.unclipped(2, step.after.cell);
  return step;
}

/// One position; `input`: W x + Wb.
template <typename T>
StepTensors<T> stepOf(const CellTensors<T> &cell, T input, const StateTensors<T> &state) {
  if (cell.cell == Cell::Gru)
    return stepOfGru(cell, input, state.hidden);
  if (cell.cell == Cell::Lstm)
    return stepOfLstm(cell, input, state);
  StepTensors<T> step;
  step.sums = {input + cell.product(state.hidden, 0, 1)};
  step.after.hidden = cell.activate(0, step.sums[0]);
  return step;
}

template <typename T>
SlopeTensors<T> reverseOfGru(const CellTensors<T> &cell, const StepTensors<T> &step, T state, T arriving) {
  T update = step.gates[0], reset = step.gates[1], fresh = step.gates[2];
  T ofFresh = arriving * (1 - update) * cell.slope(1, step.sums[2]);
  T ofUpdate = arriving * (state - fresh) * cell.slope(0, step.sums[0]);
  T before = arriving * update, ofReset, recurrent = ofFresh;
  if (cell.linearBeforeReset) {
    ofReset = ofFresh * step.reset, recurrent = ofFresh * reset;
  } else {
    T ofProduct = matmul(ofFresh, slice(cell.r, 1, 2 * cell.hidden, 3 * cell.hidden));
    before = before + ofProduct * reset, ofReset = ofProduct * state;
  }
  ofReset = ofReset * cell.slope(0, step.sums[1]);
  T added = joined<T>({ofUpdate, ofReset, recurrent}, 2);
  before = before + cell.productBack(added, 0, cell.linearBeforeReset ? 3 : 2);
  return {joined<T>({ofUpdate, ofReset, ofFresh}, 2), added, {before, T()}};
}

template <typename T>
SlopeTensors<T> reverseOfLstm(const CellTensors<T> &cell, const StepTensors<T> &step, const StateTensors<T> &state,
                              const StateTensors<T> &arriving) {
  T in = step.gates[0], out = step.gates[1], forget = step.gates[2], candidate = step.gates[3];
  T after = step.after.cell;
  T ofOut = arriving.hidden * cell.unclipped(2, after) * cell.slope(0, step.sums[1]);
  T ofCell = arriving.cell + arriving.hidden * out * cell.unclipped(2, after, /*isSlope=*/true);
  if (cell.peepholes)
    ofCell = ofCell + cell.peephole(1) * ofOut;
  T ofIn = ofCell * candidate, ofForget = ofCell * state.cell;
  if (cell.inputForget)
    ofIn = ofIn - ofForget;
  ofIn = ofIn * cell.slope(0, step.sums[0]);
  ofForget = cell.inputForget ? cell.zeros : ofForget * cell.slope(0, step.sums[2]);
  T ofCandidate = ofCell * in * cell.slope(1, step.sums[3]), before = ofCell * forget;
  if (cell.peepholes)
    before = before + cell.peephole(0) * ofIn + cell.peephole(2) * ofForget;
  T gates = joined<T>({ofIn, ofOut, ofForget, ofCandidate}, 2);
  return {gates, gates, {cell.productBack(gates, 0, 4), before}};
}

/// The reverse of a position, from the gradient of the state behind it.
template <typename T>
SlopeTensors<T> reverseOf(const CellTensors<T> &cell, const StepTensors<T> &step, const StateTensors<T> &state,
                          const StateTensors<T> &arriving) {
  if (cell.cell == Cell::Gru)
    return reverseOfGru(cell, step, state.hidden, arriving.hidden);
  if (cell.cell == Cell::Lstm)
    return reverseOfLstm(cell, step, state, arriving);
  T gates = arriving.hidden * cell.slope(0, step.sums[0]);
  return {gates, gates, {cell.productBack(gates, 0, 1), T()}};
}

} // namespace apc
