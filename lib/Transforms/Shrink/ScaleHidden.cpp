// Rebuilds a module with smaller dims.
#include "apc/Transforms/ScaleHidden.h"

#include "TiedDims.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/Localize.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/Support/Error.h"

#include "mlir/IR/OwningOpRef.h"

namespace apc {

namespace {

/// A copy of `main` in which the dims of some sets are divided: the part of one device on a mesh of `divisor` that cuts
/// all these sets at once.
class Scaler {
public:
  Scaler(mlir::func::FuncOp main, const TiedDims &tied, const llvm::BitVector &sets, int64_t divisor)
      : main(main), tied(tied), sets(sets), divisor(divisor), mesh({MeshAxis{"scale", divisor, 0}}),
        builder(main.getContext()) {}

  /// Null when an op does not verify with the smaller sizes; `culprit` is then its original.
  mlir::OwningOpRef<mlir::ModuleOp> run();
  mlir::Operation *culprit = nullptr;

private:
  mlir::Type scaled(mlir::Value value) const;
  bool isScaled(mlir::Value value, unsigned dim) const { return sets.test(tied.setOf(value, dim)); }
  bool isScaled(mlir::Operation *op, llvm::StringRef factor) const;
  /// Divides the entries of a dictionary `apc.parts` that are of divided dims: null where that of an operand's or
  /// result's dim, on which the op's rule rests, cannot be. Factors whose parts cannot be divided go.
  mlir::DictionaryAttr scaledParts(mlir::DictionaryAttr parts,
                                   llvm::function_ref<bool(llvm::StringRef)> isDivided) const;
  /// The same for a dictionary of the dims d0, d1, ... of `value`.
  mlir::DictionaryAttr scaledParts(mlir::DictionaryAttr parts, mlir::Value value) const;
  bool addOp(mlir::Operation *op);
  void addConstant(ConstantOp constant);

  mlir::func::FuncOp main;
  const TiedDims &tied;
  const llvm::BitVector &sets;
  int64_t divisor;
  Mesh mesh;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, mlir::Value> copies;
};

mlir::Type Scaler::scaled(mlir::Value value) const {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type)
    return value.getType();
  llvm::SmallVector<int64_t> dims(type.getShape());
  for (auto [dim, size] : llvm::enumerate(dims))
    if (sets.test(tied.setOf(value, static_cast<unsigned>(dim))))
      size /= divisor;
  return type.clone(dims);
}

bool Scaler::isScaled(mlir::Operation *op, llvm::StringRef factor) const {
  if (factor == partedDataName)
    return isScaled(op->getOperand(0), partedData(op)->dim);
  if (factor == partedResultName)
    return isScaled(op->getResult(0), partedResult(op)->dim);
  llvm::ArrayRef<Factor> factors = tied.ruleOf(op).factors;
  const auto *found = llvm::find_if(factors, [&](const Factor &known) { return known.name == factor; });
  return found != factors.end() && sets.test(tied.setOf(op, static_cast<unsigned>(found - factors.begin())));
}

mlir::DictionaryAttr Scaler::scaledParts(mlir::DictionaryAttr parts,
                                         llvm::function_ref<bool(llvm::StringRef)> isDivided) const {
  mlir::NamedAttrList smaller(parts);
  for (mlir::NamedAttribute entry : parts) {
    llvm::StringRef name = entry.getName().strref();
    if (!isDivided(name))
      continue;
    bool saysDim = name == partedDataName || name == partedResultName;
    llvm::SmallVector<int64_t> numbers(llvm::cast<mlir::DenseI64ArrayAttr>(entry.getValue()).asArrayRef());
    auto sizes = llvm::drop_begin(numbers, saysDim ? 1 : 0);
    bool isEven = llvm::all_of(sizes, [&](int64_t size) { return size % divisor == 0; });
    if (!isEven && saysDim)
      return {};
    for (int64_t &size : sizes)
      size /= divisor;
    if (isEven)
      smaller.set(name, mlir::DenseI64ArrayAttr::get(parts.getContext(), numbers));
    else
      smaller.erase(name);
  }
  return smaller.getDictionary(parts.getContext());
}

mlir::DictionaryAttr Scaler::scaledParts(mlir::DictionaryAttr parts, mlir::Value value) const {
  return scaledParts(parts, [&](llvm::StringRef name) {
    for (unsigned dim = 0; dim < dimsOf(value).size(); ++dim)
      if (name == "d" + std::to_string(dim))
        return isScaled(value, dim);
    return false;
  });
}

/// The first elements of each dim.
void Scaler::addConstant(ConstantOp constant) {
  auto type = llvm::cast<mlir::RankedTensorType>(scaled(constant.getOutput()));
  Tensor whole = Tensor::read(llvm::cast<mlir::DenseElementsAttr>(constant.getValue())), first = zeros(type);
  int64_t position = 0;
  forEachIndex(first.dims, [&](llvm::ArrayRef<int64_t> index) {
    size_t from = 0;
    for (auto [at, size] : llvm::zip_equal(index, whole.dims))
      from = from * static_cast<size_t>(size) + static_cast<size_t>(at);
    if (first.isFloat())
      first.floats[static_cast<size_t>(position++)] = whole.floats[from];
    else
      first.ints[static_cast<size_t>(position++)] = whole.ints[from];
  });
  copies[constant.getOutput()] = ConstantOp::create(builder, constant.getLoc(), first.toAttribute());
}

bool Scaler::addOp(mlir::Operation *op) {
  if (!tied.hasRule(op))
    return false;
  const FactorRule &rule = tied.ruleOf(op);
  Strategy strategy;
  strategy.axes.resize(rule.factors.size());
  strategy.partialInputs.resize(rule.linear.size());
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor)
    if (sets.test(tied.setOf(op, factor)))
      strategy.axes[factor].push_back(AxisId(0));
  auto operands = llvm::map_to_vector(op->getOperands(), [&](mlir::Value operand) { return copies.lookup(operand); });
  LocalOp local(builder, op, rule, strategy, mesh);
  local.operands.assign(operands.begin(), operands.end());
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    local.resultTypes[index] = scaled(result);
  mlir::Block *block = builder.getInsertionBlock();
  mlir::Operation *last = block->empty() ? nullptr : &block->back();
  llvm::cast<OperatorInterface>(op).localize(local);
  if (local.operands.size() > operands.size()) {
    // Offsets belong to pieces of a larger whole; here the whole is smaller.
    local.attributes = mlir::NamedAttrList(op->getAttrDictionary());
    local.operands.assign(operands.begin(), operands.end());
    while (!block->empty() && &block->back() != last)
      block->back().erase();
  }
  // So do attributes that only pieces have: the number of elements that a mean is over.
  for (mlir::NamedAttribute attribute : llvm::to_vector(local.attributes.getAttrs()))
    if (!op->hasAttr(attribute.getName()))
      local.attributes.erase(attribute.getName());
  if (auto parts = op->getAttrOfType<mlir::DictionaryAttr>(partsAttribute)) {
    mlir::DictionaryAttr smaller = scaledParts(parts, [&](llvm::StringRef factor) { return isScaled(op, factor); });
    if (!smaller)
      return false;
    local.attributes.set(partsAttribute, smaller);
  }
  mlir::Operation *created = local.create();
  for (auto [original, copy] : llvm::zip_equal(op->getResults(), created->getResults()))
    copies[original] = copy;
  return mlir::succeeded(verifyOperator(created));
}

mlir::OwningOpRef<mlir::ModuleOp> Scaler::run() {
  DiagnosticCapture quiet(main.getContext());
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(main.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  mlir::Operation *end = main.front().getTerminator();
  auto type = builder.getFunctionType(
      llvm::map_to_vector(main.getArguments(), [&](mlir::Value argument) { return scaled(argument); }),
      llvm::map_to_vector(end->getOperands(), [&](mlir::Value result) { return scaled(result); }));
  auto function = mlir::func::FuncOp::create(builder, main.getLoc(), "main", type);
  function.setAllArgAttrs(main.getAllArgAttrs());
  function.setAllResultAttrs(main.getAllResultAttrs());
  for (auto [index, result] : llvm::enumerate(end->getOperands()))
    if (auto parts = main.getResultAttrOfType<mlir::DictionaryAttr>(static_cast<unsigned>(index), partsAttribute))
      function.setResultAttr(static_cast<unsigned>(index), partsAttribute, scaledParts(parts, result));
  builder.setInsertionPointToStart(function.addEntryBlock());
  for (auto [original, copy] : llvm::zip_equal(main.getArguments(), function.getArguments()))
    copies[original] = copy;
  for (mlir::Operation &op : main.front().without_terminator()) {
    if (auto constant = llvm::dyn_cast<ConstantOp>(op)) {
      addConstant(constant);
    } else if (llvm::isa<ParameterOp, NoneOp>(op)) {
      mlir::Operation *copy = builder.clone(op);
      copy->getResult(0).setType(scaled(op.getResult(0)));
      if (auto parts = op.getAttrOfType<mlir::DictionaryAttr>(partsAttribute))
        copy->setAttr(partsAttribute, scaledParts(parts, op.getResult(0)));
      copies[op.getResult(0)] = copy->getResult(0);
    } else if (!addOp(&op)) {
      culprit = &op;
      return {};
    }
  }
  mlir::func::ReturnOp::create(builder, end->getLoc(), llvm::map_to_vector(end->getOperands(), [&](mlir::Value result) {
                                 return copies.lookup(result);
                               }));
  return module;
}

/// Removes sets of `op`: those of its whole factors, or of all its factors where none is whole.
void exclude(mlir::Operation *op, const TiedDims &tied, llvm::BitVector &sets) {
  bool excluded = false;
  for (bool wholeOnly : {true, false}) {
    for (unsigned factor = 0; tied.hasRule(op) && factor < tied.ruleOf(op).factors.size(); ++factor) {
      unsigned set = tied.setOf(op, factor);
      if (sets.test(set) && (!wholeOnly || tied.ruleOf(op).factors[factor].whole)) {
        sets.reset(set);
        excluded = true;
      }
    }
    if (excluded)
      return;
  }
  sets.reset(); // no factor of the op explains the failure: nothing can be divided
}

} // namespace

llvm::Expected<unsigned> scaleHidden(mlir::ModuleOp module, int64_t divisor) {
  auto main = mainOf(module);
  if (!main || divisor < 2)
    return inputError("hidden sizes cannot be divided by {0}; 2 is the least", divisor);
  TiedDims tied(main);
  llvm::BitVector sets = tied.scalable(divisor);
  while (sets.any()) {
    Scaler scaler(main, tied, sets, divisor);
    if (mlir::OwningOpRef<mlir::ModuleOp> smaller = scaler.run()) {
      module.getBodyRegion().takeBody(smaller->getBodyRegion());
      return sets.count();
    }
    exclude(scaler.culprit, tied, sets);
  }
  return inputError("no hidden size can be divided by {0}: sizes are no multiples of it, or ops need them as they are",
                    divisor);
}

} // namespace apc
