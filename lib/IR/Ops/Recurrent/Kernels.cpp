// Kernels of recurrent operators and of their backward passes: all lanes, one after the other.
#include "../HeldSpan.h"
#include "Lane.h"

#include "apc/IR/Kernels/Evaluate.h"

namespace apc {

using namespace recurrent;

namespace {

const double *rowOf(const Tensor *tensor, int64_t row, int64_t width) {
  return tensor ? tensor->floats.data() + row * width : nullptr;
}

void putRow(Tensor &tensor, int64_t row, const Units &values) {
  if (tensor.element)
    llvm::copy(values, tensor.floats.begin() + row * static_cast<int64_t>(values.size()));
}

void addRow(const Tensor *tensor, int64_t row, Units &values) {
  if (const double *from = rowOf(tensor, row, static_cast<int64_t>(values.size())))
    for (double &value : values)
      value += *from++;
}

/// The op's operands and attributes, lane by lane.
class Lanes {
public:
  Lanes(mlir::Operation *op, Operands operands, const RecurrentSizes &sizes)
      : op(op), operands(operands), sizes(sizes), activations(activationsOf(op, sizes.cell)),
        isReverse(op->getAttrOfType<mlir::StringAttr>("direction") &&
                  op->getAttrOfType<mlir::StringAttr>("direction").getValue() == "reverse") {}

  /// False for operands that are not known, or whose numbers do not fit.
  bool read() {
    for (unsigned i = 0; i < operands.size(); ++i)
      if (!operands[i] && !isAbsent(op->getOperand(i)))
        return false;
    unsigned declared = llvm::cast<OperatorInterface>(op).getNumDeclaredOperands();
    if (operands.size() > declared) {
      auto held = HeldSpan::read(operands[declared]);
      if (!held)
        return false;
      first = held->begin;
    }
    auto fits = [&](int64_t length) { return length >= 0 && length <= sizes.positions; };
    return !operands[Lengths] || llvm::all_of(operands[Lengths]->ints, fits);
  }

  LaneCell cell(int64_t direction) const {
    size_t each = sizes.cell == Cell::Lstm ? 3 : sizes.cell == Cell::Gru ? 2 : 1;
    size_t begin = std::min(static_cast<size_t>(first + direction) * each, activations.size() - each);
    const Tensor *peepholes = sizes.cell == Cell::Lstm ? operands[P] : nullptr;
    LaneCell cell{sizes,
                  {rowOf(operands[W], direction, sizes.rows() * sizes.inputs),
                   rowOf(operands[R], direction, sizes.rows() * sizes.hidden),
                   rowOf(operands[B], direction, 2 * sizes.rows()), rowOf(peepholes, direction, sizes.peepholes())},
                  llvm::ArrayRef(activations).slice(begin, each)};
    if (auto clip = op->getAttrOfType<mlir::FloatAttr>("clip"))
      cell.clip = clip.getValueAsDouble();
    cell.linearBeforeReset = isSet("linear_before_reset");
    cell.inputForget = isSet("input_forget");
    return cell;
  }

  LaneState initial(int64_t direction, int64_t element) const {
    LaneState state{Units(sizes.hidden, 0), Units(sizes.hidden, 0)};
    int64_t row = sizes.stateRow(direction, element);
    addRow(operands[InitialH], row, state.hidden);
    if (sizes.cell == Cell::Lstm)
      addRow(operands[InitialC], row, state.cell);
    return state;
  }
  int64_t length(int64_t element) const {
    return operands[Lengths] ? operands[Lengths]->ints[element] : sizes.positions;
  }
  /// The position that comes as number `index`; the second of two directions is backward.
  int64_t position(int64_t direction, int64_t element, int64_t index) const {
    return isReverse || first + direction == 1 ? length(element) - 1 - index : index;
  }
  const double *input(int64_t position, int64_t element) const {
    return rowOf(operands[X], sizes.inputRow(position, element), sizes.inputs);
  }

private:
  bool isSet(llvm::StringRef name) const {
    auto attribute = op->getAttrOfType<mlir::IntegerAttr>(name);
    return attribute && attribute.getInt() != 0;
  }

  mlir::Operation *op;
  Operands operands;
  const RecurrentSizes &sizes;
  llvm::SmallVector<Activation, 6> activations;
  bool isReverse;
  int64_t first = 0; ///< the direction that the piece begins with
};

/// Zeros for all results that are wanted.
llvm::SmallVector<Tensor, 1> resultsOf(mlir::Operation *op) {
  llvm::SmallVector<Tensor, 1> results;
  for (mlir::Value result : op->getResults())
    results.push_back(isAbsent(result) ? Tensor() : zeros(result.getType()));
  return results;
}

/// Calls `visit` for each direction and batch element.
template <typename Visit>
void forEachLane(const RecurrentSizes &sizes, Visit visit) {
  for (int64_t direction = 0; direction < sizes.directions; ++direction)
    for (int64_t element = 0; element < sizes.batch; ++element)
      visit(direction, element);
}

/// One lane of a backward pass: its steps again, then in reverse.
class ReversedLane {
public:
  ReversedLane(const Lanes &lanes, const RecurrentSizes &sizes, int64_t direction, int64_t element)
      : lanes(lanes), sizes(sizes), cell(lanes.cell(direction)), direction(direction), element(element) {
    LaneState state = lanes.initial(direction, element);
    for (int64_t index = 0; index < lanes.length(element); ++index) {
      steps.push_back(runStep(cell, lanes.input(lanes.position(direction, element, index), element), state));
      state = steps.back().after;
    }
  }

  void reverse(Operands arriving, llvm::SmallVectorImpl<Tensor> &results) const {
    LaneState state{Units(sizes.hidden, 0), Units(sizes.hidden, 0)};
    int64_t stateRow = sizes.stateRow(direction, element);
    addRow(arriving[1], stateRow, state.hidden);
    if (sizes.cell == Cell::Lstm)
      addRow(arriving[2], stateRow, state.cell);
    for (int64_t index = static_cast<int64_t>(steps.size()) - 1; index >= 0; --index) {
      int64_t row = sizes.sequenceRow(lanes.position(direction, element, index), direction, element);
      addRow(arriving[0], row, state.hidden);
      LaneSlopes slopes = reverseStep(cell, steps[index], state);
      putStep(steps[index], slopes, row, results);
      state = slopes.before;
    }
    putRow(results[2], stateRow, state.hidden);
    if (sizes.cell == Cell::Lstm)
      putRow(results[3], stateRow, state.cell);
  }

private:
  void putStep(const LaneStep &step, const LaneSlopes &slopes, int64_t row,
               llvm::SmallVectorImpl<Tensor> &results) const {
    putRow(results[0], row, slopes.gates);
    putRow(results[1], row, step.before.hidden);
    if (sizes.cell == Cell::Gru) {
      putRow(results[3], row, step.reset);
      putRow(results[4], row, slopes.recurrent);
    } else if (sizes.cell == Cell::Lstm) {
      Units cells = step.before.cell;
      llvm::append_range(cells, step.after.cell);
      llvm::append_range(cells, step.before.cell);
      putRow(results[4], row, cells);
    }
  }

  const Lanes &lanes;
  const RecurrentSizes &sizes;
  LaneCell cell;
  int64_t direction, element;
  std::vector<LaneStep> steps;
};

} // namespace

// Positions behind a sequence's end are 0 in the result; the last state is that at its end.
Evaluated evaluateRecurrent(mlir::Operation *op, Operands operands, Cell cell) {
  auto sizes = readRecurrent(op, cell);
  if (mlir::failed(sizes))
    return std::nullopt;
  Lanes lanes(op, operands, *sizes);
  if (!lanes.read())
    return std::nullopt;
  llvm::SmallVector<Tensor, 1> results = resultsOf(op);
  forEachLane(*sizes, [&](int64_t direction, int64_t element) {
    LaneCell cell = lanes.cell(direction);
    LaneState state = lanes.initial(direction, element);
    for (int64_t index = 0; index < lanes.length(element); ++index) {
      int64_t position = lanes.position(direction, element, index);
      state = runStep(cell, lanes.input(position, element), state).after;
      putRow(results[0], sizes->sequenceRow(position, direction, element), state.hidden);
    }
    int64_t row = sizes->stateRow(direction, element);
    putRow(results[1], row, state.hidden);
    if (sizes->cell == Cell::Lstm)
      putRow(results[2], row, state.cell);
  });
  return results;
}

Evaluated evaluateRecurrentGradient(mlir::Operation *op, Operands operands, Cell cell) {
  auto sizes = readRecurrent(op, cell);
  if (mlir::failed(sizes))
    return std::nullopt;
  Lanes lanes(op, operands, *sizes);
  if (!lanes.read())
    return std::nullopt;
  llvm::SmallVector<Tensor, 1> results = resultsOf(op);
  forEachLane(*sizes, [&](int64_t direction, int64_t element) {
    ReversedLane(lanes, *sizes, direction, element).reverse(operands.drop_front(arrivingAt(cell)), results);
  });
  return results;
}

} // namespace apc
