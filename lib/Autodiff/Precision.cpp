// Element types in the order of the forward pass, and casts where types meet.
#include "apc/Autodiff/Precision.h"

#include "WeightUse.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Program/FindBatch.h"
#include "apc/IR/Program/PlanNames.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace apc {

namespace {

constexpr llvm::StringLiteral precisions[] = {"model", "fp32", "bf16", "fp16"};

mlir::Type elementOf(mlir::Value value) { return isAbsent(value) ? mlir::Type() : mlir::getElementTypeOrSelf(value); }

/// Types of 8 bits or fewer, which quantised models have, are left as they are.
bool mayChange(mlir::Type element) {
  return element && (element.isF16() || element.isBF16() || element.isF32() || element.isF64());
}
bool mayChange(mlir::Value value) { return mayChange(elementOf(value)); }

unsigned bitsOf(mlir::Type element) { return element.getIntOrFloatBitWidth(); }

mlir::Type lowType(mlir::Builder &builder, Precision precision) {
  switch (precision) {
  case Precision::Bf16:
    return builder.getBF16Type();
  case Precision::Fp16:
    return builder.getF16Type();
  case Precision::Model:
  case Precision::Fp32:
    return builder.getF32Type();
  }
  llvm_unreachable("every precision has a type");
}

class PrecisionSetter {
public:
  PrecisionSetter(mlir::func::FuncOp main, Precision precision)
      : main(main), builder(main.getContext()), names(namePlan(main)), low(lowType(builder, precision)),
        wide(builder.getF32Type()) {}

  void run();

private:
  void findTail();
  void setElement(mlir::Value value, mlir::Type element);
  void change(ParameterOp weight);
  void change(OperatorInterface op);
  /// The type of the results of an op that reads weights or what is made from them.
  mlir::Type targetOf(mlir::Operation *op) const;
  /// A cast of the model: one that widens gives f32.
  void changeCast(CastOp op);
  /// False for an op that does not take `target`.
  bool fitOperands(OperatorInterface op, mlir::Type target, bool all);
  std::optional<OperandTypes::Misfit> findMisfit(OperatorInterface op, std::optional<unsigned> retyped = {},
                                                 mlir::Type target = {}) const;
  bool inferResults(OperatorInterface op);
  /// A cast of \p value for \p reader, the first that asks for it. Weights are cast where they are first read, as what
  /// stands at the head of a step would cross all of its layers.
  mlir::Value cast(mlir::Value value, mlir::Type element, mlir::Operation *reader);
  mlir::Value castConstant(ConstantOp constant, mlir::Type element);
  /// Parameters and casts of integers that are read by one of our casts alone take its type.
  void foldCasts();
  void returnWide();

  mlir::func::FuncOp main;
  mlir::OpBuilder builder;
  PlanNames names;
  mlir::Type low, wide;
  llvm::DenseSet<mlir::Operation *> tail;
  llvm::DenseMap<mlir::Value, mlir::Type> before; ///< values that change, with the types of the model
  llvm::DenseSet<mlir::Value> statistics;         ///< made in f32 of whatever type: their readers need not be
  llvm::MapVector<std::pair<mlir::Value, mlir::Type>, mlir::Value> casts;
};

/// Ops from which no weight and no contraction is reached.
void PrecisionSetter::findTail() {
  for (mlir::Operation &each : llvm::reverse(main.front().without_terminator())) {
    auto op = llvm::dyn_cast<OperatorInterface>(each);
    if (!op || each.getNumOperands() == 0)
      continue;
    mlir::FailureOr<FactorRule> rule = op.getRule();
    bool contracts = mlir::failed(rule) || rule->work == Work::Contraction;
    bool reads = llvm::any_of(each.getOperands(), [](mlir::Value operand) { return isWeight(operand); });
    bool isLast = llvm::all_of(each.getUsers(), [&](mlir::Operation *user) {
      return user->hasTrait<mlir::OpTrait::IsTerminator>() || tail.contains(user);
    });
    if (!contracts && !reads && isLast)
      tail.insert(&each);
  }
}

void PrecisionSetter::setElement(mlir::Value value, mlir::Type element) {
  value.setType(llvm::cast<mlir::RankedTensorType>(value.getType()).clone(element));
}

void PrecisionSetter::change(ParameterOp weight) {
  mlir::Value value = weight.getOutput();
  mlir::Type stored = elementOf(value);
  before[value] = stored;
  if (stored == low)
    return;
  weight->setAttr(storedAttribute, mlir::TypeAttr::get(stored));
  setElement(value, low);
}

mlir::Value PrecisionSetter::castConstant(ConstantOp constant, mlir::Type element) {
  Tensor tensor = Tensor::read(llvm::cast<mlir::DenseElementsAttr>(constant.getValue()));
  auto type = llvm::cast<mlir::FloatType>(element);
  double most = llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  for (double &value : tensor.floats)
    if (std::isfinite(value)) // masks of -3.4e38 would be infinite
      value = std::clamp(value, -most, most);
  tensor.element = element;
  roundToElement(tensor);
  auto own = ConstantOp::create(builder, constant.getLoc(), tensor.toAttribute());
  if (mlir::Attribute power = constant->getAttr(batchPowerAttribute))
    own->setAttr(batchPowerAttribute, power);
  return own;
}

mlir::Value PrecisionSetter::cast(mlir::Value value, mlir::Type element, mlir::Operation *reader) {
  mlir::Value &known = casts[{value, element}];
  if (known)
    return known;
  if (value.getDefiningOp<ParameterOp>())
    builder.setInsertionPoint(reader);
  else
    builder.setInsertionPointAfterValue(value);
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return known = castConstant(constant, element);
  auto found = names.values.find(value);
  std::string name = found == names.values.end() ? names.sources.lookup(value) : found->second;
  name += ("." + precisionName(element.isBF16()  ? Precision::Bf16
                               : element.isF16() ? Precision::Fp16
                                                 : Precision::Fp32))
              .str();
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType()).clone(element);
  mlir::OperationState state(mlir::NameLoc::get(builder.getStringAttr(name)), CastOp::getOperationName());
  state.addOperands(value);
  state.addTypes(type);
  state.addAttribute("to", builder.getI64IntegerAttr(dataType(element)));
  state.addAttribute(valuesAttribute, builder.getStrArrayAttr({name}));
  known = builder.create(state)->getResult(0);
  return known;
}

mlir::Type PrecisionSetter::targetOf(mlir::Operation *op) const {
  bool meetsWide = llvm::any_of(op->getOperands(), [&](mlir::Value operand) {
    return before.contains(operand) && elementOf(operand) == wide && !statistics.contains(operand);
  });
  return tail.contains(op) || meetsWide ? wide : low;
}

void PrecisionSetter::changeCast(CastOp op) {
  mlir::Value input = op.getInput(), output = op.getOutput();
  mlir::Type given = elementOf(output);
  if (!mayChange(given))
    return;
  before[output] = given;
  bool widens = bitsOf(given) > bitsOf(before.lookup(input));
  mlir::Type element = tail.contains(op) || widens ? wide : low;
  setElement(output, element);
  op->setAttr("to", builder.getI64IntegerAttr(dataType(element)));
  if (elementOf(input) == element)
    output.replaceAllUsesWith(input);
}

std::optional<OperandTypes::Misfit> PrecisionSetter::findMisfit(OperatorInterface op, std::optional<unsigned> retyped,
                                                                mlir::Type target) const {
  llvm::SmallVector<mlir::Type, 4> elements;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (!retyped)
      elements.push_back(elementOf(operand));
    else
      elements.push_back(index == *retyped ? target : mlir::Type());
  return op.getOperandTypes().findMisfit(elements);
}

bool PrecisionSetter::fitOperands(OperatorInterface op, mlir::Type target, bool all) {
  auto fit = [&](unsigned index) {
    mlir::OpOperand &operand = op->getOpOperand(index);
    if (!mayChange(operand.get()) || elementOf(operand.get()) == target || findMisfit(op, index, target))
      return false;
    operand.set(cast(operand.get(), target, op));
    return true;
  };
  for (unsigned index = 0; all && index < op->getNumOperands(); ++index)
    fit(index);
  while (auto misfit = findMisfit(op))
    if (!fit(misfit->operand) && !(misfit->differsFrom && fit(*misfit->differsFrom)))
      return false;
  return true;
}

bool PrecisionSetter::inferResults(OperatorInterface op) {
  llvm::SmallVector<mlir::Type, 2> types;
  if (mlir::failed(op.inferTypes(types)))
    return false;
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
    if (!isAbsent(result)) {
      if (mayChange(result))
        before.try_emplace(result, elementOf(result));
      result.setType(type);
    }
  return true;
}

void PrecisionSetter::change(OperatorInterface op) {
  if (llvm::none_of(op->getOperands(), [&](mlir::Value operand) { return before.contains(operand); }))
    return;
  if (auto own = llvm::dyn_cast<CastOp>(op.getOperation()))
    return changeCast(own);
  mlir::Type target = targetOf(op);
  auto follows = [&] {
    return inferResults(op) && llvm::all_of(op->getResults(), [&](mlir::Value result) {
             return !mayChange(result) || result.use_empty() || elementOf(result) == target;
           });
  };
  // Operands that may be of other types, such as statistics, stay where the results follow without them.
  bool fits = fitOperands(op, target, /*all=*/tail.contains(op)) && follows();
  if (!fits && fitOperands(op, target, /*all=*/true))
    fits = inferResults(op);
  if (fits) {
    for (mlir::Value result : op->getResults())
      if (target != wide && mayChange(result) && elementOf(result) == wide)
        statistics.insert(result);
    return;
  }
  // An operator that does not take the new type computes in f32, and its results are rounded.
  fitOperands(op, wide, /*all=*/true);
  inferResults(op);
  for (mlir::Value result : op->getResults())
    if (mayChange(result) && !result.use_empty() && elementOf(result) != low) {
      mlir::Value rounded = cast(result, low, op);
      before[rounded] = elementOf(result);
      result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
    }
}

void PrecisionSetter::foldCasts() {
  for (auto &[key, made] : casts) {
    auto [value, element] = key;
    mlir::Operation *maker = value.getDefiningOp();
    auto own = made.getDefiningOp<CastOp>();
    if (!maker || !own || own.getInput() != value || !value.hasOneUse() || before.contains(value))
      continue;
    auto parameter = llvm::dyn_cast<ParameterOp>(maker);
    auto earlier = llvm::dyn_cast<CastOp>(maker);
    if (parameter)
      parameter->setAttr(storedAttribute, mlir::TypeAttr::get(elementOf(value)));
    else if (earlier && !mayChange(earlier.getInput()))
      earlier->setAttr("to", own->getAttr("to"));
    else
      continue;
    setElement(value, element);
    made.replaceAllUsesWith(value);
    own->erase();
  }
}

void PrecisionSetter::returnWide() {
  mlir::Operation *end = main.front().getTerminator();
  for (mlir::OpOperand &result : end->getOpOperands())
    if (mayChange(result.get()) && elementOf(result.get()) != wide)
      result.set(cast(result.get(), wide, end));
  main.setFunctionType(builder.getFunctionType(main.getArgumentTypes(), end->getOperandTypes()));
}

void PrecisionSetter::run() {
  findTail();
  std::vector<OperatorInterface> ops;
  for (mlir::Operation &each : main.front().without_terminator())
    if (auto op = llvm::dyn_cast<OperatorInterface>(each); op && each.getNumOperands() > 0)
      ops.push_back(op);
  for (ParameterOp parameter : main.getOps<ParameterOp>())
    if (isWeight(parameter.getOutput()) && mayChange(parameter.getOutput()))
      change(parameter);
  for (OperatorInterface op : ops)
    change(op);
  returnWide();
  foldCasts();
}

} // namespace

llvm::StringRef precisionName(Precision precision) { return precisions[static_cast<size_t>(precision)]; }

std::optional<Precision> parsePrecision(llvm::StringRef name) {
  const auto *found = llvm::find(precisions, name);
  return found == std::end(precisions) ? std::nullopt
                                       : std::optional(static_cast<Precision>(found - std::begin(precisions)));
}

llvm::ArrayRef<llvm::StringLiteral> precisionNames() { return precisions; }

void setPrecision(mlir::func::FuncOp main, Precision precision) {
  if (precision != Precision::Model)
    PrecisionSetter(main, precision).run();
}

} // namespace apc
