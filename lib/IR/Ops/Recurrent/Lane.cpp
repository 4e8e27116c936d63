// The recurrent cells: one position forward and backward.
#include "Lane.h"

namespace apc {

namespace {

/// Blocks of W, R and B: gates in ONNX's order.
enum GruGate : int64_t { Update, Reset, New };
enum LstmGate : int64_t { Input, Output, Forget, Candidate };
/// Blocks of P.
constexpr int64_t inputPeephole = 0, outputPeephole = 1, forgetPeephole = 2;

/// The functions of one step over blocks of `hidden` elements.
class StepMath {
public:
  explicit StepMath(const LaneCell &cell) : cell(cell), sizes(cell.sizes), hidden(cell.sizes.hidden) {}

  /// W x + Wb for all gates.
  Units inputSums(const double *x) const {
    Units sums(sizes.rows(), 0);
    for (int64_t row = 0; row < sizes.rows(); ++row) {
      sums[row] = cell.weights.b ? cell.weights.b[row] : 0;
      for (int64_t i = 0; i < sizes.inputs; ++i)
        sums[row] += cell.weights.w[row * sizes.inputs + i] * x[i];
    }
    return sums;
  }
  /// R state + Rb for the gates [first, last), one block of `hidden` for each.
  Units stateSums(const Units &state, int64_t first, int64_t last) const {
    Units sums((last - first) * hidden, 0);
    for (int64_t row = first * hidden; row < last * hidden; ++row) {
      double sum = cell.weights.b ? cell.weights.b[sizes.rows() + row] : 0;
      for (int64_t i = 0; i < hidden; ++i)
        sum += cell.weights.r[row * hidden + i] * state[i];
      sums[row - first * hidden] = sum;
    }
    return sums;
  }
  /// R' slopes of the gates [first, last), added to `state`.
  void addTransposed(const Units &slopes, int64_t first, int64_t last, Units &state) const {
    for (int64_t row = first * hidden; row < last * hidden; ++row)
      for (int64_t i = 0; i < hidden; ++i)
        state[i] += cell.weights.r[row * hidden + i] * slopes[row];
  }
  double peephole(int64_t block, int64_t i) const { return cell.weights.p ? cell.weights.p[block * hidden + i] : 0; }

  /// Activation `function` (f, g, h) of a gate's sum.
  double activate(size_t function, double sum) const {
    if (cell.clip)
      sum = std::clamp(sum, -*cell.clip, *cell.clip);
    return *cell.activations[function].at(sum);
  }
  double slope(size_t function, double sum) const {
    if (cell.clip && std::fabs(sum) > *cell.clip)
      return 0;
    return *cell.activations[function].slope(sum);
  }

  const LaneCell &cell;
  const RecurrentSizes &sizes;
  int64_t hidden;
};

void addTo(Units &sums, const Units &more) {
  for (size_t i = 0; i < more.size(); ++i)
    sums[i] += more[i];
}

void runRnn(const StepMath &math, LaneStep &step) {
  addTo(step.sums, math.stateSums(step.before.hidden, 0, 1));
  for (int64_t i = 0; i < math.hidden; ++i)
    step.after.hidden[i] = step.gates[i] = math.activate(0, step.sums[i]);
}

void runGru(const StepMath &math, LaneStep &step) {
  int64_t hidden = math.hidden;
  const Units &before = step.before.hidden;
  addTo(step.sums, math.stateSums(before, Update, New));
  for (int64_t i = 0; i < New * hidden; ++i)
    step.gates[i] = math.activate(0, step.sums[i]);
  const double *reset = step.gates.data() + Reset * hidden;
  if (math.cell.linearBeforeReset) {
    step.reset = math.stateSums(before, New, New + 1);
  } else {
    step.reset.resize(hidden);
    for (int64_t i = 0; i < hidden; ++i)
      step.reset[i] = reset[i] * before[i];
  }
  Units sums = math.cell.linearBeforeReset ? step.reset : math.stateSums(step.reset, New, New + 1);
  for (int64_t i = 0; i < hidden; ++i) {
    int64_t at = New * hidden + i;
    step.sums[at] += math.cell.linearBeforeReset ? reset[i] * sums[i] : sums[i];
    step.gates[at] = math.activate(1, step.sums[at]);
    step.after.hidden[i] = (1 - step.gates[i]) * step.gates[at] + step.gates[i] * before[i];
  }
}

void runLstm(const StepMath &math, LaneStep &step) {
  int64_t hidden = math.hidden;
  addTo(step.sums, math.stateSums(step.before.hidden, 0, Candidate + 1));
  for (int64_t i = 0; i < hidden; ++i) {
    double before = step.before.cell[i];
    int64_t input = Input * hidden + i, output = Output * hidden + i, forget = Forget * hidden + i,
            candidate = Candidate * hidden + i;
    step.sums[input] += math.peephole(inputPeephole, i) * before;
    step.sums[forget] += math.peephole(forgetPeephole, i) * before;
    step.gates[input] = math.activate(0, step.sums[input]);
    step.gates[forget] = math.cell.inputForget ? 1 - step.gates[input] : math.activate(0, step.sums[forget]);
    step.gates[candidate] = math.activate(1, step.sums[candidate]);
    double after = step.gates[forget] * before + step.gates[input] * step.gates[candidate];
    step.sums[output] += math.peephole(outputPeephole, i) * after;
    step.gates[output] = math.activate(0, step.sums[output]);
    step.after.cell[i] = after;
    step.after.hidden[i] = step.gates[output] * *math.cell.activations[2].at(after);
  }
}

void reverseRnn(const StepMath &math, const LaneStep &step, const LaneState &arriving, LaneSlopes &slopes) {
  for (int64_t i = 0; i < math.hidden; ++i)
    slopes.gates[i] = arriving.hidden[i] * math.slope(0, step.sums[i]);
  slopes.recurrent = slopes.gates;
  math.addTransposed(slopes.recurrent, 0, 1, slopes.before.hidden);
}

void reverseGru(const StepMath &math, const LaneStep &step, const LaneState &arriving, LaneSlopes &slopes) {
  int64_t hidden = math.hidden;
  const Units &before = step.before.hidden;
  const double *reset = step.gates.data() + Reset * hidden;
  Units ofReset(hidden, 0); // of r where R comes first, of r H' otherwise
  for (int64_t i = 0; i < hidden; ++i) {
    int64_t at = New * hidden + i;
    double arrives = arriving.hidden[i];
    slopes.gates[at] = arrives * (1 - step.gates[i]) * math.slope(1, step.sums[at]);
    slopes.gates[i] = arrives * (before[i] - step.gates[at]) * math.slope(0, step.sums[i]);
    slopes.before.hidden[i] = arrives * step.gates[i];
  }
  slopes.recurrent = slopes.gates;
  if (math.cell.linearBeforeReset)
    for (int64_t i = 0; i < hidden; ++i) {
      ofReset[i] = slopes.gates[New * hidden + i] * step.reset[i];
      slopes.recurrent[New * hidden + i] *= reset[i];
    }
  else
    math.addTransposed(slopes.gates, New, New + 1, ofReset);
  for (int64_t i = 0; i < hidden; ++i) {
    if (!math.cell.linearBeforeReset) {
      slopes.before.hidden[i] += ofReset[i] * reset[i];
      ofReset[i] *= before[i];
    }
    int64_t at = Reset * hidden + i;
    slopes.gates[at] = slopes.recurrent[at] = ofReset[i] * math.slope(0, step.sums[at]);
  }
  math.addTransposed(slopes.recurrent, Update, math.cell.linearBeforeReset ? New + 1 : New, slopes.before.hidden);
}

void reverseLstm(const StepMath &math, const LaneStep &step, const LaneState &arriving, LaneSlopes &slopes) {
  int64_t hidden = math.hidden;
  const Activation &shown = math.cell.activations[2];
  for (int64_t i = 0; i < hidden; ++i) {
    int64_t input = Input * hidden + i, output = Output * hidden + i, forget = Forget * hidden + i,
            candidate = Candidate * hidden + i;
    double after = step.after.cell[i], before = step.before.cell[i], arrives = arriving.hidden[i];
    slopes.gates[output] = arrives * *shown.at(after) * math.slope(0, step.sums[output]);
    double ofCell = arriving.cell[i] + arrives * step.gates[output] * *shown.slope(after) +
                    math.peephole(outputPeephole, i) * slopes.gates[output];
    double ofInput = ofCell * step.gates[candidate], ofForget = ofCell * before;
    if (math.cell.inputForget)
      ofInput -= std::exchange(ofForget, 0);
    slopes.gates[input] = ofInput * math.slope(0, step.sums[input]);
    slopes.gates[forget] = math.cell.inputForget ? 0 : ofForget * math.slope(0, step.sums[forget]);
    slopes.gates[candidate] = ofCell * step.gates[input] * math.slope(1, step.sums[candidate]);
    slopes.before.cell[i] = ofCell * step.gates[forget] + math.peephole(inputPeephole, i) * slopes.gates[input] +
                            math.peephole(forgetPeephole, i) * slopes.gates[forget];
  }
  slopes.recurrent = slopes.gates;
  math.addTransposed(slopes.recurrent, 0, Candidate + 1, slopes.before.hidden);
}

} // namespace

LaneStep runStep(const LaneCell &cell, const double *input, const LaneState &before) {
  StepMath math(cell);
  LaneStep step{before, before, math.inputSums(input), Units(cell.sizes.rows(), 0), {}};
  if (cell.sizes.cell == Cell::Rnn)
    runRnn(math, step);
  else if (cell.sizes.cell == Cell::Gru)
    runGru(math, step);
  else
    runLstm(math, step);
  return step;
}

LaneSlopes reverseStep(const LaneCell &cell, const LaneStep &step, LaneState arriving) {
  StepMath math(cell);
  Units none(cell.sizes.hidden, 0);
  LaneSlopes slopes{Units(cell.sizes.rows(), 0), {}, {none, none}};
  if (cell.sizes.cell == Cell::Rnn)
    reverseRnn(math, step, arriving, slopes);
  else if (cell.sizes.cell == Cell::Gru)
    reverseGru(math, step, arriving, slopes);
  else
    reverseLstm(math, step, arriving, slopes);
  return slopes;
}

} // namespace apc
