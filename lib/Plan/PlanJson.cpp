// plan.json: the one file of the Plan room that knows JSON.
#include "apc/Plan/PlanJson.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <nlohmann/json.hpp>

namespace apc {

using Json = nlohmann::ordered_json;

namespace {

Json memoryJson(const MemoryTable &memory) {
  return {{"parameters", memory.parameters}, {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},   {"activations", memory.activations},
          {"workspace", memory.workspace},   {"communication", memory.communication},
          {"total", memory.total()}};
}

template <typename T>
Json optionalJson(const std::optional<T> &value) {
  return value ? Json(*value) : Json(nullptr);
}

Json baselineJson(const Baseline &baseline) {
  return {{"name", baseline.name},
          {"step_seconds", optionalJson(baseline.stepSeconds)},
          {"memory_bytes", optionalJson(baseline.memoryBytes)},
          {"feasible", baseline.feasible},
          {"reason", baseline.reason}};
}

Json turningJson(const std::vector<TurningPoint> &points) {
  Json list = Json::array();
  for (const TurningPoint &point : points)
    list.push_back({{"figure", point.figure}, {"factor", point.factor}, {"value", optionalJson(point.value)}});
  return list;
}

Json choiceJson(const PlanChoice &choice) {
  Json runnerUp = nullptr;
  if (choice.runnerUp)
    runnerUp = {{"strategy", choice.runnerUp->strategy},
                {"extra_seconds", choice.runnerUp->extraSeconds},
                {"wins_if", turningJson(choice.runnerUp->winsIf)}};
  return {{"op", choice.op},
          {"operator", choice.operatorName},
          {"strategy", choice.strategy},
          {"seconds", choice.seconds},
          {"communication_seconds", choice.communicationSeconds},
          {"bytes", choice.bytes},
          {"runner_up", runnerUp},
          {"rejections", choice.rejections}};
}

Json rejectionsJson(const PlanRejections &rejections) {
  Json reasons = Json::array();
  for (const PlanRejections::Reason &reason : rejections.reasons)
    reasons.push_back({{"reason", reason.reason}, {"count", reason.count}, {"example", reason.example}});
  return {{"rule", rejections.rule}, {"offered", rejections.offered}, {"reasons", reasons}};
}

Json shardingJson(const PlanSharding &sharding) {
  return {{"value", sharding.value},     {"producer", sharding.producer},       {"role", sharding.role},
          {"shape", sharding.shape},     {"local_shape", sharding.localShape},  {"dims", sharding.dims},
          {"partial", sharding.partial}, {"element_bits", sharding.elementBits}};
}

Json moveJson(const PlanMove &move) {
  return {{"value", move.value},
          {"target", move.target},
          {"users", move.users},
          {"steps", move.steps},
          {"seconds", move.seconds}};
}

Json axisJson(const PlanAxis &axis) {
  return {{"name", axis.name}, {"size", axis.size}, {"level", axis.level}, {"level_index", axis.levelIndex}};
}

Json settingsJson(const PlanSettings &settings) {
  return {{"cluster", settings.cluster},
          {"search", settings.search},
          {"memory_limit_bytes", optionalJson(settings.memoryLimitBytes)},
          {"layouts", settings.layouts}};
}

Json sensitivityJson(const PlanSensitivity &row) {
  return {{"figure", row.figure},          {"factor", row.factor}, {"step_seconds", optionalJson(row.stepSeconds)},
          {"changed_ops", row.changedOps}, {"mesh", row.mesh},     {"reason", row.reason}};
}

template <typename T, typename F>
Json listJson(const std::vector<T> &list, F toJson) {
  Json array = Json::array();
  for (const T &item : list)
    array.push_back(toJson(item));
  return array;
}

Json planJson(const Plan &plan, bool withTiming) {
  Json json;
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

//===--------------------------------------------------------------------------------------------------------------===//
// Reading. `at` throws for absent keys and `get` for wrong types; parsePlan catches both.
//===--------------------------------------------------------------------------------------------------------------===//

template <typename T>
std::optional<T> readOptional(const Json &json) {
  return json.is_null() ? std::nullopt : std::optional<T>(json.get<T>());
}

template <typename T, typename F>
std::vector<T> readList(const Json &json, F read) {
  std::vector<T> list;
  for (const Json &item : json)
    list.push_back(read(item));
  return list;
}

MemoryTable readMemory(const Json &json) {
  MemoryTable memory;
  json.at("parameters").get_to(memory.parameters);
  json.at("gradients").get_to(memory.gradients);
  json.at("optimizer").get_to(memory.optimizer);
  json.at("activations").get_to(memory.activations);
  json.at("workspace").get_to(memory.workspace);
  json.at("communication").get_to(memory.communication);
  return memory;
}

Baseline readBaseline(const Json &json) {
  return {json.at("name"), readOptional<double>(json.at("step_seconds")),
          readOptional<int64_t>(json.at("memory_bytes")), json.at("feasible"), json.at("reason")};
}

TurningPoint readTurningPoint(const Json &json) {
  return {json.at("figure"), json.at("factor"), readOptional<double>(json.at("value"))};
}

PlanChoice readChoice(const Json &json) {
  PlanChoice choice{
      json.at("op"),    json.at("operator"), json.at("strategy"),  json.at("seconds"), json.at("communication_seconds"),
      json.at("bytes"), std::nullopt,        json.at("rejections")};
  if (const Json &runnerUp = json.at("runner_up"); !runnerUp.is_null()) {
    choice.runnerUp = RunnerUp{runnerUp.at("strategy"), runnerUp.at("extra_seconds")};
    if (runnerUp.contains("wins_if"))
      choice.runnerUp->winsIf = readList<TurningPoint>(runnerUp.at("wins_if"), readTurningPoint);
  }
  return choice;
}

PlanRejections readRejections(const Json &json) {
  auto reason = [](const Json &item) {
    return PlanRejections::Reason{item.at("reason"), item.at("count"), item.at("example")};
  };
  return {json.at("rule"), json.at("offered"), readList<PlanRejections::Reason>(json.at("reasons"), reason)};
}

PlanSharding readSharding(const Json &json) {
  return {json.at("value"),       json.at("producer"), json.at("role"),    json.at("shape"),
          json.at("local_shape"), json.at("dims"),     json.at("partial"), json.at("element_bits")};
}

PlanMove readMove(const Json &json) {
  return {json.at("value"), json.at("target"), json.at("users"), json.at("steps"), json.at("seconds")};
}

PlanAxis readAxis(const Json &json) {
  return {json.at("name"), json.at("size"), json.at("level"), json.at("level_index")};
}

PlanSettings readSettings(const Json &json) {
  return {json.at("cluster"), json.at("search"), readOptional<int64_t>(json.at("memory_limit_bytes")),
          json.at("layouts")};
}

PlanSensitivity readSensitivity(const Json &json) {
  return {json.at("figure"),      json.at("factor"), readOptional<double>(json.at("step_seconds")),
          json.at("changed_ops"), json.at("mesh"),   json.at("reason")};
}

PlanTiming readTiming(const Json &json) {
  return {json.at("import"), json.at("problem"), json.at("search"), json.at("total")};
}

Plan readPlan(const Json &json) {
  Plan plan;
  plan.producer = json.value("apc_version", std::string());
  const Json &model = json.at("model");
  model.at("path").get_to(plan.modelPath);
  model.at("sha256").get_to(plan.modelSha256);
  model.at("dims").get_to(plan.dims);
  model.at("conditions").get_to(plan.conditions);
  model.at("parameters").get_to(plan.parameters);
  json.at("cluster").get_to(plan.cluster);
  json.at("cluster_overrides").get_to(plan.clusterOverrides);
  json.at("devices").get_to(plan.devices);
  json.at("devices_used").get_to(plan.devicesUsed);
  json.at("mode").get_to(plan.mode);
  json.at("search").get_to(plan.search);
  if (json.contains("settings"))
    plan.settings = readSettings(json.at("settings"));
  plan.mesh = readList<PlanAxis>(json.at("mesh"), readAxis);
  json.at("step_seconds").get_to(plan.stepSeconds);
  json.at("compute_seconds").get_to(plan.computeSeconds);
  json.at("communication_seconds").get_to(plan.communicationSeconds);
  json.at("lower_bound_seconds").get_to(plan.lowerBoundSeconds);
  json.at("gap").get_to(plan.gap);
  json.at("status").get_to(plan.status);
  json.at("flops_per_device").get_to(plan.flopsPerDevice);
  plan.memory = readMemory(json.at("memory_bytes"));
  json.at("memory_limit_bytes").get_to(plan.memoryLimitBytes);
  json.at("communication_bytes").get_to(plan.communicationBytes);
  plan.baselines = readList<Baseline>(json.at("baselines"), readBaseline);
  plan.choices = readList<PlanChoice>(json.at("choices"), readChoice);
  plan.rejections = readList<PlanRejections>(json.at("rejections"), readRejections);
  plan.shardings = readList<PlanSharding>(json.at("shardings"), readSharding);
  plan.moves = readList<PlanMove>(json.at("moves"), readMove);
  if (json.contains("sensitivity"))
    plan.sensitivity = readList<PlanSensitivity>(json.at("sensitivity"), readSensitivity);
  json.at("notes").get_to(plan.notes);
  if (json.contains("timing_seconds"))
    plan.timing = readTiming(json.at("timing_seconds"));
  return plan;
}

llvm::Error checkReferences(const Plan &plan, llvm::StringRef source) {
  for (const PlanChoice &choice : plan.choices)
    if (choice.rejections >= plan.rejections.size())
      return inputError("{0}: choice of op '{1}': 'rejections' is {2}, but there are {3}", source, choice.op,
                        choice.rejections, plan.rejections.size());
  for (const PlanSharding &sharding : plan.shardings)
    if (sharding.dims.size() != sharding.shape.size() || sharding.localShape.size() != sharding.shape.size())
      return inputError("{0}: sharding of value '{1}': 'shape', 'local_shape' and 'dims' differ in length", source,
                        sharding.value);
  return llvm::Error::success();
}

} // namespace

std::string printPlan(const Plan &plan, bool withTiming) {
  return planJson(plan, withTiming).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

llvm::Expected<Plan> parsePlan(llvm::StringRef json, llvm::StringRef source) {
  try {
    Json document = Json::parse(json.begin(), json.end());
    if (int found = document.at("version").get<int>(); found != Plan::version)
      return inputError("{0}: plan version {1}; this program reads version {2}", source, found, Plan::version);
    Plan plan = readPlan(document);
    if (llvm::Error error = checkReferences(plan, source))
      return error;
    return plan;
  } catch (const nlohmann::json::exception &exception) {
    return inputError("{0}: not a plan written by 'apc plan': {1}", source, exception.what());
  }
}

} // namespace apc
