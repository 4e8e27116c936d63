// Comparing two plans.
#include "apc/Plan/Diff.h"

#include "apc/Plan/AxisSpans.h"
#include "apc/Plan/LayerNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <tuple>

namespace apc {

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

template <typename Map, typename Print>
std::string joinMap(const Map &map, Print print) {
  std::string text;
  for (const auto &[key, value] : map)
    text += (text.empty() ? "" : ", ") + key + "=" + print(value);
  return text;
}

/// 5 -> "5 s"; without a number "default".
std::string limitText(std::optional<double> number, llvm::StringRef unit) {
  std::string text = "default";
  if (number)
    llvm::raw_string_ostream(text = "") << llvm::format("%.6g", *number) << unit;
  return text;
}

Settings settingsOf(const Plan &plan) {
  return {{"model", plan.modelPath},
          {"model sha256", plan.modelSha256},
          {"dims", joinMap(plan.dims, [](int64_t size) { return std::to_string(size); })},
          {"conditions", joinMap(plan.conditions, [](bool value) { return value ? "true" : "false"; })},
          {"parameters", plan.parameters},
          {"cluster", plan.cluster},
          {"cluster overrides", llvm::join(plan.clusterOverrides, ", ")},
          {"devices", std::to_string(plan.devices)},
          {"devices used", std::to_string(plan.devicesUsed)},
          {"mesh", meshText(plan)},
          {"mode", plan.mode},
          {"search", plan.search},
          {"time limit", limitText(plan.settings.timeLimitSeconds, " s")},
          {"gap to stop at", limitText(plan.settings.gap, "")},
          {"shardings of the model", plan.settings.ignoresModelShardings ? "ignored" : "used"},
          {"status", plan.status},
          {"apc version", plan.producer}};
}

void diffSettings(const Plan &before, const Plan &after, PlanDiff &diff) {
  for (const auto &[a, b] : llvm::zip_equal(settingsOf(before), settingsOf(after)))
    if (a.second != b.second)
      diff.settings.push_back({a.first, a.second, b.second});
}

void diffFigures(const Plan &before, const Plan &after, PlanDiff &diff) {
  diff.seconds = {{"step", before.stepSeconds, after.stepSeconds},
                  {"compute", before.computeSeconds, after.computeSeconds},
                  {"communication", before.communicationSeconds, after.communicationSeconds},
                  {"bound", before.lowerBoundSeconds, after.lowerBoundSeconds}};
  auto add = [&](const char *name, int64_t a, int64_t b) {
    diff.bytes.push_back({name, static_cast<double>(a), static_cast<double>(b)});
  };
  const MemoryTable &a = before.memory, &b = after.memory;
  add("memory parameters", a.parameters, b.parameters);
  add("memory gradients", a.gradients, b.gradients);
  add("memory optimizer", a.optimizer, b.optimizer);
  add("memory activations", a.activations, b.activations);
  add("memory workspace", a.workspace, b.workspace);
  add("memory communication", a.communication, b.communication);
  add("memory total", a.total(), b.total());
  add("memory limit", before.memoryLimitBytes, after.memoryLimitBytes);
  std::map<std::string, std::pair<int64_t, int64_t>> collectives;
  for (const auto &[name, bytes] : before.communicationBytes)
    collectives[name].first = bytes;
  for (const auto &[name, bytes] : after.communicationBytes)
    collectives[name].second = bytes;
  for (const auto &[name, bytes] : collectives)
    add(name.c_str(), bytes.first, bytes.second);
}

/// Collects changes op by op and merges those of repeated layers.
class StrategyMerge {
public:
  StrategyMerge(const Plan &before, const Plan &after, std::vector<StrategyChange> &changes)
      : before(meshText(before)), after(meshText(after)), changes(changes) {}

  void add(const PlanChoice *old, const PlanChoice *now) {
    const PlanChoice &op = old ? *old : *now;
    std::string from = old ? old->strategy : "", to = now ? now->strategy : "";
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

void diffStrategies(const Plan &before, const Plan &after, PlanDiff &diff) {
  std::map<llvm::StringRef, const PlanChoice *> others;
  for (const PlanChoice &choice : after.choices)
    others.emplace(choice.op, &choice);
  StrategyMerge merge(before, after, diff.strategies);
  for (const PlanChoice &choice : before.choices) {
    auto other = others.find(choice.op);
    merge.add(&choice, other == others.end() ? nullptr : other->second);
    if (other != others.end())
      others.erase(other);
    ++diff.numOps;
  }
  for (const PlanChoice &choice : after.choices)
    if (others.count(choice.op)) {
      merge.add(nullptr, &choice);
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
  return diff;
}

} // namespace apc
