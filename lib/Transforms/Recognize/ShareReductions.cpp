// Softmaxes, attentions and normalisations of rows that devices may share: taken apart where that can pay.
#include "Recognizers.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

#include "llvm/ADT/DenseSet.h"

namespace apc {

namespace {

/// A dim of a value.
struct ValueDim {
  mlir::Value value;
  unsigned dim;
};

/// Is the value made of parameters and constants alone?
bool isMadeOfWeights(mlir::Value value) {
  llvm::SmallVector<mlir::Value> open{value};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    mlir::Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    mlir::Operation *op = next.getDefiningOp();
    bool isSource = op && llvm::isa<ParameterOp, ConstantOp, NoneOp>(op);
    if (!op || (!isSource && op->getNumOperands() == 0))
      return false;
    if (!isSource)
      llvm::append_range(open, op->getOperands());
  }
  return true;
}

/// The dim of `tensor` whose major factor is `factor`.
std::optional<unsigned> dimOf(const RuleTensor &tensor, FactorId factor) {
  for (auto [dim, factors] : llvm::enumerate(tensor.dims))
    if (!factors.empty() && factors.front() == factor)
      return static_cast<unsigned>(dim);
  return std::nullopt;
}

/// Can the values be made with this dim cut, and does nothing else read them? They come out of contractions, whose
/// results may be cut along any dim, through ops that keep the dim; weights may be cut anyhow.
bool comesCut(ValueDim at) {
  mlir::Operation *op = at.value.getDefiningOp();
  auto operation = llvm::dyn_cast_if_present<OperatorInterface>(op);
  // Statistics are read beside the rows that they are of.
  auto readsRows = [](mlir::Operation *user) { return !user->hasAttr(passAttribute); };
  if (!operation || llvm::count_if(at.value.getUsers(), readsRows) != 1)
    return false;
  mlir::FailureOr<FactorRule> rule = operation.getRule();
  if (mlir::failed(rule))
    return false;
  const DimFactors &factors = rule->results[llvm::cast<mlir::OpResult>(at.value).getResultNumber()].dims[at.dim];
  if (factors.empty() || rule->factor(factors.front()).whole)
    return false;
  if (rule->work == Work::Contraction)
    return true;
  bool isMade = false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    std::optional<unsigned> dim = dimOf(rule->operands[index], factors.front());
    if (!dim || isMadeOfWeights(operand) || isTakenInPass(operand))
      continue;
    if (!comesCut({operand, *dim}))
      return false;
    isMade = true;
  }
  return isMade;
}

/// Tensors of fewer bytes move as fast as numbers for their rows do: collectives take some 25 us to begin, in which
/// 1 MiB passes between devices of a node at 40 GB/s.
constexpr int64_t leastBytes = int64_t(1) << 20;

/// Is a tensor large, and has it no more rows than a row has elements?
bool hasLongRows(const FactorRule &rule) {
  int64_t length = 1, rows = 1;
  for (const DimFactors &dim : rule.operands[0].dims)
    for (FactorId factor : dim)
      (rule.factor(factor).whole ? length : rows) *= rule.factor(factor).size;
  return rows <= length && rule.operandShape(0).bytes() >= leastBytes;
}

/// Are keys and values larger than what devices that share them exchange instead: twice the results, which they sum?
bool hasLongKeys(mlir::Operation *attention) {
  int64_t held = 0;
  for (unsigned keysOrValues : {1, 2})
    held += shapeOf(attention->getOperand(keysOrValues))->bytes();
  return held >= leastBytes && held > 2 * shapeOf(attention->getResult(0))->bytes();
}

/// Is the dim whole from its first factor on? A dim (g c) of whole groups c is cut along g, and nothing is exchanged.
bool isWhole(const FactorRule &rule, const DimFactors &dim) {
  const auto *first = llvm::find_if(dim, [&](FactorId factor) { return rule.factor(factor).size > 1; });
  return first != dim.end() && rule.factor(*first).whole;
}

/// May it pay to cut a dim that the op reduces?
bool mayPay(mlir::Operation *op, bool trains) {
  if (maySplitKeys(op))
    return hasLongKeys(op);
  mlir::FailureOr<FactorRule> rule = llvm::cast<OperatorInterface>(op).getRule();
  if (mlir::failed(rule))
    return false;
  for (auto [dim, factors] : llvm::enumerate(rule->operands[0].dims))
    if (isWhole(*rule, factors) && comesCut({op->getOperand(0), static_cast<unsigned>(dim)}))
      return true;
  // Weights along the reduced dims are larger than these; those along channels are not.
  bool areFeatures = !llvm::isa<InstanceNormalizationOp, GroupNormalizationOp>(op);
  return trains && areFeatures && hasLongRows(*rule);
}

} // namespace

void shareReductions(mlir::ModuleOp module, bool trains, SharesRows shares, RecognizedComposites &counts) {
  mlir::func::FuncOp main = mainOf(module);
  // Ops of a training step have their gradients.
  bool isSettled = !main || module->hasAttr(rowsAttribute) ||
                   llvm::any_of(main.front(), [](mlir::Operation &op) { return op.hasAttr(tieAttribute); });
  if (isSettled)
    return;
  mlir::OpBuilder builder(module.getContext());
  module->setAttr(rowsAttribute, builder.getUnitAttr());
  for (mlir::Operation &op : llvm::make_early_inc_range(main.front().without_terminator())) {
    auto location = llvm::dyn_cast<mlir::NameLoc>(op.getLoc());
    bool isShared =
        mayTakeApart(&op) && (shares ? location && shares(location.getName().strref()) : mayPay(&op, trains));
    if (isShared && takeApart(builder, &op))
      ++counts.shared;
  }
}

} // namespace apc
