// Wishes for cuts inside parts, carried from users to producers.
#include "apc/IR/Program/FindParts.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Program/Parts.h"
#include "apc/IR/Program/PlanNames.h"

#include <unordered_map>

namespace apc {

namespace {

/// The factor that is the whole of a dim, or none.
std::optional<FactorId> onlyFactor(const DimFactors &dim) {
  return dim.size() == 1 ? std::optional(dim.front()) : std::nullopt;
}

/// The parts that slices of one dim make of it: between all their ends. None unless each slice takes one of them.
llvm::SmallVector<int64_t, 4> tiles(llvm::ArrayRef<SlicedDim> taken, int64_t size) {
  llvm::SmallVector<int64_t, 8> ends = {0, size};
  for (const SlicedDim &slice : taken)
    ends.append({slice.start, slice.start + slice.count});
  llvm::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (const SlicedDim &slice : taken)
    if (*std::next(llvm::find(ends, slice.start)) != slice.start + slice.count)
      return {};
  llvm::SmallVector<int64_t, 4> sizes;
  for (size_t i = 1; i < ends.size(); ++i)
    sizes.push_back(ends[i] - ends[i - 1]);
  return sizes;
}

class PartFinder {
public:
  explicit PartFinder(mlir::func::FuncOp main) : main(main) {}

  void run() {
    for (mlir::Operation &op : main.front())
      op.removeAttr(partsAttribute);
    readRules();
    for (mlir::Operation &op : llvm::reverse(main.front().without_terminator()))
      visit(&op);
  }

private:
  using Sizes = llvm::SmallVector<int64_t, 4>;

  void readRules();
  void visit(mlir::Operation *op);
  /// The parts of `dim` that all users of `value` want; none when one wants something else.
  Sizes wishOf(mlir::Value value, unsigned dim);
  Sizes wishOfSlices(mlir::Value value, unsigned dim);
  /// Marks a Reshape that takes the major factor of a dim apart.
  void visitReshape(ReshapeOp op);
  bool needsWhole(mlir::Value value, unsigned dim, unsigned depth) const;
  bool comesFromProduct(mlir::Value value, unsigned dim, unsigned depth) const;
  void mark(mlir::Operation *op, llvm::StringRef name, llvm::ArrayRef<int64_t> numbers);

  const FactorRule *ruleOf(mlir::Operation *op) const {
    auto found = rules.find(op);
    return found == rules.end() ? nullptr : &found->second;
  }

  mlir::func::FuncOp main;
  std::unordered_map<mlir::Operation *, FactorRule> rules;
};

/// Ops without a rule are left out: whoever plans them says so.
void PartFinder::readRules() {
  DiagnosticCapture ignored(main.getContext());
  for (mlir::Operation &op : main.front().without_terminator()) {
    if (!llvm::isa<OperatorInterface>(op) || llvm::isa<ConstantOp, NoneOp, ParameterOp>(op))
      continue;
    if (mlir::FailureOr<FactorRule> rule = plannedRule(&op); mlir::succeeded(rule))
      rules.try_emplace(&op, std::move(*rule));
  }
}

void PartFinder::mark(mlir::Operation *op, llvm::StringRef name, llvm::ArrayRef<int64_t> numbers) {
  markParts(op, name, numbers);
  if (auto found = rules.find(op); found != rules.end())
    if (mlir::FailureOr<FactorRule> rule = plannedRule(op); mlir::succeeded(rule))
      found->second = std::move(*rule);
}

PartFinder::Sizes PartFinder::wishOf(mlir::Value value, unsigned dim) {
  Sizes wish;
  bool hasSlices = false;
  for (mlir::OpOperand &use : value.getUses()) {
    const FactorRule *rule = ruleOf(use.getOwner());
    if (!rule)
      return {};
    const RuleTensor &tensor = rule->operands[use.getOperandNumber()];
    llvm::ArrayRef<int64_t> sizes = partsOf(tensor.parted, dim);
    bool isWhole = llvm::all_of(tensor.dims[dim], [&](FactorId id) { return rule->factor(id).whole; });
    hasSlices |= llvm::isa<SliceOp>(use.getOwner());
    if (sizes.empty() ? !isWhole : !wish.empty() && llvm::ArrayRef<int64_t>(wish) != sizes)
      return {};
    if (!sizes.empty())
      wish.assign(sizes.begin(), sizes.end());
  }
  return wish.empty() && hasSlices ? wishOfSlices(value, dim) : wish;
}

PartFinder::Sizes PartFinder::wishOfSlices(mlir::Value value, unsigned dim) {
  llvm::SmallVector<SliceOp> slices;
  llvm::SmallVector<SlicedDim, 4> taken;
  int64_t size = dimsOf(value)[dim];
  for (mlir::OpOperand &use : value.getUses()) {
    auto slice = llvm::dyn_cast<SliceOp>(use.getOwner());
    auto sliced = slice ? slicedDims(slice) : mlir::FailureOr<llvm::SmallVector<SlicedDim, 4>>();
    if (mlir::failed(sliced) || (*sliced)[dim].count == size)
      continue;
    if ((*sliced)[dim].step != 1 || (*sliced)[dim].count == 0)
      return {};
    slices.push_back(slice);
    taken.push_back((*sliced)[dim]);
  }
  if (slices.size() < 2 || !comesFromProduct(value, dim, /*depth=*/8))
    return {};
  Sizes sizes = tiles(taken, size);
  if (sizes.size() < 2 || commonDivisor(sizes) < 2)
    return {};
  Sizes numbers = {static_cast<int64_t>(dim)};
  numbers.append(sizes);
  for (SliceOp slice : slices)
    mark(slice, partedDataName, numbers);
  return sizes;
}

bool PartFinder::comesFromProduct(mlir::Value value, unsigned dim, unsigned depth) const {
  mlir::Operation *op = value.getDefiningOp();
  const FactorRule *rule = op ? ruleOf(op) : nullptr;
  if (!rule || depth == 0)
    return false;
  unsigned result = llvm::cast<mlir::OpResult>(value).getResultNumber();
  std::optional<FactorId> factor = onlyFactor(rule->results[result].dims[dim]);
  if (!factor || rule->factor(*factor).whole)
    return false;
  if (rule->work == Work::Contraction)
    return true;
  for (auto [index, tensor] : llvm::enumerate(rule->operands))
    for (auto [operandDim, factors] : llvm::enumerate(tensor.dims))
      if (onlyFactor(factors) == factor &&
          comesFromProduct(op->getOperand(static_cast<unsigned>(index)), static_cast<unsigned>(operandDim), depth - 1))
        return true;
  return false;
}

/// True when every user needs `dim` whole, or hands it on to users that do.
bool PartFinder::needsWhole(mlir::Value value, unsigned dim, unsigned depth) const {
  return depth > 0 && !value.use_empty() && llvm::all_of(value.getUses(), [&](mlir::OpOperand &use) {
           const FactorRule *rule = ruleOf(use.getOwner());
           if (!rule)
             return false;
           std::optional<FactorId> factor = onlyFactor(rule->operands[use.getOperandNumber()].dims[dim]);
           if (!factor || rule->factor(*factor).whole || rule->isReduction(*factor))
             return factor.has_value();
           for (auto [index, tensor] : llvm::enumerate(rule->results))
             for (auto [resultDim, factors] : llvm::enumerate(tensor.dims))
               if (onlyFactor(factors) == factor)
                 return needsWhole(use.getOwner()->getResult(static_cast<unsigned>(index)),
                                   static_cast<unsigned>(resultDim), depth - 1);
           return false;
         });
}

void PartFinder::visitReshape(ReshapeOp op) {
  const FactorRule &rule = *ruleOf(op);
  for (auto [dim, factors] : llvm::enumerate(rule.operands.front().dims)) {
    if (factors.size() < 2 || rule.factor(factors.front()).whole || rule.factor(factors[1]).whole)
      continue;
    int64_t count = rule.factor(factors.front()).size, size = rule.dimSize(factors);
    for (auto [resultDim, result] : llvm::enumerate(rule.results.front().dims))
      if (onlyFactor(result) == factors.front() && needsWhole(op.getReshaped(), resultDim, /*depth=*/4) &&
          comesFromProduct(op.getData(), dim, /*depth=*/8)) {
        Sizes numbers = {static_cast<int64_t>(dim)};
        numbers.append(static_cast<size_t>(count), size / count);
        mark(op, partedDataName, numbers);
        return;
      }
  }
}

void PartFinder::visit(mlir::Operation *op) {
  if (auto parameter = llvm::dyn_cast<ParameterOp>(op)) {
    for (unsigned dim = 0; dim < dimsOf(parameter.getOutput()).size(); ++dim)
      if (Sizes sizes = wishOf(parameter.getOutput(), dim); !sizes.empty())
        mark(op, "d" + std::to_string(dim), sizes);
    return;
  }
  if (!ruleOf(op))
    return;
  if (auto reshape = llvm::dyn_cast<ReshapeOp>(op))
    visitReshape(reshape);
  FactorRule rule = *ruleOf(op);
  for (auto [index, tensor] : llvm::enumerate(rule.results))
    for (auto [dim, factors] : llvm::enumerate(tensor.dims)) {
      std::optional<FactorId> factor = onlyFactor(factors);
      Sizes sizes = factor ? wishOf(op->getResult(static_cast<unsigned>(index)), static_cast<unsigned>(dim)) : Sizes();
      if (!sizes.empty() && mayCutInsideParts(op, rule, *factor))
        mark(op, rule.factor(*factor).name, sizes);
    }
}

} // namespace

/// Ops of a training step are tied.
static bool hasTies(mlir::func::FuncOp main) {
  return llvm::any_of(main.front(), [](mlir::Operation &op) { return op.hasAttr(tieAttribute); });
}

unsigned findParts(mlir::ModuleOp module) {
  auto main = mainOf(module);
  if (!main)
    return 0;
  if (!hasTies(main))
    PartFinder(main).run();
  return static_cast<unsigned>(
      llvm::count_if(main.front(), [](mlir::Operation &op) { return op.hasAttr(partsAttribute); }));
}

} // namespace apc
