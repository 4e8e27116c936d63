// Writes plan.json.
#include "apc/Plan/PlanJson.h"

#include "OrderedJson.h"

namespace apc {

namespace {

OrderedJson memoryJson(const MemoryTable &memory) {
  return {{"parameters", memory.parameters}, {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},   {"activations", memory.activations},
          {"workspace", memory.workspace},   {"communication", memory.communication},
          {"total", memory.total()}};
}

template <typename T>
OrderedJson optionalJson(const std::optional<T> &value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson baselineJson(const Baseline &baseline) {
  return {{"name", baseline.name},
          {"step_seconds", optionalJson(baseline.stepSeconds)},
          {"memory_bytes", optionalJson(baseline.memoryBytes)},
          {"feasible", baseline.feasible},
          {"reason", baseline.reason}};
}

template <typename T, typename F>
OrderedJson listJson(const std::vector<T> &list, F toJson) {
  OrderedJson array = OrderedJson::array();
  for (const T &item : list)
    array.push_back(toJson(item));
  return array;
}

OrderedJson turningJson(const TurningPoint &point) {
  return {{"figure", point.figure}, {"factor", point.factor}, {"value", optionalJson(point.value)}};
}

OrderedJson runnerUpJson(const std::optional<RunnerUp> &runnerUp) {
  if (!runnerUp)
    return nullptr;
  return {{"strategy", runnerUp->strategy},
          {"extra_seconds", runnerUp->extraSeconds},
          {"wins_if", listJson(runnerUp->winsIf, turningJson)}};
}

OrderedJson alternativeJson(const std::optional<RunnerUp> &other) {
  if (!other)
    return nullptr;
  return {{"strategy", other->strategy}, {"extra_seconds", other->extraSeconds}};
}

OrderedJson pinnedJson(const std::optional<PinnedChoice> &pinned) {
  if (!pinned)
    return nullptr;
  return {{"by", pinned->by}, {"free", alternativeJson(pinned->free)}};
}

OrderedJson factorJson(const FactorChoice &choice) {
  return {{"factor", choice.factor},
          {"size", choice.size},
          {"cut", choice.isCut},
          {"must_be_whole", choice.mustBeWhole},
          {"other", alternativeJson(choice.other)}};
}

OrderedJson choiceJson(const PlanChoice &choice) {
  return {{"op", choice.op},
          {"operator", choice.operatorName},
          {"strategy", choice.strategy},
          {"seconds", choice.seconds},
          {"communication_seconds", choice.communicationSeconds},
          {"bytes", choice.bytes},
          {"runner_up", runnerUpJson(choice.runnerUp)},
          {"rejections", choice.rejections},
          {"factors", listJson(choice.factors, factorJson)},
          {"pinned", pinnedJson(choice.pinned)}};
}

OrderedJson rejectionsJson(const PlanRejections &rejections) {
  OrderedJson reasons = OrderedJson::array();
  for (const PlanRejections::Reason &reason : rejections.reasons)
    reasons.push_back({{"reason", reason.reason}, {"count", reason.count}, {"example", reason.example}});
  return {{"rule", rejections.rule}, {"offered", rejections.offered}, {"reasons", reasons}};
}

OrderedJson shardingJson(const PlanSharding &sharding) {
  return {{"value", sharding.value},     {"producer", sharding.producer},       {"role", sharding.role},
          {"shape", sharding.shape},     {"local_shape", sharding.localShape},  {"dims", sharding.dims},
          {"partial", sharding.partial}, {"element_bits", sharding.elementBits}};
}

OrderedJson moveJson(const PlanMove &move) {
  return {{"value", move.value},
          {"target", move.target},
          {"users", move.users},
          {"steps", move.steps},
          {"seconds", move.seconds}};
}

OrderedJson axisJson(const PlanAxis &axis) {
  return {{"name", axis.name}, {"size", axis.size}, {"level", axis.level}, {"level_index", axis.levelIndex}};
}

OrderedJson settingsJson(const PlanSettings &settings) {
  return {{"cluster", settings.cluster},
          {"search", settings.search},
          {"memory_limit_bytes", optionalJson(settings.memoryLimitBytes)},
          {"layouts", settings.layouts},
          {"parallel", settings.parallel},
          {"pins", settings.pins},
          {"ignore_model_shardings", settings.ignoresModelShardings},
          {"time_limit_seconds", optionalJson(settings.timeLimitSeconds)},
          {"gap_tolerance", optionalJson(settings.gap)}};
}

OrderedJson sensitivityJson(const PlanSensitivity &row) {
  return {{"figure", row.figure},          {"factor", row.factor}, {"step_seconds", optionalJson(row.stepSeconds)},
          {"changed_ops", row.changedOps}, {"mesh", row.mesh},     {"reason", row.reason}};
}

OrderedJson planJson(const Plan &plan, bool withTiming) {
  OrderedJson json;
  json["version"] = Plan::version;
  json["apc_version"] = plan.producer;
  json["model"] = {{"path", plan.modelPath},
                   {"sha256", plan.modelSha256},
                   {"dims", plan.dims},
                   {"conditions", plan.conditions},
                   {"parameters", plan.parameters}};
  json["cluster"] = plan.cluster;
  json["cluster_overrides"] = plan.clusterOverrides;
  json["devices"] = plan.devices;
  json["devices_used"] = plan.devicesUsed;
  json["mode"] = plan.mode;
  json["search"] = plan.search;
  json["settings"] = settingsJson(plan.settings);
  json["mesh"] = listJson(plan.mesh, axisJson);
  json["step_seconds"] = plan.stepSeconds;
  json["compute_seconds"] = plan.computeSeconds;
  json["communication_seconds"] = plan.communicationSeconds;
  json["lower_bound_seconds"] = plan.lowerBoundSeconds;
  json["gap"] = plan.gap;
  json["status"] = plan.status;
  json["flops_per_device"] = plan.flopsPerDevice;
  json["memory_bytes"] = memoryJson(plan.memory);
  json["memory_limit_bytes"] = plan.memoryLimitBytes;
  json["communication_bytes"] = plan.communicationBytes;
  json["baselines"] = listJson(plan.baselines, baselineJson);
  json["choices"] = listJson(plan.choices, choiceJson);
  json["rejections"] = listJson(plan.rejections, rejectionsJson);
  json["shardings"] = listJson(plan.shardings, shardingJson);
  json["moves"] = listJson(plan.moves, moveJson);
  json["sensitivity"] = listJson(plan.sensitivity, sensitivityJson);
  json["notes"] = plan.notes;
  if (withTiming)
    json["timing_seconds"] = {{"import", plan.timing.importSeconds},
                              {"problem", plan.timing.problemSeconds},
                              {"search", plan.timing.searchSeconds},
                              {"total", plan.timing.totalSeconds}};
  return json;
}

} // namespace

std::string printPlan(const Plan &plan, bool withTiming) {
  return planJson(plan, withTiming).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

} // namespace apc
