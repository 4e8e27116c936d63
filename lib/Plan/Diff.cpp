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
                                  {"stages", plan.pipelineText()},
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
  if (before.hostSeconds > 0 || after.hostSeconds > 0)
    diff.seconds.insert(diff.seconds.end() - 1, {"waiting for the host", before.hostSeconds, after.hostSeconds});
  if (before.pipeline || after.pipeline)
    diff.seconds.insert(diff.seconds.end() - 1, {"bubble", before.bubbleSeconds, after.bubbleSeconds});
  auto add = [&](const std::string &name, int64_t a, int64_t b) {
    diff.bytes.push_back({name, static_cast<double>(a), static_cast<double>(b)});
  };
  for (MemoryCategory category : allMemoryCategories())
    add("memory " + memoryCategoryName(category).str(), before.memory[category], after.memory[category]);
  add("memory total", before.memory.total(), after.memory.total());
  add("memory host", before.memory.hostBytes, after.memory.hostBytes);
  add("memory limit", before.memoryLimitBytes, after.memoryLimitBytes);
  std::map<std::string, std::pair<int64_t, int64_t>> collectives;
  for (const auto &[name, bytes] : before.communicationBytes)
    collectives[name].first = bytes;
  for (const auto &[name, bytes] : after.communicationBytes)
    collectives[name].second = bytes;
  for (const auto &[name, bytes] : collectives)
    add(name, bytes.first, bytes.second);
}

/// The decision for an op, and the axes of the stage that it is in.
struct StagedChoice {
  const PlanChoice *choice;
  const AxisSpans *axes;
};

/// The choices of all stages of a plan.
class StagedChoices {
public:
  explicit StagedChoices(const Plan &plan) {
    for (const StagePlan &stage : plan.stages)
      spans.emplace_back(stage.mesh.str());
    for (auto [stage, axes] : llvm::zip_equal(plan.stages, spans))
      for (const PlanChoice &choice : stage.choices)
        choices.push_back({&choice, &axes});
  }

  llvm::ArrayRef<StagedChoice> all() const { return choices; }

private:
  std::vector<AxisSpans> spans; ///< by stage
  std::vector<StagedChoice> choices;
};

/// Collects changes op by op and merges those of repeated layers.
class StrategyMerge {
public:
  explicit StrategyMerge(std::vector<StrategyChange> &changes) : changes(changes) {}

  void add(std::optional<StagedChoice> old, std::optional<StagedChoice> now) {
    const PlanChoice &op = old ? *old->choice : *now->choice;
    std::string from = old ? old->choice->strategy.str() : "", to = now ? now->choice->strategy.str() : "";
    if (old && now && old->axes->isSame(from, *now->axes, to))
      return;
    std::string pattern = layerPattern(op.op);
    auto [entry, isNew] = positions.try_emplace({pattern, op.operatorName, from, to}, changes.size());
    if (isNew)
      changes.push_back({op.op, op.operatorName, from, to, 0, 0, 0});
    StrategyChange &change = changes[entry->second];
    if (++change.count > 1)
      change.pattern = pattern;
    change.beforeSeconds += old ? old->choice->seconds + old->choice->communicationSeconds : 0;
    change.afterSeconds += now ? now->choice->seconds + now->choice->communicationSeconds : 0;
  }

private:
  std::vector<StrategyChange> &changes;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, size_t> positions;
};

/// Meshes whose axes alone are called or merged otherwise are no change, but explain the words of strategies.
void dropEqualMeshes(const Plan &before, const Plan &after, PlanDiff &diff) {
  if (diff.strategies.empty() && AxisSpans(before.meshText()).hasSameDevices(AxisSpans(after.meshText())))
    llvm::erase_if(diff.settings, [](const TextChange &change) { return change.name == "mesh"; });
}

void diffStrategies(const Plan &before, const Plan &after, PlanDiff &diff) {
  StagedChoices old(before), now(after);
  std::map<llvm::StringRef, StagedChoice> others;
  for (const StagedChoice &own : now.all())
    others.emplace(own.choice->op, own);
  StrategyMerge merge(diff.strategies);
  for (const StagedChoice &own : old.all()) {
    auto other = others.find(own.choice->op);
    merge.add(own, other == others.end() ? std::nullopt : std::optional(other->second));
    if (other != others.end())
      others.erase(other);
    ++diff.numOps;
  }
  for (const StagedChoice &own : now.all())
    if (others.count(own.choice->op)) {
      merge.add(std::nullopt, own);
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
