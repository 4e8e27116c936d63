// Comparing two plans.
#include "apc/Plan/Diff.h"

#include "apc/Plan/AxisSpans.h"
#include "apc/Plan/LayerNames.h"
#include "apc/Plan/Settings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <tuple>

namespace apc {

namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// Settings by their names, then facts of the plan that are no predictions.
Facts factsOf(const Plan &plan) {
  Facts facts = {{"model", plan.request.modelPath}, {"model sha256", plan.modelSha256}};
  for (const Setting &setting : allSettings())
    facts.emplace_back(setting.name.str(), llvm::join(setting.print(plan.request), ", "));
  llvm::append_range(facts, Facts{{"cluster name", plan.cluster},
                                  {"devices used", std::to_string(plan.devicesUsed)},
                                  {"mesh", plan.meshText()},
                                  {"found by", plan.search},
                                  {"status", planStatusName(plan.status).str()},
                                  {"apc version", plan.producer}});
  return facts;
}

void diffSettings(const Plan &before, const Plan &after, PlanDiff &diff) {
  for (const auto &[a, b] : llvm::zip_equal(factsOf(before), factsOf(after)))
    if (a.second != b.second)
      diff.settings.push_back({a.first, a.second, b.second});
}

void diffFigures(const Plan &before, const Plan &after, PlanDiff &diff) {
  diff.seconds = {{"step", before.stepSeconds, after.stepSeconds},
                  {"compute", before.computeSeconds, after.computeSeconds},
                  {"communication", before.communicationSeconds, after.communicationSeconds},
                  {"bound", before.lowerBoundSeconds, after.lowerBoundSeconds}};
  auto add = [&](const std::string &name, int64_t a, int64_t b) {
    diff.bytes.push_back({name, static_cast<double>(a), static_cast<double>(b)});
  };
  for (MemoryCategory category : allMemoryCategories())
    add("memory " + memoryCategoryName(category).str(), before.memory[category], after.memory[category]);
  add("memory total", before.memory.total(), after.memory.total());
  add("memory limit", before.memoryLimitBytes, after.memoryLimitBytes);
  std::map<std::string, std::pair<int64_t, int64_t>> collectives;
  for (const auto &[name, bytes] : before.communicationBytes)
    collectives[name].first = bytes;
  for (const auto &[name, bytes] : after.communicationBytes)
    collectives[name].second = bytes;
  for (const auto &[name, bytes] : collectives)
    add(name, bytes.first, bytes.second);
}

/// Collects changes op by op and merges those of repeated layers.
class StrategyMerge {
public:
  StrategyMerge(const Plan &before, const Plan &after, std::vector<StrategyChange> &changes)
      : before(before.meshText()), after(after.meshText()), changes(changes) {}

  void add(const PlanChoice *old, const PlanChoice *now) {
    const PlanChoice &op = old ? *old : *now;
    std::string from = old ? old->strategy.str() : "", to = now ? now->strategy.str() : "";
    if (old && now && before.isSame(from, after, to))
      return;
    std::string pattern = layerPattern(op.op);
    auto [entry, isNew] = positions.try_emplace({pattern, op.operatorName, from, to}, changes.size());
    if (isNew)
      changes.push_back({op.op, op.operatorName, from, to, 0, 0, 0});
    StrategyChange &change = changes[entry->second];
    if (++change.count > 1)
      change.pattern = pattern;
    change.beforeSeconds += old ? old->seconds + old->communicationSeconds : 0;
    change.afterSeconds += now ? now->seconds + now->communicationSeconds : 0;
  }

private:
  AxisSpans before, after;
  std::vector<StrategyChange> &changes;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, size_t> positions;
};

/// Meshes whose axes alone are called or merged otherwise are no change, but explain the words of strategies.
void dropEqualMeshes(const Plan &before, const Plan &after, PlanDiff &diff) {
  if (diff.strategies.empty() && AxisSpans(before.meshText()).hasSameDevices(AxisSpans(after.meshText())))
    llvm::erase_if(diff.settings, [](const TextChange &change) { return change.name == "mesh"; });
}

std::vector<const PlanChoice *> choicesOf(const Plan &plan) {
  std::vector<const PlanChoice *> choices;
  for (const StagePlan &stage : plan.stages)
    for (const PlanChoice &choice : stage.choices)
      choices.push_back(&choice);
  return choices;
}

void diffStrategies(const Plan &before, const Plan &after, PlanDiff &diff) {
  std::map<llvm::StringRef, const PlanChoice *> others;
  for (const PlanChoice *choice : choicesOf(after))
    others.emplace(choice->op, choice);
  StrategyMerge merge(before, after, diff.strategies);
  for (const PlanChoice *choice : choicesOf(before)) {
    auto other = others.find(choice->op);
    merge.add(choice, other == others.end() ? nullptr : other->second);
    if (other != others.end())
      others.erase(other);
    ++diff.numOps;
  }
  for (const PlanChoice *choice : choicesOf(after))
    if (others.count(choice->op)) {
      merge.add(nullptr, choice);
      ++diff.numOps;
    }
}

} // namespace

std::optional<double> FigureChange::relative() const {
  return before == 0 ? std::nullopt : std::optional<double>(after / before - 1);
}

bool PlanDiff::isEmpty() const {
  auto differs = [](const FigureChange &figure) { return figure.differs(); };
  return settings.empty() && strategies.empty() && llvm::none_of(seconds, differs) && llvm::none_of(bytes, differs);
}

PlanDiff diffPlans(const Plan &before, const Plan &after) {
  PlanDiff diff;
  diffSettings(before, after, diff);
  diffFigures(before, after, diff);
  diffStrategies(before, after, diff);
  dropEqualMeshes(before, after, diff);
  return diff;
}

} // namespace apc
