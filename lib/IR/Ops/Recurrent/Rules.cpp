// Shapes, rules and local forms of recurrent operators and of their backward passes.
#include "../Attributes.h"
#include "Sizes.h"

#include "apc/IR/RuleBuilder.h"

namespace apc {

using namespace recurrent;

llvm::SmallVector<int64_t, 4> RecurrentSizes::inputDims() const {
  return batchFirst ? llvm::SmallVector<int64_t, 4>{batch, positions, inputs}
                    : llvm::SmallVector<int64_t, 4>{positions, batch, inputs};
}

llvm::SmallVector<int64_t, 4> RecurrentSizes::sequenceDims(int64_t width) const {
  return batchFirst ? llvm::SmallVector<int64_t, 4>{batch, positions, directions, width}
                    : llvm::SmallVector<int64_t, 4>{positions, directions, batch, width};
}

llvm::SmallVector<int64_t, 4> RecurrentSizes::stateDims() const {
  return batchFirst ? llvm::SmallVector<int64_t, 4>{batch, directions, hidden}
                    : llvm::SmallVector<int64_t, 4>{directions, batch, hidden};
}

int64_t RecurrentSizes::inputRow(int64_t position, int64_t element) const {
  return batchFirst ? element * positions + position : position * batch + element;
}

int64_t RecurrentSizes::sequenceRow(int64_t position, int64_t direction, int64_t element) const {
  return batchFirst ? (element * positions + position) * directions + direction
                    : (position * directions + direction) * batch + element;
}

int64_t RecurrentSizes::stateRow(int64_t direction, int64_t element) const {
  return batchFirst ? element * directions + direction : direction * batch + element;
}

namespace {

/// The functions of one direction, by ONNX's defaults.
llvm::ArrayRef<llvm::StringRef> standardActivations(Cell cell) {
  static constexpr llvm::StringRef names[] = {"Sigmoid", "Tanh", "Tanh"};
  llvm::ArrayRef<llvm::StringRef> all(names);
  return cell == Cell::Lstm ? all : cell == Cell::Gru ? all.take_front(2) : all.slice(1, 1);
}

int64_t directionsOf(mlir::Operation *op) {
  return stringAttribute(op, "direction", "forward") == "bidirectional" ? 2 : 1;
}

mlir::LogicalResult checkActivations(mlir::Operation *op, Cell cell) {
  llvm::SmallVector<Activation, 6> activations = activationsOf(op, cell);
  size_t needed = static_cast<size_t>(directionsOf(op)) * standardActivations(cell).size();
  if (activations.size() != needed)
    return op->emitOpError() << "attribute 'activations' has " << activations.size() << " functions, " << needed
                             << " are needed: " << standardActivations(cell).size() << " for each direction";
  for (const Activation &activation : activations)
    if (!activation.slope(0))
      return op->emitOpError() << "attribute 'activations' has '" << activation.name
                               << "'; accepted are Affine, Elu, HardSigmoid, LeakyRelu, Relu, ScaledTanh, Sigmoid, "
                                  "Softplus, Softsign, Tanh, ThresholdedRelu";
  return mlir::success();
}

mlir::LogicalResult checkOperands(mlir::Operation *op, const RecurrentSizes &sizes) {
  int64_t d = sizes.directions, rows = sizes.rows();
  if (mlir::failed(checkDims(op, X, sizes.inputDims())) || mlir::failed(checkDims(op, W, {d, rows, sizes.inputs})) ||
      mlir::failed(checkDims(op, R, {d, rows, sizes.hidden})) || mlir::failed(checkDims(op, B, {d, 2 * rows})) ||
      mlir::failed(checkDims(op, Lengths, {sizes.batch})) || mlir::failed(checkDims(op, InitialH, sizes.stateDims())))
    return mlir::failure();
  if (sizes.cell != Cell::Lstm)
    return mlir::success();
  return mlir::success(mlir::succeeded(checkDims(op, InitialC, sizes.stateDims())) &&
                       mlir::succeeded(checkDims(op, P, {d, sizes.peepholes()})));
}

} // namespace

llvm::SmallVector<Activation, 6> activationsOf(mlir::Operation *op, Cell cell) {
  llvm::SmallVector<Activation, 6> activations;
  if (auto names = llvm::dyn_cast_if_present<mlir::ArrayAttr>(op->getAttr("activations")); names && !names.empty())
    for (auto name : names.getAsRange<mlir::StringAttr>())
      activations.push_back({name.getValue(), {}, {}, {}});
  else
    for (int64_t direction = 0; direction < directionsOf(op); ++direction)
      for (llvm::StringRef name : standardActivations(cell))
        activations.push_back({name, {}, {}, {}});
  auto floats = [&](llvm::StringRef name) {
    auto attribute = llvm::dyn_cast_if_present<mlir::DenseF32ArrayAttr>(op->getAttr(name));
    return attribute ? attribute.asArrayRef() : llvm::ArrayRef<float>();
  };
  // Functions take numbers off the lists in turn, those without a parameter none.
  llvm::ArrayRef<float> alphas = floats("activation_alpha"), betas = floats("activation_beta");
  for (Activation &activation : activations) {
    if (activation.takesAlpha() && !alphas.empty()) {
      activation.alpha = alphas.front();
      alphas = alphas.drop_front();
    }
    if (activation.takesBeta() && !betas.empty()) {
      activation.beta = betas.front();
      betas = betas.drop_front();
    }
  }
  return activations;
}

mlir::FailureOr<RecurrentSizes> readRecurrent(mlir::Operation *op, Cell cell) {
  if (mlir::failed(checkExtents(op)) || mlir::failed(checkDims(op, X, {-1, -1, -1})) ||
      mlir::failed(checkDims(op, W, {-1, -1, -1})) || mlir::failed(checkDims(op, R, {-1, -1, -1})))
    return mlir::failure();
  llvm::ArrayRef<int64_t> x = dimsOf(op->getOperand(X)), r = dimsOf(op->getOperand(R));
  RecurrentSizes sizes;
  sizes.cell = cell;
  sizes.batchFirst = intAttribute(op, "layout", 0) != 0;
  sizes.positions = x[sizes.batchFirst ? 1 : 0];
  sizes.batch = x[sizes.batchFirst ? 0 : 1];
  sizes.inputs = x[2];
  // A device may hold some of the directions.
  sizes.directions = isOnPiece(op) ? r[0] : directionsOf(op);
  sizes.hidden = intAttribute(op, "hidden_size", r[2]);
  if (sizes.hidden != r[2])
    return op->emitOpError() << "attribute 'hidden_size' is " << sizes.hidden << ", but operand 'R' has " << r[2]
                             << " columns",
           mlir::failure();
  if (mlir::failed(checkOperands(op, sizes)) || mlir::failed(checkActivations(op, cell)))
    return mlir::failure();
  return sizes;
}

namespace {

/// The factors of all tensors; sizes that are whole have one each, by what they count.
struct RecurrentFactors {
  RecurrentFactors(FactorRuleBuilder &builder, const RecurrentSizes &sizes)
      : builder(builder), sizes(sizes), positions{builder.addWhole("s", sizes.positions)},
        batch{builder.addFactor("b", sizes.batch)}, directions{builder.addFactor("d", sizes.directions)},
        inputs{builder.addWhole("i", sizes.inputs)}, rows{builder.addWhole("g", sizes.rows())},
        hidden{builder.addWhole("h", sizes.hidden)} {}

  using Dims = llvm::SmallVector<DimFactors, 4>;
  Dims input() const { return sizes.batchFirst ? Dims{batch, positions, inputs} : Dims{positions, batch, inputs}; }
  Dims sequence(const DimFactors &width) const {
    return sizes.batchFirst ? Dims{batch, positions, directions, width} : Dims{positions, directions, batch, width};
  }
  Dims state() const { return sizes.batchFirst ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden}; }

  void addOperands(mlir::Operation *op) {
    addOperand(builder, op->getOperand(X), input());
    addOperand(builder, op->getOperand(W), {directions, rows, inputs});
    addOperand(builder, op->getOperand(R), {directions, rows, hidden});
    bool hasBias = !isAbsent(op->getOperand(B));
    addOperand(builder, op->getOperand(B),
               {directions, hasBias ? DimFactors{builder.addWhole("e", 2 * sizes.rows())} : DimFactors()});
    addOperand(builder, op->getOperand(Lengths), {batch});
    addOperand(builder, op->getOperand(InitialH), state());
    if (sizes.cell != Cell::Lstm)
      return;
    addOperand(builder, op->getOperand(InitialC), state());
    if (!isAbsent(op->getOperand(P)))
      peepholes = {builder.addWhole("p", sizes.peepholes())};
    addOperand(builder, op->getOperand(P), {directions, peepholes});
  }

  FactorRuleBuilder &builder;
  const RecurrentSizes &sizes;
  DimFactors positions, batch, directions, inputs, rows, hidden, peepholes;
};

/// The products of W with the input and, `timesState` times, of R with the state.
double flopsOf(const RecurrentSizes &sizes, double timesState) {
  return 2.0 * double(sizes.positions) * double(sizes.batch) * double(sizes.directions) * double(sizes.rows()) *
         (double(sizes.inputs) + timesState * double(sizes.hidden));
}

FactorRule takeRule(FactorRuleBuilder &builder, const RecurrentSizes &sizes, double flops) {
  builder.setWork(Work::Contraction);
  builder.setSteps(std::max<int64_t>(1, sizes.positions));
  FactorRule rule = builder.take();
  setFlops(rule, flops);
  return rule;
}

mlir::LogicalResult checkArriving(mlir::Operation *op, const RecurrentSizes &sizes) {
  unsigned first = arrivingAt(sizes.cell);
  return mlir::success(mlir::succeeded(checkDims(op, first, sizes.sequenceDims(sizes.hidden))) &&
                       mlir::succeeded(checkDims(op, first + 1, sizes.stateDims())) &&
                       (sizes.cell != Cell::Lstm || mlir::succeeded(checkDims(op, first + 2, sizes.stateDims()))));
}

} // namespace

mlir::LogicalResult inferRecurrent(mlir::Operation *op, Cell cell, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readRecurrent(op, cell);
  if (mlir::failed(sizes) ||
      mlir::failed(addType(op, sizes->sequenceDims(sizes->hidden), operandElement(op, X), types)))
    return mlir::failure();
  while (types.size() < op->getNumResults())
    if (mlir::failed(addType(op, sizes->stateDims(), operandElement(op, X), types)))
      return mlir::failure();
  return mlir::success();
}

mlir::FailureOr<FactorRule> ruleRecurrent(mlir::Operation *op, Cell cell) {
  auto sizes = readRecurrent(op, cell);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  RecurrentFactors factors(builder, *sizes);
  factors.addOperands(op);
  addResult(builder, op->getResult(0), factors.sequence(factors.hidden));
  for (mlir::Value state : op->getResults().drop_front())
    addResult(builder, state, factors.state());
  return takeRule(builder, *sizes, flopsOf(*sizes, 1));
}

// The directions of a piece are those from the first one on that it holds.
void localizeRecurrent(LocalOp &local) {
  if (local.isOperandCut(W, 0))
    local.operands.push_back(local.offsetOf(W, 0));
}

mlir::LogicalResult inferRecurrentGradient(mlir::Operation *op, Cell cell, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readRecurrent(op, cell);
  if (mlir::failed(sizes) || mlir::failed(checkArriving(op, *sizes)))
    return mlir::failure();
  mlir::Type element = operandElement(op, X), none = mlir::NoneType::get(op->getContext());
  auto add = [&](llvm::ArrayRef<int64_t> dims) { return addType(op, dims, element, types); };
  if (mlir::failed(add(sizes->sequenceDims(sizes->rows()))) || mlir::failed(add(sizes->sequenceDims(sizes->hidden))) ||
      mlir::failed(add(sizes->stateDims())))
    return mlir::failure();
  if (cell == Cell::Gru) {
    bool isLinear = intAttribute(op, "linear_before_reset", 0) != 0;
    if (mlir::failed(add(sizes->sequenceDims(isLinear ? sizes->rows() : sizes->hidden))))
      return mlir::failure();
    types.insert(isLinear ? types.end() - 1 : types.end(), none);
  }
  if (cell != Cell::Lstm)
    return mlir::success();
  if (mlir::failed(add(sizes->stateDims())))
    return mlir::failure();
  if (!isAbsent(op->getOperand(P)))
    return add(sizes->sequenceDims(sizes->peepholes()));
  types.push_back(none);
  return mlir::success();
}

mlir::FailureOr<FactorRule> ruleRecurrentGradient(mlir::Operation *op, Cell cell) {
  auto sizes = readRecurrent(op, cell);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  RecurrentFactors factors(builder, *sizes);
  factors.addOperands(op);
  unsigned first = arrivingAt(cell);
  addOperand(builder, op->getOperand(first), factors.sequence(factors.hidden));
  addOperand(builder, op->getOperand(first + 1), factors.state());
  if (cell == Cell::Lstm)
    addOperand(builder, op->getOperand(first + 2), factors.state());
  addResult(builder, op->getResult(0), factors.sequence(factors.rows));
  addResult(builder, op->getResult(1), factors.sequence(factors.hidden));
  addResult(builder, op->getResult(2), factors.state());
  if (cell == Cell::Gru) {
    addResult(builder, op->getResult(3), factors.sequence(factors.hidden));
    addResult(builder, op->getResult(4), factors.sequence(factors.rows));
  } else if (cell == Cell::Lstm) {
    addResult(builder, op->getResult(3), factors.state());
    addResult(builder, op->getResult(4), factors.sequence(factors.peepholes));
  }
  return takeRule(builder, *sizes, flopsOf(*sizes, 2));
}

} // namespace apc
