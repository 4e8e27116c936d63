// Why a plan does what it does, as documents.
#include "apc/Report/ExplainJson.h"

#include "NextBest.h"
#include "OpsTable.h"

#include "apc/Plan/ReasonsJson.h"
#include "apc/Report/ErrorBar.h"
#include "apc/Report/Summary.h"
#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/GlobPattern.h"

#include <algorithm>

namespace apc {

namespace {

using IsChoice = llvm::function_ref<bool(const PlanChoice &)>;
using IsValue = llvm::function_ref<bool(const PlanSharding &)>;

bool noChoice(const PlanChoice &) { return false; }
bool noValue(const PlanSharding &) { return false; }

bool hasChoice(const Plan &plan, IsChoice isAsked) {
  return llvm::any_of(plan.stages, [&](const StagePlan &stage) { return llvm::any_of(stage.choices, isAsked); });
}
bool hasValue(const Plan &plan, IsValue isAsked) {
  return llvm::any_of(plan.stages, [&](const StagePlan &stage) { return llvm::any_of(stage.shardings, isAsked); });
}

void writeGroup(JsonObjectWriter &object, const LayerGroup &group) {
  object("ops", group.pattern);
  object("operator", group.operatorName);
  object("strategy", group.strategy);
  object("count", group.count);
  object("seconds", group.seconds);
  object("communication_seconds", group.communicationSeconds);
}

void writeNextBest(JsonObjectWriter &object, const NextBest &row) {
  object("kind", row.kind);
  writeTried(object, row.point);
  object("remark", row.remark);
}

} // namespace

llvm::Expected<std::string> explainOpJson(const Plan &plan, llvm::StringRef op) {
  if (llvm::Error error = explainOp(plan, op, llvm::nulls()))
    return error;
  // A name is given as it is, or as `explainOp` shows it.
  auto isGiven = [shown = visibleText(op)](llvm::StringRef name) { return visibleText(name) == shown; };
  auto isNamed = [&](const PlanChoice &choice) { return isGiven(choice.op) || llvm::any_of(choice.merged, isGiven); };
  if (hasChoice(plan, isNamed))
    return printReasons(plan, isNamed, noValue);
  auto isValue = [&](const PlanSharding &value) { return isGiven(value.value); };
  if (hasValue(plan, isValue))
    return printReasons(plan, noChoice, isValue);
  llvm::GlobPattern pattern = llvm::cantFail(llvm::GlobPattern::create(op)); // `explainOp` has read it
  auto matches = [&](const PlanChoice &choice) { return pattern.match(choice.op); };
  if (hasChoice(plan, matches))
    return printReasons(plan, matches, noValue);
  return printReasons(plan, noChoice, [&](const PlanSharding &value) {
    return value.role == ValueRole::Parameter && pattern.match(value.value);
  });
}

std::string explainPlanJson(const Plan &plan) {
  std::vector<LayerGroup> groups = longestFirst(layerGroups(plan));
  JsonWriter json(1);
  json.object([&](JsonObjectWriter &object) {
    object("model", plan.request.modelPath);
    object("cluster", plan.cluster);
    object("devices", plan.request.devices);
    object("devices_used", plan.devicesUsed);
    object("mesh", plan.meshText());
    object("search", plan.search);
    object("status", planStatusName(plan.status));
    object("step_seconds", plan.stepSeconds);
    object("compute_seconds", plan.computeSeconds);
    object("communication_seconds", plan.communicationSeconds);
    object("exposed_communication_seconds", plan.exposedCommunicationSeconds);
    object("host_seconds", plan.hostSeconds);
    object("overlapped_seconds", plan.overlappedSeconds);
    object("lower_bound_seconds", plan.lowerBoundSeconds);
    object("gap", plan.gap);
    object("memory_bytes", plan.memory.total());
    object("memory_limit_bytes", plan.memoryLimitBytes);
    object.key("memory_categories");
    json.object([&](JsonObjectWriter &memory) {
      for (MemoryCategory category : allMemoryCategories())
        memory(memoryCategoryName(category), plan.memory[category]);
      memory("host", plan.memory.hostBytes);
    });
    object("busy_seconds", busySeconds(plan));
    object.list("groups", [&] {
      for (const LayerGroup &group : groups)
        json.object([&](JsonObjectWriter &entry) { writeGroup(entry, group); });
    });
    object.list("next_best", [&] {
      for (const NextBest &row : nextBest(plan))
        json.object([&](JsonObjectWriter &entry) { writeNextBest(entry, row); });
    });
    if (std::optional<ErrorBar> bar = errorBarOf(plan)) {
      object("step_seconds_low", bar->low);
      object("step_seconds_high", bar->high);
    }
    if (std::optional<OpenChoice> open = openChoiceOf(plan)) {
      object("open_choice", open->kind);
      object("deciding_measurement", open->measurement);
    }
    object.list("tried", [&] {
      for (const TriedPoint &point : plan.tried)
        json.object([&](JsonObjectWriter &entry) { writeTried(entry, point); });
    });
    object("tried_count", plan.numTried);
    object("untried", untriedKinds(plan));
    object("notes", plan.notes);
  });
  return json.take() + "\n";
}

} // namespace apc
