// A plan beside the one that a target would run.
#include "ModelLayers.h"

#include "apc/Export/Export.h"
#include "apc/Plan/AxisSpans.h"
#include "apc/Plan/Diff.h"
#include "apc/Plan/LayerNames.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <map>
#include <tuple>

namespace apc {

namespace {

/// `plan` with the choices of some ops alone.
Plan ofOps(Plan plan, const llvm::StringSet<> &ops) {
  for (StagePlan &stage : plan.stages)
    llvm::erase_if(stage.choices, [&](const PlanChoice &choice) { return !ops.contains(choice.op); });
  return plan;
}

std::string opsText(const StrategyChange &change) {
  std::string text = change.pattern;
  if (change.count > 1)
    text += " (" + std::to_string(change.count) + " ops)";
  return text;
}

/// A sharding with its axes as parts of a strategy, which `AxisSpans` compares: "d0:node d1:(node device)".
std::string asStrategy(const NamedSharding &sharding) {
  NamedStrategy strategy;
  for (auto [dim, axes] : llvm::enumerate(sharding.dims))
    if (!axes.empty())
      strategy.cuts.push_back({"d" + std::to_string(dim), axes});
  return strategy.str();
}

/// Does a parameter or state rest here?
bool rests(const PlanSharding &sharding) {
  return sharding.producer == sharding.value &&
         (sharding.role == ValueRole::Parameter || sharding.role == ValueRole::OptimizerState);
}

/// The ops that are decided by themselves, and the sums of gradients, whose storage is a choice.
llvm::StringSet<> comparedOps(const OpGraph &graph) {
  llvm::StringSet<> ops = leadingOps(graph);
  for (const GraphOp &op : graph.ops)
    if (op.accumulates)
      ops.insert(op.name);
  return ops;
}

/// Parameters and states by name, with the axes of their stage.
struct Resting {
  const PlanSharding *sharding;
  const AxisSpans *axes;
};

class RestingValues {
public:
  explicit RestingValues(const Plan &plan) {
    for (const StagePlan &stage : plan.stages)
      spans.emplace_back(stage.mesh.str());
    for (auto [stage, axes] : llvm::zip_equal(plan.stages, spans))
      for (const PlanSharding &sharding : stage.shardings)
        if (rests(sharding)) {
          values.try_emplace(sharding.value, Resting{&sharding, &axes});
          order.push_back(sharding.value);
        }
  }

  const Resting *find(llvm::StringRef name) const {
    auto known = values.find(name);
    return known == values.end() ? nullptr : &known->second;
  }
  llvm::ArrayRef<std::string> names() const { return order; }

private:
  std::vector<AxisSpans> spans;
  llvm::StringMap<Resting> values;
  std::vector<std::string> order;
};

/// Parameters and states that rest otherwise, those of repeated layers together.
void compareStorage(const Plan &plan, const Plan &recreated, llvm::StringRef title, std::vector<std::string> &found) {
  RestingValues own(plan), other(recreated);
  std::map<std::tuple<std::string, std::string, std::string, std::string>, unsigned> counts;
  for (const std::string &name : own.names()) {
    const Resting *here = own.find(name), *there = other.find(name);
    if (!there ||
        here->axes->isSame(asStrategy(here->sharding->sharding), *there->axes, asStrategy(there->sharding->sharding)))
      continue;
    ++counts[{layerPattern(name), valueRoleName(here->sharding->role).str(), here->sharding->sharding.str(),
              there->sharding->sharding.str()}];
  }
  for (const auto &[key, count] : counts) {
    const auto &[pattern, role, here, there] = key;
    found.push_back(llvm::formatv("{0} {1}{2} rests as {3}: {4} has it as {5}", role, pattern,
                                  count > 1 ? " (" + std::to_string(count) + " values)" : "", here, title, there));
  }
}

} // namespace

std::vector<std::string> differencesFrom(const ExportSource &source, const Plan &recreated, llvm::StringRef title) {
  std::vector<std::string> found;
  llvm::StringSet<> ops = comparedOps(source.graph);
  std::vector<StrategyChange> changes = diffPlans(ofOps(source.plan, ops), ofOps(recreated, ops)).strategies;
  auto weight = [](const StrategyChange &change) { return std::abs(change.afterSeconds - change.beforeSeconds); };
  llvm::stable_sort(changes, [&](const StrategyChange &a, const StrategyChange &b) { return weight(a) > weight(b); });
  for (const StrategyChange &change : changes) {
    bool isOnOneSide = change.before.empty() || change.after.empty(); // follows from copies, recomputation or loops
    bool movesNothing = change.beforeSeconds == 0 && change.afterSeconds == 0;
    if (isOnOneSide || movesNothing)
      continue;
    found.push_back(llvm::formatv("{0} is {1}: {2} has {3}; {4} here, {5} there", opsText(change), change.before, title,
                                  change.after, formatSeconds(change.beforeSeconds),
                                  formatSeconds(change.afterSeconds)));
  }
  if (recreated.memory.total() > recreated.memoryLimitBytes)
    found.push_back(llvm::formatv("{0}'s version needs {1} on a device, and the limit is {2}", title,
                                  formatBytes(static_cast<double>(recreated.memory.total())),
                                  formatBytes(static_cast<double>(recreated.memoryLimitBytes))));
  compareStorage(source.plan, recreated, title, found);
  return found;
}

} // namespace apc
