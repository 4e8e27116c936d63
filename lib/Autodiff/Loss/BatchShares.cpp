// One walk over the ops of `main` in their order.
#include "BatchShares.h"

#include "Quotients.h"

#include "apc/Autodiff/MixedSamples.h"
#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Gradient.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"
#include "apc/IR/PlaceName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace apc {

namespace {

/// Ops that add up what factors of their operands go over, and nothing else.
bool addsUp(mlir::Operation *op, const FactorRule &rule) {
  if (llvm::isa<ReduceSumOp, ReduceMeanOp, ReduceSumSquareOp, ReduceL1Op>(op))
    return true;
  bool hasAddend = llvm::any_of(llvm::cast<OperatorInterface>(op).getAddends(), [&](unsigned index) {
    return index < op->getNumOperands() && !isAbsent(op->getOperand(index));
  });
  return rule.work == Work::Contraction && isFloat(op->getResult(0)) && !hasAddend;
}

/// How often a constant has the batch as a factor; none where it was not made from it.
std::optional<int64_t> powerOfBatch(mlir::Operation *op) {
  auto power = op->getAttrOfType<mlir::IntegerAttr>(batchPowerAttribute);
  return power && llvm::isa<ConstantOp>(op) ? std::optional(power.getInt()) : std::nullopt;
}

/// Groups of operands in which `op` is linear. Products are so in each factor, though sums do not enter them partial.
llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2> linearGroups(mlir::Operation *op, const FactorRule &rule) {
  if (!llvm::isa<MatMulOp, EinsumOp>(op))
    return rule.linear;
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2> groups;
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    groups.push_back({index});
  return groups;
}

bool isTerm(BatchShare share) {
  return share == BatchShare::Sum || share == BatchShare::Mean || share == BatchShare::Terms;
}

bool isSummed(BatchShare share) { return isTerm(share) || share == BatchShare::Quotient || share == BatchShare::Mixed; }

int64_t batchOfArgument(mlir::func::FuncOp main) {
  mlir::Value first = batchArgument(main);
  return first ? dimsOf(first)[0] : 0;
}

BatchFinder finderOf(mlir::func::FuncOp main) {
  int64_t batch = batchOfArgument(main);
  return batch > 0 ? findBatch(main, batch) : BatchFinder(main, 1);
}

} // namespace

BatchShares::BatchShares(mlir::func::FuncOp main, const llvm::StringSet<> &trained)
    : trained(trained), finder(finderOf(main)) {
  for (mlir::BlockArgument argument : main.getArguments())
    shares[argument] = finder.carriesAny(argument) ? BatchShare::Rows : BatchShare::Same;
  for (mlir::Operation &op : main.front().without_terminator()) {
    BatchShare share = shareOf(&op);
    if (!firstMixer && mixesRows(&op))
      firstMixer = &op;
    mlir::Operation *since = &op;
    for (mlir::Value operand : op.getOperands())
      if (mlir::Operation *earlier = unknownSince(operand); earlier && since == &op)
        since = earlier;
    for (mlir::Value result : op.getResults()) {
      shares[result] = finder.carriesAny(result) ? BatchShare::Rows : share;
      if (of(result) == BatchShare::Unknown || of(result) == BatchShare::Mixed)
        unknown[result] = since;
    }
  }
}

/// Along a dim that carries the batch once an op goes over all rows, or needs them together. Dims that carry it several
/// times are batches behind each other, which ops take apart.
bool BatchShares::mixesAlong(const FactorRule &rule, mlir::Value value, const RuleTensor &tensor) const {
  for (auto [dim, factors] : llvm::enumerate(tensor.dims))
    if (finder.timesCarried(value, static_cast<unsigned>(dim)) == 1)
      for (FactorId factor : factors)
        if (rule.isReduction(factor) || (rule.factor(factor).whole && rule.factor(factor).size > 1))
          return true;
  return false;
}

bool BatchShares::mixesRows(mlir::Operation *op) const {
  if (llvm::isa<ConcatOp>(op) || llvm::none_of(op->getResults(), [&](mlir::Value r) { return finder.carriesAny(r); }))
    return false;
  auto isOfAll = [&](mlir::Value operand) {
    return isFloat(operand) &&
           (isSummed(of(operand)) || (of(operand) == BatchShare::Unknown && !finder.carriesAny(operand)));
  };
  if (llvm::any_of(op->getOperands(), isOfAll))
    return true;
  const FactorRule *rule = finder.ruleOf(op);
  if (!rule || rule->work == Work::View)
    return false;
  return llvm::any_of(llvm::zip_equal(op->getOperands(), rule->operands),
                      [&](const auto &each) { return mixesAlong(*rule, std::get<0>(each), std::get<1>(each)); });
}

llvm::ArrayRef<unsigned> BatchShares::termsOf(mlir::Operation *op) const {
  auto found = terms.find(op);
  return found == terms.end() ? llvm::ArrayRef<unsigned>() : llvm::ArrayRef<unsigned>(found->second);
}

/// A reduction over the batch of operands with rows.
BatchShare BatchShares::reduced(mlir::Operation *op, const FactorRule &rule) const {
  bool isReduced = false;
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands)) {
    if (of(value) == BatchShare::Same)
      continue;
    if (of(value) != BatchShare::Rows)
      return BatchShare::Unknown;
    for (auto [dim, factors] : llvm::enumerate(tensor.dims)) {
      if (finder.timesCarried(value, static_cast<unsigned>(dim)) == 0)
        continue;
      for (FactorId factor : factors) {
        if (!rule.isReduction(factor))
          continue;
        if (rule.factor(factor).whole || rule.factor(factor).combiner != Combiner::Sum)
          return BatchShare::Unknown;
        isReduced = true;
      }
    }
  }
  if (!isReduced || !addsUp(op, rule))
    return BatchShare::Unknown;
  return llvm::isa<ReduceMeanOp>(op) ? BatchShare::Mean : BatchShare::Sum;
}

/// An op that is linear in `terms`, all of its operands that depend on the batch.
BatchShare BatchShares::joined(mlir::Operation *op, llvm::ArrayRef<unsigned> terms) {
  auto all = [&](auto isOne) {
    return llvm::all_of(terms, [&](unsigned index) { return isOne(of(op->getOperand(index))); });
  };
  if (all([](BatchShare share) { return share == BatchShare::Sum; }))
    return BatchShare::Sum;
  if (all([](BatchShare share) { return share == BatchShare::Mean || share == BatchShare::Same; }))
    return BatchShare::Mean;
  if (all([](BatchShare share) { return isTerm(share) || share == BatchShare::Same; }))
    return BatchShare::Terms;
  bool isKnown = all([](BatchShare share) { return isSummed(share) || share == BatchShare::Same; });
  return isKnown ? joinedQuotients(op, terms) : BatchShare::Unknown;
}

/// The same for terms some of which are quotients. A value r that no sample changes may stand beside quotients a / b,
/// as (a + r b) / b, where no number bounds b.
BatchShare BatchShares::joinedQuotients(mlir::Operation *op, llvm::ArrayRef<unsigned> terms) {
  mlir::Operation *first = nullptr;
  bool areAlike = true, hasSame = false;
  for (unsigned index : terms) {
    mlir::Value term = op->getOperand(index);
    mlir::Operation *own = of(term) == BatchShare::Quotient ? dividerOf(term.getDefiningOp()) : nullptr;
    hasSame |= of(term) == BatchShare::Same;
    areAlike &= own ? !first || divideAlike(first, own) : of(term) == BatchShare::Same;
    if (!first)
      first = own;
  }
  bool isBounded = first && !countsLabels(first) && clampOf(first->getOperand(1));
  if (!areAlike || (hasSame && isBounded))
    return BatchShare::Mixed;
  dividers[op] = first;
  return BatchShare::Quotient;
}

/// Does `value` depend on what is trained?
bool BatchShares::dependsOnWeights(mlir::Value value) const {
  llvm::SetVector<mlir::Operation *> behind;
  auto add = [&](mlir::Value each) {
    if (mlir::Operation *op = each.getDefiningOp())
      behind.insert(op);
  };
  add(value);
  for (size_t next = 0; next < behind.size(); ++next) {
    mlir::Operation *op = behind[next];
    if (auto parameter = llvm::dyn_cast<ParameterOp>(op); parameter && trained.contains(parameter.getName()))
      return true;
    bool isDerived = llvm::any_of(op->getResults(), [](mlir::Value each) { return !isAbsent(each) && isFloat(each); });
    if (!isDerived)
      continue; // no gradient goes through integers and truth values
    llvm::for_each(op->getOperands(), add);
  }
  return false;
}

/// One number, the second, divides the first, and is no function of weights.
bool BatchShares::isQuotient(mlir::Operation *op) const {
  if (!llvm::isa<DivOp>(op) || !isFloat(op->getResult(0)))
    return false;
  mlir::Value above = op->getOperand(0), below = op->getOperand(1);
  bool isOne = llvm::all_of(dimsOf(below), [](int64_t size) { return size == 1; });
  std::optional<Clamped> clamped = clampOf(below);
  mlir::Value counted = clamped ? clamped->value : below;
  bool isCounted = isTerm(of(counted)) && (isFloat(counted) || of(counted) == BatchShare::Sum);
  bool follow = isCounted && (isTerm(of(above)) || of(above) == BatchShare::Same);
  return isOne && follow && above.getType() == op->getResult(0).getType() && !dependsOnWeights(below);
}

/// A constant that was made from the batch, or one number times or over such a constant.
std::optional<BatchShare> BatchShares::byNumberOfBatch(mlir::Operation *op) const {
  if (std::optional<int64_t> power = powerOfBatch(op))
    return *power == 1 ? BatchShare::Sum : BatchShare::Unknown;
  if (!llvm::isa<MulOp, DivOp>(op) || !isFloat(op->getResult(0)))
    return std::nullopt;
  mlir::Operation *last = op->getOperand(1).getDefiningOp(), *first = op->getOperand(0).getDefiningOp();
  std::optional<int64_t> power = last ? powerOfBatch(last) : std::nullopt;
  mlir::Value other = op->getOperand(0);
  if (llvm::isa<MulOp>(op) && !power && first) {
    power = powerOfBatch(first);
    other = op->getOperand(1);
  } else if (llvm::isa<DivOp>(op) && power) {
    power = -*power;
  }
  if (power == -1 && of(other) == BatchShare::Sum)
    return BatchShare::Mean;
  if (power == 1 && (of(other) == BatchShare::Mean || of(other) == BatchShare::Same))
    return BatchShare::Sum;
  return std::nullopt;
}

BatchShare BatchShares::shareOf(mlir::Operation *op) {
  if (std::optional<BatchShare> share = byNumberOfBatch(op))
    return *share;
  auto isSame = [&](mlir::Value operand) { return of(operand) == BatchShare::Same; };
  if (llvm::all_of(op->getOperands(), isSame))
    return BatchShare::Same;
  auto isOfSums = [&](mlir::Value operand) { return isSummed(of(operand)); };
  if (isLossOfLabels(op) && !hasReduction(op, "none") && llvm::none_of(op->getOperands(), isOfSums)) {
    if (!countsLabels(op))
      return hasReduction(op, "sum") ? BatchShare::Sum : BatchShare::Mean;
    dividers[op] = op;
    return BatchShare::Quotient;
  }
  const FactorRule *rule = finder.ruleOf(op);
  if (!rule)
    return BatchShare::Unknown;
  if (isQuotient(op)) {
    dividers[op] = op;
    return BatchShare::Quotient;
  }
  for (llvm::ArrayRef<unsigned> group : linearGroups(op, *rule)) {
    auto isOutside = [&](unsigned index) { return !llvm::is_contained(group, index); };
    auto others = llvm::make_filter_range(llvm::seq(op->getNumOperands()), isOutside);
    bool hasRows = llvm::any_of(group, [&](unsigned index) { return of(op->getOperand(index)) == BatchShare::Rows; });
    if (hasRows || !llvm::all_of(others, [&](unsigned index) { return isSame(op->getOperand(index)); }))
      continue;
    terms[op].assign(group.begin(), group.end());
    return joined(op, group);
  }
  return reduced(op, *rule);
}

std::string mixerOfSamples(mlir::func::FuncOp main) {
  mlir::Operation *mixer = BatchShares(main, /*trained=*/{}).mixer();
  return mixer ? placeName(mixer).str() : "";
}

} // namespace apc
