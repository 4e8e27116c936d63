// Optimizer states, steps, and the results of `main` that take the place of parameters and states.
#include "Update.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/NumberInputs.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Reduction/Reduction.h"
#include "apc/IR/Program/Parts.h"

#include <numeric>

namespace apc {

namespace {

/// Parameters of fewer than 32 bits are stepped on a copy of 32, their master: additions below 2^-8 would be lost.
bool isLowPrecision(ParameterOp parameter) {
  return mlir::getElementTypeOrSelf(parameter.getOutput()).getIntOrFloatBitWidth() < 32;
}

/// The type of a sum over micro-batches of values of type `type`.
mlir::Type accumulatedType(mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  return tensor.getElementType().isF64() ? tensor : tensor.clone(mlir::Float32Type::get(type.getContext()));
}

class UpdateBuilder {
public:
  UpdateBuilder(mlir::func::FuncOp main, const TrainingOptions &options, LossScale *lossScale)
      : main(main), options(options), lossScale(lossScale), builder(main.getContext()) {
    builder.setInsertionPoint(main.front().getTerminator());
    if (accumulates())
      MicroBatchEndOp::create(builder, main.getLoc(), options.microBatches, options.copies);
    step = addNumber("step", builder.getI64Type());
    main.setArgAttr(main.getNumArguments() - 1, leastAttribute, builder.getI64IntegerAttr(1));
    rate = addNumber("learning_rate", builder.getF32Type());
  }

  void add(llvm::ArrayRef<TrainedGradient> gradients, const WeighedLoss &loss) {
    addSteps(gradients, loss);
    returnResults();
  }

private:
  void addSteps(llvm::ArrayRef<TrainedGradient> gradients, const WeighedLoss &loss);
  bool accumulates() const { return options.microBatches > 1; }
  /// The loss of the step in the place of that of a micro-batch; returned is what all sums are multiplied by, if
  /// anything.
  mlir::Value finishLoss(const WeighedLoss &loss);
  mlir::Value accumulated(mlir::Value value, llvm::StringRef name);
  mlir::Value addNumber(llvm::StringRef name, mlir::Type element);
  /// One op named `name`, decided together with the step of `parameter` where there is one.
  template <typename Op>
  mlir::Operation *create(const llvm::Twine &name, mlir::TypeRange types, mlir::ValueRange operands,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes = {}, ParameterOp parameter = {});
  void tie(mlir::Operation *op, ParameterOp parameter);
  std::vector<mlir::Operation *> placesOfSums(llvm::ArrayRef<TrainedGradient> gradients);
  mlir::Value gradientOf(const TrainedGradient &gradient);
  mlir::Value scaledGradient(ParameterOp parameter, mlir::Value sum, mlir::Value scale);
  /// The sum of the squares of a gradient.
  mlir::Value squareOf(ParameterOp parameter, mlir::Value gradient);
  /// min(1, most / (norm + 1e-6)) times `scale`, the norm over all gradients times `scale`, whose squares have this
  /// sum.
  mlir::Value clipScale(mlir::Value squares, mlir::Value scale);
  /// The number that every gradient is multiplied by: `scale`, clipped, and without the scale of the loss.
  mlir::Value commonScale(llvm::ArrayRef<mlir::Value> squares, mlir::Value scale);
  void addScaleStates();
  mlir::Value addState(ParameterOp parameter, llvm::StringRef state);
  void addStep(ParameterOp parameter, mlir::Value gradient, mlir::Value scale);
  /// A result of `main`, once all are returned.
  void addResult(mlir::Value value, llvm::ArrayRef<mlir::NamedAttribute> attributes);
  /// Returns all results at once: the type of a function is made anew with each change, and lists thousands of results.
  void returnResults();
  void addUpdated(ParameterOp parameter, mlir::Value value, llvm::StringRef replaced);
  mlir::Value scalar(double value);
  mlir::Value absent() { return NoneOp::create(builder, main.getLoc()); }
  mlir::NamedAttribute number(llvm::StringRef name, double value) {
    return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
  }
  mlir::NamedAttribute named(llvm::StringRef name, const llvm::Twine &value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  }
  /// The optimizer's attributes.
  llvm::SmallVector<mlir::NamedAttribute, 4> settings();
  llvm::SmallVector<llvm::StringRef, 3> statesOf(ParameterOp parameter) const;
  std::string leaderOf(ParameterOp parameter) const;
  mlir::Operation *createStep(ParameterOp parameter, mlir::ValueRange operands, mlir::TypeRange types);

  mlir::func::FuncOp main;
  const TrainingOptions &options;
  LossScale *lossScale; ///< null: the loss is not scaled
  mlir::OpBuilder builder;
  mlir::Value step, rate;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> resultAttributes;
};

mlir::Value UpdateBuilder::addNumber(llvm::StringRef name, mlir::Type element) {
  unsigned index = main.getNumArguments();
  mlir::NamedAttribute attributes[] = {named(nameAttribute, name), named(numberAttribute, name)};
  (void)main.insertArgument(index, mlir::RankedTensorType::get({}, element), builder.getDictionaryAttr(attributes),
                            main.getLoc());
  return main.getArgument(index);
}

template <typename Op>
mlir::Operation *UpdateBuilder::create(const llvm::Twine &name, mlir::TypeRange types, mlir::ValueRange operands,
                                       llvm::ArrayRef<mlir::NamedAttribute> attributes, ParameterOp parameter) {
  mlir::OperationState state(mlir::NameLoc::get(builder.getStringAttr(name)), Op::getOperationName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(attributes);
  mlir::Operation *op = builder.create(state);
  if (parameter)
    tie(op, parameter);
  return op;
}

/// The first operand of `op` has the parameter's dims, cut inside the same parts. The leader's factors are called d0,
/// d1, ... where it is a source (a state), b0, b1, ... where it is the step itself.
void UpdateBuilder::tie(mlir::Operation *op, ParameterOp parameter) {
  std::string leader = leaderOf(parameter);
  op->setAttr(tieAttribute, builder.getStringAttr(leader));
  mlir::FailureOr<FactorRule> rule = llvm::cast<OperatorInterface>(op).getRule();
  if (mlir::failed(rule))
    return;
  llvm::StringRef prefix = llvm::StringRef(leader).ends_with(".update") ? "b" : "d";
  auto parts = parameter->getAttrOfType<mlir::DictionaryAttr>(partsAttribute);
  llvm::SmallVector<mlir::Attribute, 4> names(rule->numFactors(), builder.getStringAttr(""));
  for (auto [dim, factors] : llvm::enumerate(rule->operands[0].dims))
    for (FactorId factor : factors) {
      names[factor.index()] = builder.getStringAttr(prefix + llvm::Twine(dim));
      auto sizes =
          parts ? parts.getAs<mlir::DenseI64ArrayAttr>(("d" + llvm::Twine(dim)).str()) : mlir::DenseI64ArrayAttr();
      if (sizes && mayCutInsideParts(op, *rule, factor))
        markParts(op, rule->factor(factor).name, sizes);
    }
  op->setAttr(factorsAttribute, builder.getArrayAttr(names));
}

mlir::Value UpdateBuilder::scalar(double value) {
  Tensor tensor{{}, builder.getF32Type(), {}, {value}};
  roundToElement(tensor);
  return ConstantOp::create(builder, main.getLoc(), tensor.toAttribute());
}

/// The states of the optimizer for a parameter, its master among them.
llvm::SmallVector<llvm::StringRef, 3> UpdateBuilder::statesOf(ParameterOp parameter) const {
  llvm::ArrayRef<llvm::StringLiteral> own = apc::statesOf(options.optimizer);
  llvm::SmallVector<llvm::StringRef, 3> states(own.begin(), own.end());
  if (isLowPrecision(parameter))
    states.push_back(masterSuffix.drop_front());
  return states;
}

/// The op that leads a parameter's step and states: the first state, or the step itself.
std::string UpdateBuilder::leaderOf(ParameterOp parameter) const {
  llvm::SmallVector<llvm::StringRef, 3> states = statesOf(parameter);
  return (parameter.getName() + "." + (states.empty() ? "update" : states.front())).str();
}

/// The op behind everything that makes a contribution.
static mlir::Operation *lastOf(const TrainedGradient &gradient, mlir::Block &block) {
  mlir::Operation *last = nullptr;
  for (mlir::Value contribution : gradient.contributions)
    if (mlir::Operation *op = contribution.getDefiningOp(); op && op->getBlock() == &block)
      last = !last || last->isBeforeInBlock(op) ? op : last;
  return last;
}

/// For each gradient the op behind which its contributions are summed: the last of them. Sums over micro-batches wait
/// until as many elements of other gradients are made, so that a reduction of each micro-batch's gradient hides behind
/// these, or for the end of the micro-batch.
std::vector<mlir::Operation *> UpdateBuilder::placesOfSums(llvm::ArrayRef<TrainedGradient> gradients) {
  std::vector<mlir::Operation *> places;
  for (const TrainedGradient &gradient : gradients)
    places.push_back(lastOf(gradient, main.front()));
  if (!accumulates())
    return places;
  std::vector<size_t> order(gradients.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<mlir::Operation *> made = places;
  llvm::stable_sort(order, [&](size_t a, size_t b) { return made[a] != made[b] && made[a]->isBeforeInBlock(made[b]); });
  mlir::Operation *end = microBatchEndOf(main)->getPrevNode();
  auto elementsOf = [&](size_t gradient) {
    return llvm::cast<mlir::RankedTensorType>(ParameterOp(gradients[gradient].parameter).getOutput().getType())
        .getNumElements();
  };
  size_t next = 0; // the first whose elements are not counted
  for (int64_t position = 0, later = 0; position < static_cast<int64_t>(order.size()); ++position) {
    int64_t own = elementsOf(order[position]);
    if (static_cast<size_t>(position) < next)
      later -= own;
    else
      next = position + 1;
    while (later < own && next < order.size())
      later += elementsOf(order[next++]);
    places[order[position]] = later < own ? end : made[order[next - 1]];
  }
  return places;
}

mlir::Value UpdateBuilder::gradientOf(const TrainedGradient &gradient) {
  ParameterOp parameter = gradient.parameter;
  std::string name = (parameter.getName() + ".grad").str();
  if (gradient.contributions.size() == 1 && !accumulates()) {
    mlir::Value only = gradient.contributions.front();
    mlir::Operation *maker = only.getDefiningOp();
    if (maker->hasAttr(tieAttribute))
      maker->setAttr(roleAttribute, builder.getStringAttr("gradient"));
    if (maker->hasAttr(tieAttribute) && maker->getNumResults() == 1 && !maker->hasAttr(valuesAttribute))
      maker->setAttr(valuesAttribute, builder.getStrArrayAttr({name}));
    return only;
  }
  mlir::Type type = parameter.getOutput().getType();
  if (options.widensGradients)
    type = accumulatedType(type);
  mlir::Operation *sum = accumulates()
                             ? create<AccumulateOp>(name, accumulatedType(type), gradient.contributions, {}, parameter)
                             : create<SumOp>(name, type, gradient.contributions, {}, parameter);
  sum->setAttr(valuesAttribute, builder.getStrArrayAttr({name}));
  sum->setAttr(roleAttribute, builder.getStringAttr("gradient"));
  return sum->getResult(0);
}

mlir::Value UpdateBuilder::accumulated(mlir::Value value, llvm::StringRef name) {
  return create<AccumulateOp>(name, accumulatedType(value.getType()), value)->getResult(0);
}

mlir::Value UpdateBuilder::finishLoss(const WeighedLoss &loss) {
  builder.setInsertionPoint(microBatchEndOf(main));
  mlir::Value sum = accumulated(loss.loss, "loss.sum");
  mlir::Value weight = loss.weight ? accumulated(loss.weight, "loss.share.sum") : mlir::Value();
  mlir::Operation *end = main.front().getTerminator();
  builder.setInsertionPoint(end);
  mlir::Value scale;
  if (weight) {
    if (loss.leastWeight)
      weight = create<MaxOp>("loss.share.least", weight.getType(), {weight, scalar(*loss.leastWeight)})->getResult(0);
    scale = create<ReciprocalOp>("loss.scale", weight.getType(), weight)->getResult(0);
    auto own = llvm::cast<mlir::RankedTensorType>(sum.getType());
    mlir::Type element = mlir::getElementTypeOrSelf(scale);
    if (own.getElementType() != element)
      sum = create<CastLikeOp>("loss.sum.cast", own.clone(element), {sum, scale})->getResult(0);
    sum = create<MulOp>("loss", sum.getType(), {sum, scale})->getResult(0);
  }
  if (sum.getType() != loss.loss.getType())
    sum = create<CastLikeOp>("loss.cast", loss.loss.getType(), {sum, loss.loss})->getResult(0);
  end->setOperand(0, sum);
  return scale;
}

mlir::Value UpdateBuilder::squareOf(ParameterOp parameter, mlir::Value gradient) {
  mlir::Type type = mlir::RankedTensorType::get({}, builder.getF32Type());
  auto own = llvm::cast<mlir::RankedTensorType>(gradient.getType());
  if (!own.getElementType().isF32()) // squares of smaller ones would overflow
    gradient =
        create<CastOp>(parameter.getName() + ".grad.f32", own.clone(builder.getF32Type()), gradient,
                       builder.getNamedAttr("to", builder.getI64IntegerAttr(dataType(builder.getF32Type()))), parameter)
            ->getResult(0);
  mlir::Operation *square =
      create<ReduceSumSquareOp>(parameter.getName() + ".grad.square", type, {gradient, absent()},
                                builder.getNamedAttr("keepdims", builder.getI64IntegerAttr(0)), parameter);
  return square->getResult(0);
}

mlir::Value UpdateBuilder::clipScale(mlir::Value squares, mlir::Value scale) {
  constexpr double epsilon = 1e-6; // PyTorch's clip_grad_norm_
  mlir::Type type = mlir::RankedTensorType::get({}, builder.getF32Type());
  mlir::Value norm = create<SqrtOp>("clip.norm", type, squares)->getResult(0);
  if (scale)
    norm = create<MulOp>("clip.norm.scaled", type, {norm, scale})->getResult(0);
  if (lossScale)
    norm = create<DivOp>("clip.unscaled", type, {norm, lossScale->getScale()})->getResult(0);
  mlir::Value raised = create<AddOp>("clip.raised", type, {norm, scalar(epsilon)})->getResult(0);
  mlir::Value ratio = create<DivOp>("clip.ratio", type, {scalar(*options.clipNorm), raised})->getResult(0);
  mlir::Value clip = create<MinOp>("clip.scale", type, {ratio, scalar(1)})->getResult(0);
  return scale ? create<MulOp>("clip.scale.all", type, {clip, scale})->getResult(0) : clip;
}

mlir::Value UpdateBuilder::commonScale(llvm::ArrayRef<mlir::Value> squares, mlir::Value scale) {
  mlir::Type type = mlir::RankedTensorType::get({}, builder.getF32Type());
  mlir::Value sum = create<SumOp>("clip.sum", type, squares)->getResult(0);
  mlir::Value common = options.clipNorm ? clipScale(sum, scale) : scale ? scale : scalar(1);
  return lossScale ? lossScale->unscaled(sum, common) : common;
}

void UpdateBuilder::addScaleStates() {
  for (const LossScale::NextState &next : lossScale->nextStates())
    addResult(next.value, {named(nameAttribute, next.name + ".updated"), named(replacesAttribute, next.name),
                           named(tieAttribute, next.name)});
}

mlir::Value UpdateBuilder::addState(ParameterOp parameter, llvm::StringRef state) {
  std::string name = (parameter.getName() + "." + state).str();
  mlir::Type type = parameter.getOutput().getType();
  if (isLowPrecision(parameter))
    type = llvm::cast<mlir::RankedTensorType>(type).clone(builder.getF32Type());
  llvm::StringRef begin = state == masterSuffix.drop_front() ? masterSource : zerosSource;
  auto source = ParameterOp::create(builder, main.getLoc(), type, builder.getStringAttr(name),
                                    builder.getStringAttr(begin), nullptr, nullptr, nullptr);
  source->setAttr(tieAttribute, builder.getStringAttr(leaderOf(parameter)));
  if (mlir::Attribute parts = parameter->getAttr(partsAttribute))
    source->setAttr(partsAttribute, parts);
  return source.getOutput();
}

llvm::SmallVector<mlir::NamedAttribute, 4> UpdateBuilder::settings() {
  const Optimizer &own = options.optimizer;
  llvm::SmallVector<mlir::NamedAttribute, 4> attributes{number("weight_decay", own.weightDecay)};
  auto flag = [&](llvm::StringRef name, bool isSet) {
    attributes.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(isSet)));
  };
  switch (own.kind) {
  case OptimizerKind::Sgd:
    break;
  case OptimizerKind::Momentum:
    attributes.append({number("decay", own.momentum), number("dampening", own.dampening)});
    flag("nesterov", own.nesterov);
    break;
  case OptimizerKind::Adam:
  case OptimizerKind::AdamW:
    attributes.append({number("beta1", own.beta1), number("beta2", own.beta2), number("epsilon", own.epsilon)});
    flag("decoupled", own.kind == OptimizerKind::AdamW);
    break;
  }
  return attributes;
}

mlir::Operation *UpdateBuilder::createStep(ParameterOp parameter, mlir::ValueRange operands, mlir::TypeRange types) {
  std::string name = (parameter.getName() + ".update").str();
  switch (options.optimizer.kind) {
  case OptimizerKind::Sgd:
    return create<SgdUpdateOp>(name, types, operands, settings(), parameter);
  case OptimizerKind::Momentum:
    return create<MomentumUpdateOp>(name, types, operands, settings(), parameter);
  case OptimizerKind::Adam:
  case OptimizerKind::AdamW:
    return options.optimizer.amsgrad ? create<AmsgradUpdateOp>(name, types, operands, settings(), parameter)
                                     : create<AdamUpdateOp>(name, types, operands, settings(), parameter);
  }
  llvm_unreachable("every optimizer has a step");
}

void UpdateBuilder::addResult(mlir::Value value, llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  results.push_back(value);
  resultAttributes.push_back(builder.getDictionaryAttr(attributes));
}

void UpdateBuilder::returnResults() {
  mlir::Operation *end = main.front().getTerminator();
  unsigned index = end->getNumOperands();
  llvm::SmallVector<unsigned> indices(results.size(), index);
  (void)main.insertResults(indices, llvm::to_vector(mlir::ValueRange(results).getTypes()), resultAttributes);
  end->insertOperands(index, results);
}

/// The gradient as users know it: of the mean over the step, in the parameter's type.
mlir::Value UpdateBuilder::scaledGradient(ParameterOp parameter, mlir::Value sum, mlir::Value scale) {
  llvm::StringRef name = parameter.getName();
  if (scale)
    sum = create<MulOp>(name + ".grad.scaled", sum.getType(), {sum, scale})->getResult(0);
  if (sum.getType() != parameter.getOutput().getType())
    sum = create<CastLikeOp>(name + ".grad.cast", parameter.getOutput().getType(), {sum, parameter.getOutput()})
              ->getResult(0);
  return sum;
}

/// The new value of the parameter, or of its state, called `replaced`, decided together with the old one.
void UpdateBuilder::addUpdated(ParameterOp parameter, mlir::Value value, llvm::StringRef replaced) {
  bool isState = replaced != parameter.getName();
  llvm::SmallVector<mlir::NamedAttribute, 4> attributes{
      named(nameAttribute, replaced + ".updated"), named(replacesAttribute, replaced),
      named(tieAttribute, isState ? leaderOf(parameter) : replaced.str())};
  if (mlir::Attribute parts = parameter->getAttr(partsAttribute))
    attributes.push_back(builder.getNamedAttr(partsAttribute, parts));
  addResult(value, attributes);
}

void UpdateBuilder::addStep(ParameterOp parameter, mlir::Value gradient, mlir::Value scale) {
  llvm::SmallVector<mlir::Value, 8> operands{parameter.getOutput(), gradient};
  llvm::SmallVector<mlir::Type, 4> types{parameter.getOutput().getType()};
  llvm::SmallVector<std::string, 4> replaced{parameter.getName().str()};
  for (llvm::StringRef state : statesOf(parameter)) {
    operands.push_back(addState(parameter, state));
    types.push_back(operands.back().getType());
    replaced.push_back((parameter.getName() + "." + state).str());
  }
  if (!isLowPrecision(parameter)) {
    operands.push_back(absent());
    types.push_back(operands.back().getType());
  }
  operands.append({rate, step, scale ? scale : absent()});
  mlir::Operation *update = createStep(parameter, operands, types);
  llvm::SmallVector<mlir::Attribute, 4> names;
  for (auto [name, result] : llvm::zip(replaced, update->getResults())) {
    names.push_back(builder.getStringAttr(name + ".updated"));
    addUpdated(parameter, result, name);
  }
  names.resize(update->getNumResults(), builder.getStringAttr(""));
  update->setAttr(valuesAttribute, builder.getArrayAttr(names));
}

/// Steps stand behind all gradients, so that reductions can hide behind the rest of the backward pass; with clipping or
/// a scale of the loss behind the norm of all, with micro-batches behind the last of them.
void UpdateBuilder::addSteps(llvm::ArrayRef<TrainedGradient> gradients, const WeighedLoss &loss) {
  bool waitsForAll = options.clipNorm || lossScale;
  llvm::SmallVector<mlir::Value> sums, squares;
  mlir::Value scale = accumulates() ? finishLoss(loss) : mlir::Value();
  for (auto [gradient, place] : llvm::zip_equal(gradients, placesOfSums(gradients))) {
    builder.setInsertionPointAfter(place);
    sums.push_back(gradientOf(gradient));
    builder.setInsertionPoint(main.front().getTerminator());
    if (waitsForAll)
      squares.push_back(squareOf(gradient.parameter, sums.back()));
  }
  builder.setInsertionPoint(main.front().getTerminator());
  auto addAllSteps = [&, this] {
    for (auto [gradient, sum] : llvm::zip_equal(gradients, sums))
      addStep(gradient.parameter, sum, scale);
  };
  if (!waitsForAll && !accumulates())
    addAllSteps();
  if (options.returnsGradients)
    for (auto [gradient, sum] : llvm::zip_equal(gradients, sums))
      addResult(scaledGradient(gradient.parameter, sum, scale),
                named(nameAttribute, ParameterOp(gradient.parameter).getName() + ".grad"));
  if (!waitsForAll && !accumulates())
    return;
  if (waitsForAll)
    scale = commonScale(squares, scale);
  if (lossScale)
    step = lossScale->countOf(step);
  addAllSteps();
  if (lossScale)
    addScaleStates();
}

} // namespace

void addUpdates(mlir::func::FuncOp main, llvm::ArrayRef<TrainedGradient> gradients, const WeighedLoss &loss,
                const TrainingOptions &options, LossScale *lossScale) {
  UpdateBuilder(main, options, lossScale).add(gradients, loss);
}

} // namespace apc
