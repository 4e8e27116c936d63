// A fixed point over the ops of `main`, in which factors hand the batch on from dim to dim.
#include "apc/IR/Program/FindBatch.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The rule of a loss that adds up its rows as if it did not: labels, which are whole on every device, have the rows of
/// the scores. Failure for other ops.
mlir::FailureOr<FactorRule> ruleByRow(mlir::Operation *op) {
  auto reduction = op->getAttrOfType<mlir::StringAttr>("reduction");
  if (!reduction || reduction.getValue() == "none" || !llvm::isa<OperatorInterface>(op))
    return mlir::failure();
  mlir::OpBuilder builder(op);
  mlir::Operation *copy = builder.clone(*op);
  copy->setAttr("reduction", builder.getStringAttr("none"));
  auto interface = llvm::cast<OperatorInterface>(copy);
  llvm::SmallVector<mlir::Type, 2> types;
  mlir::FailureOr<FactorRule> rule = mlir::failure();
  if (mlir::succeeded(interface.inferTypes(types)) && types.size() == copy->getNumResults()) {
    for (auto [result, type] : llvm::zip_equal(copy->getResults(), types))
      if (!isAbsent(result))
        result.setType(type);
    rule = interface.getRule();
  }
  copy->erase();
  return rule;
}

/// Does an op keep all elements of its operand in their order, in other dims?
bool regroupsDims(mlir::Operation *op, const FactorRule &rule) {
  if (rule.work != Work::View || op->getNumOperands() == 0 || rule.results.size() != 1)
    return false;
  auto factorsOf = [](const RuleTensor &tensor) {
    llvm::SmallVector<FactorId> factors;
    for (const DimFactors &dim : tensor.dims)
      factors.append(dim.begin(), dim.end());
    return factors;
  };
  return dimsOf(op->getOperand(0)) != dimsOf(op->getResult(0)) &&
         factorsOf(rule.operands.front()) == factorsOf(rule.results.front());
}

/// The batch in a factor: with so many elements inside.
using Place = std::pair<FactorId, int64_t>;

/// Calls `visit` with the value, the dim, each of its factors and the number of elements inside it.
static void forEachFactor(mlir::Operation *op, const FactorRule &rule,
                          llvm::function_ref<void(mlir::Value, unsigned, FactorId, int64_t)> visit) {
  auto visitAll = [&](mlir::ValueRange values, llvm::ArrayRef<RuleTensor> tensors) {
    for (auto [value, tensor] : llvm::zip(values, tensors))
      for (auto [dim, factors] : llvm::enumerate(tensor.dims)) {
        int64_t inside = 1;
        for (FactorId factor : llvm::reverse(factors)) {
          visit(value, static_cast<unsigned>(dim), factor, inside);
          inside *= rule.factor(factor).size;
        }
      }
  };
  visitAll(op->getOperands(), rule.operands);
  if (op->getNumResults() > 0 && dimsOf(op->getResult(0)).size() == rule.results[0].dims.size())
    visitAll(op->getResults(), rule.results);
}

} // namespace

BatchFinder::BatchFinder(mlir::func::FuncOp main, int64_t batch) : batch(batch) {
  for (mlir::Operation &op : main.front().without_terminator()) {
    auto interface = llvm::dyn_cast<OperatorInterface>(op);
    mlir::FailureOr<FactorRule> rule = interface ? interface.getRule() : mlir::FailureOr<FactorRule>();
    if (mlir::failed(rule))
      continue;
    order.push_back(&op);
    rules.try_emplace(&op, std::move(*rule));
  }
  DiagnosticCapture quiet(main.getContext());
  for (mlir::Operation *op : order)
    if (mlir::FailureOr<FactorRule> rule = ruleByRow(op); mlir::succeeded(rule))
      byRow.try_emplace(op, std::move(*rule));
}

void BatchFinder::mark(mlir::Value value, unsigned dim, int64_t inside) {
  llvm::SmallVector<int64_t, 1> &known = carrying[{value, dim}];
  if (llvm::is_contained(known, inside))
    return;
  known.push_back(inside);
  ++numMarks;
}

size_t BatchFinder::timesCarried(mlir::Value value, unsigned dim) const {
  auto found = carrying.find({value, dim});
  return found == carrying.end() ? 0 : found->second.size();
}

bool BatchFinder::carriesAny(mlir::Value value) const {
  for (unsigned dim = 0; dim < dimsOf(value).size(); ++dim)
    if (timesCarried(value, dim) > 0)
      return true;
  return false;
}

const FactorRule *BatchFinder::ruleOf(mlir::Operation *op) const {
  auto found = rules.find(op);
  return found == rules.end() ? nullptr : &found->second;
}

void BatchFinder::spread() {
  for (size_t before = 0; before != numMarks;) {
    before = numMarks;
    for (mlir::Operation *op : order)
      spreadBy(op);
    for (mlir::Operation *op : llvm::reverse(order))
      spreadBy(op);
  }
}

/// The batch of 1 in a dim of the operand, in front of `inside` elements of it, for an op that keeps the order of all
/// elements: the first dim of 1 behind as many elements outside, or a part of a larger one.
void BatchFinder::spreadInOrder(mlir::Operation *op, unsigned dim, int64_t inside) {
  llvm::ArrayRef<int64_t> from = dimsOf(op->getOperand(0)), to = dimsOf(op->getResult(0));
  int64_t outside = from[dim] / inside;
  for (int64_t size : from.take_front(dim))
    outside *= size;
  int64_t before = 1;
  std::optional<unsigned> within;
  for (auto [index, size] : llvm::enumerate(to)) {
    if (before == outside && size == 1)
      return mark(op->getResult(0), static_cast<unsigned>(index), 1);
    bool isWithin = before <= outside && outside < before * size && outside % before == 0;
    if (isWithin && size % (outside / before) == 0)
      within = static_cast<unsigned>(index);
    before *= size;
    if (within == index)
      mark(op->getResult(0), *within, before / outside);
  }
}

void BatchFinder::spreadBy(mlir::Operation *op) {
  auto loss = byRow.find(op);
  const FactorRule &rule = loss == byRow.end() ? *ruleOf(op) : loss->second;
  if (batch == 1 && regroupsDims(op, rule)) {
    for (unsigned dim = 0; dim < dimsOf(op->getOperand(0)).size(); ++dim)
      if (auto known = carrying.find({op->getOperand(0), dim}); known != carrying.end())
        for (int64_t inside : llvm::SmallVector<int64_t, 1>(known->second))
          spreadInOrder(op, dim, inside);
    return;
  }
  llvm::SmallVector<Place, 2> places;
  forEachFactor(op, rule, [&](mlir::Value value, unsigned dim, FactorId factor, int64_t inside) {
    auto known = carrying.find({value, dim});
    if (known == carrying.end())
      return;
    for (int64_t own : known->second) {
      Place place{factor, own / inside};
      bool isHere = own % inside == 0 && rule.factor(factor).size % (place.second * batch) == 0;
      if (own >= inside && isHere && !llvm::is_contained(places, place))
        places.push_back(place);
    }
  });
  if (!places.empty())
    forEachFactor(op, rule, [&](mlir::Value value, unsigned dim, FactorId factor, int64_t inside) {
      bool isGiven = batch == 1 && value.getDefiningOp() != op; // a dim of 1 may be there for every sample
      for (auto [carrier, own] : places)
        if (carrier == factor && !isGiven)
          mark(value, dim, own * inside);
    });
}

mlir::Value batchArgument(mlir::func::FuncOp main) {
  for (mlir::BlockArgument argument : main.getArguments())
    if (!dimsOf(argument).empty())
      return argument;
  return {};
}

BatchFinder findBatch(mlir::func::FuncOp main, int64_t batch) {
  BatchFinder finder(main, batch);
  finder.mark(batchArgument(main), 0, 1);
  const bool areMarked = hasBatchMarks(main);
  for (mlir::BlockArgument argument : main.getArguments()) {
    auto marked = main.getArgAttrOfType<mlir::IntegerAttr>(argument.getArgNumber(), batchDimAttribute);
    llvm::ArrayRef<int64_t> dims = dimsOf(argument);
    if (batch == 1 && marked)
      finder.mark(argument, static_cast<unsigned>(marked.getInt()), dims[marked.getInt()]);
    else if (batch == 1 && !areMarked && dims.size() > 1 && dims[0] == 1)
      finder.mark(argument, 0, 1);
  }
  finder.spread();
  return finder;
}

bool hasBatchMarks(mlir::func::FuncOp main) {
  return llvm::any_of(main.getArguments(), [&](mlir::BlockArgument argument) {
    return main.getArgAttr(argument.getArgNumber(), batchDimAttribute) != nullptr;
  });
}

} // namespace apc
