// Strategies found by name: of the stage itself, of another layer, of another stage.
#include "apc/Planning/CarriedStrategies.h"

#include "apc/Plan/LayerNames.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace apc {

namespace {

/// The numbers in a name: "/h.12/MatMul_3" -> {"12", "3"}.
std::vector<llvm::StringRef> numbersIn(llvm::StringRef name) {
  std::vector<llvm::StringRef> numbers;
  while (!(name = name.drop_until(llvm::isDigit)).empty()) {
    numbers.push_back(name.take_while(llvm::isDigit));
    name = name.drop_front(numbers.back().size());
  }
  return numbers;
}

/// True for names of one op in two layers, whose patterns are equal: they differ in one number. A '*' of a name looks
/// like a number in its pattern.
bool areOfTwoLayers(llvm::StringRef a, llvm::StringRef b) {
  const std::vector<llvm::StringRef> ofA = numbersIn(a), ofB = numbersIn(b);
  if (ofA.size() != ofB.size())
    return false;
  unsigned different = 0;
  for (auto [one, other] : llvm::zip_equal(ofA, ofB))
    different += one != other;
  return different == 1;
}

/// The strategies that a plan gives the ops of one stage, by name.
class NamedStage {
public:
  explicit NamedStage(const StagePlan &stage) {
    for (const PlanChoice &choice : stage.choices)
      add(choice.op, choice.strategy);
    for (const PlanSharding &sharding : stage.shardings) {
      auto [entry, isNew] = sources.try_emplace(sharding.producer, &sharding.sharding);
      if (isNew && !known.count(sharding.producer))
        add(sharding.producer, std::nullopt);
    }
  }

  /// The strategy of the op with this name, for a source of `rule` that of its sharding.
  std::optional<NamedStrategy> find(llvm::StringRef name, const FactorRule &rule, bool isSource) const {
    auto found = known.find(name);
    if (found == known.end())
      return std::nullopt;
    if (!isSource)
      return found->second;
    return ofSharding(*sources.lookup(name), rule);
  }

  /// That of the first op that has this name in another layer.
  std::optional<NamedStrategy> findLike(llvm::StringRef name, const FactorRule &rule, bool isSource) const {
    auto alike = names.find(layerPattern(name));
    if (alike == names.end())
      return std::nullopt;
    for (const std::string &other : alike->second)
      if (areOfTwoLayers(name, other))
        if (std::optional<NamedStrategy> strategy = find(other, rule, isSource))
          return strategy;
    return std::nullopt;
  }

private:
  void add(const std::string &name, std::optional<NamedStrategy> strategy) {
    known[name] = std::move(strategy);
    names[layerPattern(name)].push_back(name);
  }

  /// A factor for each dim, cut as the value is.
  static std::optional<NamedStrategy> ofSharding(const NamedSharding &sharding, const FactorRule &rule) {
    if (sharding.dims.size() != rule.factors.size())
      return std::nullopt;
    NamedStrategy strategy;
    for (auto [factor, axes] : llvm::zip_equal(rule.factors, sharding.dims))
      if (!axes.empty())
        strategy.cuts.push_back({factor.name, axes});
    return strategy;
  }

  llvm::StringMap<std::optional<NamedStrategy>> known; ///< none of sources
  llvm::StringMap<const NamedSharding *> sources;      ///< by producer; of its first result
  llvm::StringMap<std::vector<std::string>> names;     ///< by pattern, in the stage's order
};

Strategy wholeStrategy(const FactorRule &rule) {
  Strategy strategy;
  strategy.axes.resize(rule.factors.size());
  strategy.partialInputs.resize(rule.linear.size());
  return strategy;
}

class StageStrategies {
public:
  StageStrategies(const Plan &plan, size_t own, const Mesh &mesh) : own(own), mesh(mesh) {
    for (const StagePlan &stage : plan.stages)
      stages.emplace_back(stage);
  }

  llvm::Expected<Strategy> of(const GraphOp &op, const FactorRule &rule) const {
    bool isSource = op.operands.empty();
    std::optional<NamedStrategy> named = stages[own].find(op.name, rule, isSource);
    if (!named)
      named = stages[own].findLike(op.name, rule, isSource);
    if (named) {
      llvm::Expected<Strategy> strategy = named->bind(rule, mesh);
      if (strategy)
        return strategy;
      return inputError("op '{0}' cannot take the plan's strategy '{1}' in the smaller model: {2}", op.name,
                        named->str(), takeMessage(strategy.takeError()).second);
    }
    return ofOtherStage(op, rule);
  }

private:
  llvm::Expected<Strategy> ofOtherStage(const GraphOp &op, const FactorRule &rule) const {
    bool isSource = op.operands.empty();
    bool isKnown = stages.size() > 1 && (isSource || op.results.empty()); // other values may come in and leave
    for (const NamedStage &stage : stages) {
      std::optional<NamedStrategy> named = stage.find(op.name, rule, isSource);
      if (!named)
        named = stage.findLike(op.name, rule, isSource);
      if (!named)
        continue;
      isKnown = true;
      llvm::Expected<Strategy> strategy = named->bind(rule, mesh);
      if (strategy)
        return strategy;
      llvm::consumeError(strategy.takeError());
    }
    if (isKnown)
      return wholeStrategy(rule);
    return inputError("op '{0}': the plan does not know it", op.name);
  }

  std::vector<NamedStage> stages;
  size_t own;
  const Mesh &mesh;
};

} // namespace

llvm::Expected<std::vector<Strategy>> carriedStrategies(const OpGraph &graph, const Plan &plan, size_t stage,
                                                        const Mesh &mesh) {
  StageStrategies known(plan, stage, mesh);
  std::vector<Strategy> strategies;
  for (const GraphOp &op : graph.ops) {
    llvm::Expected<Strategy> strategy = known.of(op, graph.rules[op.rule.index()]);
    if (!strategy)
      return strategy.takeError();
    strategies.push_back(std::move(*strategy));
  }
  return strategies;
}

} // namespace apc
