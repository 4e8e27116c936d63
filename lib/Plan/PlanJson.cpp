// plan.json: the one file of the Plan room that knows JSON.
#include "apc/Plan/PlanJson.h"

#include "apc/Support/Error.h"
#include "apc/Support/JsonText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <nlohmann/json.hpp>

#include <utility>

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

template <typename T, typename F>
Json listJson(const std::vector<T> &list, F toJson) {
  Json array = Json::array();
  for (const T &item : list)
    array.push_back(toJson(item));
  return array;
}

Json turningJson(const TurningPoint &point) {
  return {{"figure", point.figure}, {"factor", point.factor}, {"value", optionalJson(point.value)}};
}

Json runnerUpJson(const std::optional<RunnerUp> &runnerUp) {
  if (!runnerUp)
    return nullptr;
  return {{"strategy", runnerUp->strategy},
          {"extra_seconds", runnerUp->extraSeconds},
          {"wins_if", listJson(runnerUp->winsIf, turningJson)}};
}

Json alternativeJson(const std::optional<RunnerUp> &other) {
  if (!other)
    return nullptr;
  return {{"strategy", other->strategy}, {"extra_seconds", other->extraSeconds}};
}

Json pinnedJson(const std::optional<PinnedChoice> &pinned) {
  if (!pinned)
    return nullptr;
  return {{"by", pinned->by}, {"free", alternativeJson(pinned->free)}};
}

Json factorJson(const FactorChoice &choice) {
  return {{"factor", choice.factor},
          {"size", choice.size},
          {"cut", choice.isCut},
          {"must_be_whole", choice.mustBeWhole},
          {"other", alternativeJson(choice.other)}};
}

Json choiceJson(const PlanChoice &choice) {
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
          {"layouts", settings.layouts},
          {"parallel", settings.parallel},
          {"pins", settings.pins},
          {"ignore_model_shardings", settings.ignoresModelShardings},
          {"time_limit_seconds", optionalJson(settings.timeLimitSeconds)},
          {"gap_tolerance", optionalJson(settings.gap)}};
}

Json sensitivityJson(const PlanSensitivity &row) {
  return {{"figure", row.figure},          {"factor", row.factor}, {"step_seconds", optionalJson(row.stepSeconds)},
          {"changed_ops", row.changedOps}, {"mesh", row.mesh},     {"reason", row.reason}};
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
// Reading.
//===--------------------------------------------------------------------------------------------------------------===//

/// A value of the document and where it stands, "choices[3].seconds". Converts to what is expected there; what is not
/// it, or is absent, reads as empty, and `problem` keeps the first such fault.
class Field {
public:
  Field(const Json &json, std::string place, std::string &problem)
      : json(json), place(std::move(place)), problem(problem) {}

  Field at(llvm::StringRef key) const {
    static const Json absent;
    auto found = json.find(key);
    std::string inner = place.empty() ? key.str() : place + "." + key.str();
    if (found == json.end())
      report("key '" + inner + "' is missing");
    return {found == json.end() ? absent : *found, std::move(inner), problem};
  }
  bool contains(llvm::StringRef key) const { return json.contains(key); }
  bool isNull() const { return json.is_null(); }

  template <typename T>
  operator T() const {
    T value{};
    read(value);
    return value;
  }
  template <typename T>
  void into(T &value) const {
    read(value);
  }
  /// Calls `visit` with each item of a list.
  template <typename F>
  void forEach(F visit) const {
    if (!json.is_array())
      return expect("a list");
    for (size_t index = 0; index < json.size(); ++index)
      visit(Field(json[index], place + "[" + std::to_string(index) + "]", problem));
  }

private:
  void report(std::string text) const {
    if (problem.empty())
      problem = std::move(text);
  }
  void expect(llvm::StringRef expected) const {
    constexpr size_t shown = 40;
    std::string found = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (found.size() > shown)
      found = found.substr(0, shown) + "...";
    report("key '" + place + "' must be " + expected.str() + ", not " + found);
  }

  void read(std::string &text) const { json.is_string() ? json.get_to(text) : (expect("a text"), text); }
  void read(bool &flag) const { json.is_boolean() ? json.get_to(flag) : (expect("true or false"), flag); }
  void read(double &number) const { json.is_number() ? json.get_to(number) : (expect("a number"), number); }
  template <std::integral T>
  void read(T &number) const {
    bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<uint64_t>())
                                          : json.is_number_integer() && std::in_range<T>(json.get<int64_t>());
    if (!fits)
      return expect("a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                    std::to_string(std::numeric_limits<T>::max()));
    json.get_to(number);
  }
  template <typename T>
  void read(std::vector<T> &list) const {
    forEach([&](const Field &item) { item.into(list.emplace_back()); });
  }
  template <typename T>
  void read(std::map<std::string, T> &map) const {
    if (!json.is_object())
      return expect("an object");
    for (const auto &item : json.items())
      Field(item.value(), place + "." + item.key(), problem).into(map[item.key()]);
  }

  const Json &json;
  std::string place;
  std::string &problem;
};

template <typename T>
std::optional<T> readOptional(const Field &json) {
  return json.isNull() ? std::nullopt : std::optional<T>(static_cast<T>(json));
}

template <typename T, typename F>
std::vector<T> readList(const Field &json, F read) {
  std::vector<T> list;
  json.forEach([&](const Field &item) { list.push_back(read(item)); });
  return list;
}

MemoryTable readMemory(const Field &json) {
  MemoryTable memory;
  json.at("parameters").into(memory.parameters);
  json.at("gradients").into(memory.gradients);
  json.at("optimizer").into(memory.optimizer);
  json.at("activations").into(memory.activations);
  json.at("workspace").into(memory.workspace);
  json.at("communication").into(memory.communication);
  return memory;
}

Baseline readBaseline(const Field &json) {
  return {json.at("name"), readOptional<double>(json.at("step_seconds")),
          readOptional<int64_t>(json.at("memory_bytes")), json.at("feasible"), json.at("reason")};
}

TurningPoint readTurningPoint(const Field &json) {
  return {json.at("figure"), json.at("factor"), readOptional<double>(json.at("value"))};
}

std::optional<RunnerUp> readRunnerUp(const Field &json) {
  if (json.isNull())
    return std::nullopt;
  RunnerUp runnerUp{json.at("strategy"), json.at("extra_seconds")};
  if (json.contains("wins_if"))
    runnerUp.winsIf = readList<TurningPoint>(json.at("wins_if"), readTurningPoint);
  return runnerUp;
}

FactorChoice readFactor(const Field &json) {
  return {json.at("factor"), json.at("size"), json.at("cut"), json.at("must_be_whole"), readRunnerUp(json.at("other"))};
}

PlanChoice readChoice(const Field &json) {
  PlanChoice choice{json.at("op"),
                    json.at("operator"),
                    json.at("strategy"),
                    json.at("seconds"),
                    json.at("communication_seconds"),
                    json.at("bytes"),
                    readRunnerUp(json.at("runner_up")),
                    json.at("rejections")};
  if (json.contains("factors")) // plans of programs without them have none
    choice.factors = readList<FactorChoice>(json.at("factors"), readFactor);
  if (json.contains("pinned") && !json.at("pinned").isNull())
    choice.pinned = PinnedChoice{json.at("pinned").at("by"), readRunnerUp(json.at("pinned").at("free"))};
  return choice;
}

PlanRejections readRejections(const Field &json) {
  auto reason = [](const Field &item) {
    return PlanRejections::Reason{item.at("reason"), item.at("count"), item.at("example")};
  };
  return {json.at("rule"), json.at("offered"), readList<PlanRejections::Reason>(json.at("reasons"), reason)};
}

PlanSharding readSharding(const Field &json) {
  return {json.at("value"),       json.at("producer"), json.at("role"),    json.at("shape"),
          json.at("local_shape"), json.at("dims"),     json.at("partial"), json.at("element_bits")};
}

PlanMove readMove(const Field &json) {
  return {json.at("value"), json.at("target"), json.at("users"), json.at("steps"), json.at("seconds")};
}

PlanAxis readAxis(const Field &json) {
  return {json.at("name"), json.at("size"), json.at("level"), json.at("level_index")};
}

PlanSettings readSettings(const Field &json) {
  PlanSettings settings{json.at("cluster"), json.at("search"), readOptional<int64_t>(json.at("memory_limit_bytes")),
                        json.at("layouts")};
  if (json.contains("parallel"))
    json.at("parallel").into(settings.parallel);
  if (json.contains("pins"))
    json.at("pins").into(settings.pins);
  if (json.contains("ignore_model_shardings"))
    json.at("ignore_model_shardings").into(settings.ignoresModelShardings);
  if (json.contains("time_limit_seconds"))
    settings.timeLimitSeconds = readOptional<double>(json.at("time_limit_seconds"));
  if (json.contains("gap_tolerance"))
    settings.gap = readOptional<double>(json.at("gap_tolerance"));
  return settings;
}

PlanSensitivity readSensitivity(const Field &json) {
  return {json.at("figure"),      json.at("factor"), readOptional<double>(json.at("step_seconds")),
          json.at("changed_ops"), json.at("mesh"),   json.at("reason")};
}

PlanTiming readTiming(const Field &json) {
  return {json.at("import"), json.at("problem"), json.at("search"), json.at("total")};
}

Plan readPlan(const Field &json) {
  Plan plan;
  plan.producer = json.contains("apc_version") ? static_cast<std::string>(json.at("apc_version")) : std::string();
  const Field &model = json.at("model");
  model.at("path").into(plan.modelPath);
  model.at("sha256").into(plan.modelSha256);
  model.at("dims").into(plan.dims);
  model.at("conditions").into(plan.conditions);
  model.at("parameters").into(plan.parameters);
  json.at("cluster").into(plan.cluster);
  json.at("cluster_overrides").into(plan.clusterOverrides);
  json.at("devices").into(plan.devices);
  json.at("devices_used").into(plan.devicesUsed);
  json.at("mode").into(plan.mode);
  json.at("search").into(plan.search);
  if (json.contains("settings"))
    plan.settings = readSettings(json.at("settings"));
  plan.mesh = readList<PlanAxis>(json.at("mesh"), readAxis);
  json.at("step_seconds").into(plan.stepSeconds);
  json.at("compute_seconds").into(plan.computeSeconds);
  json.at("communication_seconds").into(plan.communicationSeconds);
  json.at("lower_bound_seconds").into(plan.lowerBoundSeconds);
  json.at("gap").into(plan.gap);
  json.at("status").into(plan.status);
  json.at("flops_per_device").into(plan.flopsPerDevice);
  plan.memory = readMemory(json.at("memory_bytes"));
  json.at("memory_limit_bytes").into(plan.memoryLimitBytes);
  json.at("communication_bytes").into(plan.communicationBytes);
  plan.baselines = readList<Baseline>(json.at("baselines"), readBaseline);
  plan.choices = readList<PlanChoice>(json.at("choices"), readChoice);
  plan.rejections = readList<PlanRejections>(json.at("rejections"), readRejections);
  plan.shardings = readList<PlanSharding>(json.at("shardings"), readSharding);
  plan.moves = readList<PlanMove>(json.at("moves"), readMove);
  if (json.contains("sensitivity"))
    plan.sensitivity = readList<PlanSensitivity>(json.at("sensitivity"), readSensitivity);
  json.at("notes").into(plan.notes);
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

llvm::Error notAPlan(llvm::StringRef source, llvm::StringRef why) {
  return inputError("{0}: not a plan written by 'apc plan': {1}", source, why);
}

} // namespace

std::string printPlan(const Plan &plan, bool withTiming) {
  return planJson(plan, withTiming).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

llvm::Expected<Plan> parsePlan(llvm::StringRef json, llvm::StringRef source) {
  try {
    const Json document = Json::parse(json.begin(), json.end());
    std::string problem;
    Field field(document, "", problem);
    if (!document.is_object())
      return notAPlan(source, "an object of a plan's keys is expected");
    int version = field.at("version");
    if (problem.empty() && version != Plan::version)
      return inputError("{0}: plan version {1}; this program reads version {2}", source, version, Plan::version);
    Plan plan = readPlan(field);
    if (!problem.empty())
      return notAPlan(source, problem);
    if (llvm::Error error = checkReferences(plan, source))
      return error;
    return plan;
  } catch (const Json::parse_error &error) {
    return notAPlan(
        source,
        llvm::formatv("line {0}: {1}", lineOfOffset(json, error.byte), jsonSyntaxProblem(json, error.byte)).str());
  } catch (const Json::exception &) {
    return notAPlan(source, "a number is too large; at most 1.79e308 is accepted");
  }
}

} // namespace apc
