// Recurrent operators and their backward passes as scans over positions, in terms of any tensors with arithmetic.
#pragma once

#include "Cells.h"

#include "../Attributes.h"

#include <numeric>

namespace apc {

/// The states behind the last position, and what the positions gave, one behind the other.
template <typename T>
struct Scanned {
  llvm::SmallVector<T, 3> states, elements;
};

/// An operator whose tensors are made by `Source`, which has
///
///   T operand(unsigned index);      // in 32 bits at least; empty where it is absent
///   T first();                      // the first direction of the piece, i64 without dims; empty where all are there
///   T lengths();                    // of the sequences, i64 [b]; empty where they fill all positions
///   T integers(dims, values);       // a constant of i64
///   T zeros(dims);                  // of the type of the operands
///   Scanned<T> scan(count, isBackward, states, sequences, body); // body(states, elements) at each position
template <typename T, typename Source>
class Recurrence {
public:
  Recurrence(mlir::Operation *op, const RecurrentSizes &sizes, Source &source)
      : sizes(sizes), source(source), isReverse(stringAttribute(op, "direction", "forward") == "reverse"),
        first(source.first()), lengths(source.lengths()) {
    cell.cell = sizes.cell, cell.hidden = sizes.hidden, cell.directions = sizes.directions;
    cell.activations = activationsOf(op, sizes.cell);
    cell.linearBeforeReset = intAttribute(op, "linear_before_reset", 0) != 0;
    cell.inputForget = intAttribute(op, "input_forget", 0) != 0;
    if (auto clip = op->getAttrOfType<mlir::FloatAttr>("clip"))
      cell.clip = clip.getValueAsDouble();
    cell.zeros = zeroState();
    cell.r = source.operand(recurrent::R), cell.turned = flip(cell.r);
    T bias = source.operand(recurrent::B);
    if (bias)
      bias = reshape(bias, {sizes.directions, 1, 2 * sizes.rows()}),
      cell.bias = slice(bias, 2, sizes.rows(), 2 * sizes.rows());
    if (sizes.cell == Cell::Lstm)
      cell.peepholes = source.operand(recurrent::P);
    if (cell.peepholes)
      cell.peepholes = reshape(cell.peepholes, {sizes.directions, 1, sizes.peepholes()});
    if (first)
      cell.isSecond = compare(first, "GT", source.integers({}, {0}));
    findPlaces();
    readInput(bias);
  }

  /// The states at all positions, and those behind the last one.
  llvm::SmallVector<T, 5> run() {
    llvm::SmallVector<T, 3> initial = statesAt(recurrent::InitialH);
    Scanned<T> found = source.scan(sizes.positions, false, initial, inputs, [&](auto states, auto elements) {
      StateTensors<T> before = stateOf(states), after = stepOf(cell, elements[0], before).after;
      T shown = lengths ? where(elements[1], after.hidden) : after.hidden;
      return Scanned<T>{held(elements, after, before), {shown}};
    });
    llvm::SmallVector<T, 5> results = {sequence(found.elements[0])};
    for (T state : found.states)
      results.push_back(state3(state));
    return results;
  }

  /// The gradients as the operators of backward passes have them.
  llvm::SmallVector<T, 5> runBackward() {
    llvm::SmallVector<T, 6> sequences = forward();
    size_t numFixed = sequences.size();
    const unsigned arriving = recurrent::arrivingAt(sizes.cell); // at Y, Y_h and Y_c
    if (T atAll = source.operand(arriving))
      sequences.push_back(ordered(sizes.batchFirst ? transpose(atAll, {1, 2, 0, 3}) : atAll));
    llvm::SmallVector<T, 3> states = statesAt(arriving + 1);
    Scanned<T> found = source.scan(sizes.positions, true, states, sequences, [&](auto arrived, auto elements) {
      return reversePosition(arrived, elements, numFixed);
    });
    llvm::SmallVector<T, 6> given(found.elements.begin(), found.elements.end());
    T before = sequences[numFixed - numStates()];
    before = lengths ? where(sequences[1], before) : before;
    llvm::SmallVector<T, 5> results = {sequence(given[0]), sequence(before), state3(found.states[0])};
    if (sizes.cell == Cell::Gru) {
      results.push_back(cell.linearBeforeReset ? T() : sequence(given[1]));
      results.push_back(cell.linearBeforeReset ? sequence(given[1]) : T());
    } else if (sizes.cell == Cell::Lstm) {
      results.push_back(state3(found.states[1]));
      results.push_back(cell.peepholes ? sequence(given[1]) : T());
    }
    return results;
  }

private:
  size_t numStates() const { return sizes.cell == Cell::Lstm ? 2 : 1; }
  T zeroState() { return source.zeros({sizes.directions, sizes.batch, sizes.hidden}); }
  /// Between [d, b, h] and the op's order, which are one another's inverse.
  T state3(T state) { return sizes.batchFirst ? transpose(state, {1, 0, 2}) : state; }
  StateTensors<T> stateOf(llvm::ArrayRef<T> states) const { return {states[0], states.size() > 1 ? states[1] : T()}; }

  /// States in the operands from `index` on; zeros where one is absent.
  llvm::SmallVector<T, 3> statesAt(unsigned index) {
    llvm::SmallVector<T, 3> states;
    for (size_t i = 0; i < numStates(); ++i) {
      T given = source.operand(index + static_cast<unsigned>(i));
      states.push_back(given ? state3(given) : cell.zeros);
    }
    return states;
  }

  /// `after` at positions of a sequence, `before` behind its end.
  llvm::SmallVector<T, 3> held(llvm::ArrayRef<T> elements, const StateTensors<T> &after,
                               const StateTensors<T> &before) {
    auto choose = [&](T a, T b) { return lengths ? select(elements[1], a, b) : a; };
    llvm::SmallVector<T, 3> states = {choose(after.hidden, before.hidden)};
    if (numStates() > 1)
      states.push_back(choose(after.cell, before.cell));
    return states;
  }

  /// The input's sums, whether positions are inside, and the states before each position.
  llvm::SmallVector<T, 6> forward() {
    llvm::SmallVector<T, 3> initial = statesAt(recurrent::InitialH);
    Scanned<T> found = source.scan(sizes.positions, false, initial, inputs, [&](auto states, auto elements) {
      StateTensors<T> before = stateOf(states), after = stepOf(cell, elements[0], before).after;
      return Scanned<T>{held(elements, after, before), llvm::SmallVector<T, 3>(states)};
    });
    llvm::SmallVector<T, 6> sequences(inputs.begin(), inputs.end());
    sequences.append(found.elements.begin(), found.elements.end());
    return sequences;
  }

  Scanned<T> reversePosition(llvm::ArrayRef<T> arrived, llvm::ArrayRef<T> elements, size_t numFixed) {
    StateTensors<T> before = stateOf(elements.slice(numFixed - numStates(), numStates()));
    StateTensors<T> own = stateOf(arrived), with = own;
    if (elements.size() > numFixed)
      with.hidden = with.hidden + elements[numFixed];
    StepTensors<T> step = stepOf(cell, elements[0], before);
    SlopeTensors<T> slopes = reverseOf(cell, step, before, with);
    Scanned<T> found{held(elements, slopes.before, own), {slopes.gates}};
    if (sizes.cell == Cell::Gru)
      found.elements.push_back(cell.linearBeforeReset ? slopes.recurrent : step.reset);
    if (cell.peepholes)
      found.elements.push_back(joined<T>({before.cell, step.after.cell, before.cell}, 2));
    if (lengths)
      for (T &element : found.elements)
        element = where(elements[1], element);
    return found;
  }

  static llvm::SmallVector<int64_t> counted(int64_t count) {
    llvm::SmallVector<int64_t> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0);
    return values;
  }

  /// Where the position stands that a lane takes as number t, among all rows [s * d * b]; empty where slices will do.
  void findPlaces() {
    int64_t s = sizes.positions, d = sizes.directions, b = sizes.batch;
    bool mayTurn = first || isReverse || d > 1;
    if ((!lengths && !first) || !mayTurn)
      return;
    T position = source.integers({s, 1, 1}, counted(s)), direction = source.integers({1, d, 1}, counted(d));
    T last = (lengths ? reshape(lengths, {1, 1, b}) : source.integers({1, 1, 1}, {s})) - 1;
    T inside = compare(position, "LE", last), turned = select(inside, last - position, position);
    T place = turned;
    if (!isReverse) {
      T own = first ? direction + first : direction;
      place = select(compare(own, "EQ", source.integers({}, {1})), turned, position);
    }
    place =
        (place * static_cast<double>(d) + direction) * static_cast<double>(b) + source.integers({1, 1, b}, counted(b));
    places = reshape(place, {s * d * b});
  }

  /// A sequence [s, d, b, w] with its positions in the order of the lanes, or back.
  T ordered(T sequence) {
    int64_t s = sizes.positions, d = sizes.directions, b = sizes.batch, width = sequence.size(3);
    if (places)
      return reshape(take(reshape(sequence, {s * d * b, width}), places, 0), {s, d, b, width});
    if (isReverse)
      return reverse(sequence, {0});
    if (d == 1)
      return sequence;
    return joined<T>({slice(sequence, 1, 0, 1), reverse(slice(sequence, 1, 1, 2), {0})}, 1);
  }
  T sequence(T lanes) {
    T found = ordered(lanes);
    return sizes.batchFirst ? transpose(found, {2, 0, 1, 3}) : found;
  }

  void readInput(T bias) {
    T x = source.operand(recurrent::X), w = source.operand(recurrent::W);
    x = sizes.batchFirst ? transpose(x, {1, 0, 2}) : x;
    x = reshape(x, {sizes.positions, 1, sizes.batch, sizes.inputs});
    T sums = matmul(x, reshape(flip(w), {1, sizes.directions, sizes.inputs, sizes.rows()}));
    if (bias)
      sums = sums + reshape(slice(bias, 2, 0, sizes.rows()), {1, sizes.directions, 1, sizes.rows()});
    inputs = {ordered(sums)};
    if (lengths)
      inputs.push_back(compare(source.integers({sizes.positions, 1, 1, 1}, counted(sizes.positions)), "LT",
                               reshape(lengths, {1, 1, sizes.batch, 1})));
  }

  const RecurrentSizes &sizes;
  Source &source;
  bool isReverse;
  T first, lengths, places;
  CellTensors<T> cell;
  llvm::SmallVector<T, 2> inputs; ///< W x + Wb, and whether positions are inside of sequences
};

} // namespace apc
