// Which strategies are legal, and why the others are not.
#include "StrategyCheck.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

using Kind = Violation::Kind;

} // namespace

StrategyChecker::StrategyChecker(const FactorRule &rule, const Mesh &mesh) : rule(rule), mesh(mesh) {
  auto inspect = [&](const RuleTensor &tensor) {
    llvm::SmallVector<FactorId, 8> seen;
    for (const DimFactors &dim : tensor.dims) {
      DimFactors large;
      for (FactorId id : dim) {
        if (rule.factor(id).size > 1)
          large.push_back(id);
        if (llvm::is_contained(seen, id))
          repeated.push_back(id);
        seen.push_back(id);
      }
      if (large.size() > 1 && !llvm::is_contained(compounds, large))
        compounds.push_back(large);
    }
    for (const PartedDim &entry : tensor.parted)
      if (tensor.dims[entry.dim].size() == 1)
        parted.emplace_back(tensor.dims[entry.dim].front(), entry);
  };
  for (const RuleTensor &tensor : rule.operands)
    inspect(tensor);
  for (const RuleTensor &tensor : rule.results)
    inspect(tensor);
  for (unsigned i = 0; i < rule.numFactors(); ++i)
    if (rule.isReduction(FactorId(i)))
      reductions.push_back(FactorId(i));
}

Violation StrategyChecker::find(const Strategy &strategy) const {
  if (strategy.axes.size() != rule.numFactors() || strategy.partialInputs.size() != rule.linear.size())
    return {Kind::WrongLists, {}, {}, {}};
  if (Violation found = findInAxes(strategy); found.kind != Kind::None)
    return found;
  if (Violation found = findInDims(strategy); found.kind != Kind::None)
    return found;
  return findInCombiners(strategy);
}

/// Each axis exists and is used once; no factor is cut more than it may be.
Violation StrategyChecker::findInAxes(const Strategy &strategy) const {
  llvm::SmallVector<bool, 16> used(mesh.numAxes(), false);
  Violation found;
  auto use = [&](const AxisList &axes) {
    for (AxisId axis : axes) {
      if (axis.index() >= mesh.numAxes())
        found = {Kind::UnknownAxis, {}, {}, axis};
      else if (std::exchange(used[axis.index()], true))
        found = {Kind::AxisTwice, {}, {}, axis};
      if (found.kind != Kind::None)
        return false;
    }
    return true;
  };
  for (unsigned i = 0; i < rule.numFactors(); ++i) {
    if (strategy.axes[i].empty())
      continue;
    if (!use(strategy.axes[i]))
      return found;
    if (rule.factors[i].whole)
      return {Kind::Whole, FactorId(i), {}, {}};
    if (rule.factors[i].size < mesh.size(strategy.axes[i]))
      return {Kind::TooSmall, FactorId(i), {}, {}};
  }
  for (const AxisList &axes : strategy.partialInputs)
    if (!use(axes))
      return found;
  return found;
}

Violation StrategyChecker::findInDims(const Strategy &strategy) const {
  for (const DimFactors &dim : compounds) {
    const FactorId *open = nullptr; // the first factor that is not fully cut
    for (const FactorId &id : dim) {
      const AxisList &axes = strategy.axes[id.index()];
      int64_t size = rule.factor(id).size, ways = mesh.size(axes);
      if (!axes.empty() && open)
        return {Kind::MinorBeforeMajor, id, *open, {}};
      if (size % ways != 0)
        return {Kind::UnevenCompound, id, {}, {}};
      if (size != ways && !open)
        open = &id;
    }
  }
  for (const auto &[id, dim] : parted) {
    int64_t ways = mesh.size(strategy.axes[id.index()]);
    if (llvm::any_of(dim.sizes, [&](int64_t size) { return size < ways; }))
      return {Kind::SmallParts, id, {}, {}};
  }
  for (FactorId id : repeated)
    if (!strategy.axes[id.index()].empty())
      return {Kind::TwiceInTensor, id, {}, {}};
  return {};
}

Violation StrategyChecker::findInCombiners(const Strategy &strategy) const {
  bool passes = llvm::any_of(strategy.partialInputs, [](const AxisList &axes) { return !axes.empty(); });
  const FactorId *first = nullptr;
  for (const FactorId &id : reductions) {
    if (strategy.axes[id.index()].empty())
      continue;
    if (passes && rule.factor(id).combiner != Combiner::Sum)
      return {Kind::PassingCombiner, id, {}, {}};
    if (first && rule.factor(id).combiner != rule.factor(*first).combiner)
      return {Kind::TwoCombiners, id, *first, {}};
    first = &id;
  }
  return {};
}

std::string StrategyChecker::explain(const Violation &violation, const Strategy &strategy) const {
  auto name = [&](FactorId id) { return rule.factor(id).name; };
  auto size = [&](FactorId id) { return rule.factor(id).size; };
  auto ways = [&](FactorId id) { return mesh.size(strategy.axes[id.index()]); };
  auto combiner = [&](FactorId id) { return combinerName(rule.factor(id).combiner); };
  FactorId factor = violation.factor, other = violation.other;
  switch (violation.kind) {
  case Kind::None:
    return "";
  case Kind::WrongLists:
    return llvm::formatv("{0} axis lists and {1} passing lists for {2} factors and {3} linear groups",
                         strategy.axes.size(), strategy.partialInputs.size(), rule.numFactors(), rule.linear.size());
  case Kind::UnknownAxis:
    return llvm::formatv("axis number {0} does not exist in {1}", violation.axis.index(), mesh.str());
  case Kind::AxisTwice:
    return llvm::formatv("axis {0} is used twice", mesh.axis(violation.axis).name);
  case Kind::Whole:
    return llvm::formatv("factor {0} must be whole on every device", name(factor));
  case Kind::TooSmall:
    return llvm::formatv("factor {0} of size {1} is smaller than the {2} ways in which it is cut", name(factor),
                         size(factor), ways(factor));
  case Kind::MinorBeforeMajor:
    return llvm::formatv("factor {0} lies below factor {1} of size {2} in one dim, and {1} is not fully cut",
                         name(factor), name(other), size(other));
  case Kind::UnevenCompound:
    return llvm::formatv("factor {0} of size {1} shares a dim and does not divide into the {2} ways in which it is cut",
                         name(factor), size(factor), ways(factor));
  case Kind::SmallParts:
    return llvm::formatv("factor {0} has a part that is smaller than the {1} ways in which it is cut", name(factor),
                         ways(factor));
  case Kind::TwiceInTensor:
    return llvm::formatv("factor {0} is in two dims of one tensor, which would use its axes twice", name(factor));
  case Kind::TwoCombiners:
    return llvm::formatv("the result would be partial with {0} over factor {1} and with {2} over factor {3}",
                         combiner(other), name(other), combiner(factor), name(factor));
  case Kind::PassingCombiner:
    return llvm::formatv("partial sums cannot pass through while factor {0} combines with {1}", name(factor),
                         combiner(factor));
  }
  llvm_unreachable("every kind of violation has a text");
}

llvm::Error check(const FactorRule &rule, const Strategy &strategy, const Mesh &mesh) {
  StrategyChecker checker(rule, mesh);
  Violation violation = checker.find(strategy);
  if (violation.kind == Kind::None)
    return llvm::Error::success();
  return inputError("{0}", checker.explain(violation, strategy));
}

} // namespace apc
