// Reads plan.json back, keys that plans of older programs lack included, and checks what its parts say of each other.
#include "apc/Plan/PlanJson.h"

#include "JsonField.h"

#include "apc/Support/Error.h"
#include "apc/Support/JsonText.h"

#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

MemoryTable readMemory(const JsonField &json) {
  MemoryTable memory;
  json.at("parameters").into(memory.parameters);
  json.at("gradients").into(memory.gradients);
  json.at("optimizer").into(memory.optimizer);
  json.at("activations").into(memory.activations);
  json.at("workspace").into(memory.workspace);
  json.at("communication").into(memory.communication);
  return memory;
}

Baseline readBaseline(const JsonField &json) {
  return {json.at("name"), readOptional<double>(json.at("step_seconds")),
          readOptional<int64_t>(json.at("memory_bytes")), json.at("feasible"), json.at("reason")};
}

TurningPoint readTurningPoint(const JsonField &json) {
  return {json.at("figure"), json.at("factor"), readOptional<double>(json.at("value"))};
}

std::optional<RunnerUp> readRunnerUp(const JsonField &json) {
  if (json.isNull())
    return std::nullopt;
  RunnerUp runnerUp{json.at("strategy"), json.at("extra_seconds")};
  if (json.contains("wins_if"))
    runnerUp.winsIf = readList<TurningPoint>(json.at("wins_if"), readTurningPoint);
  return runnerUp;
}

FactorChoice readFactor(const JsonField &json) {
  return {json.at("factor"), json.at("size"), json.at("cut"), json.at("must_be_whole"), readRunnerUp(json.at("other"))};
}

PlanChoice readChoice(const JsonField &json) {
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

PlanRejections readRejections(const JsonField &json) {
  auto reason = [](const JsonField &item) {
    return PlanRejections::Reason{item.at("reason"), item.at("count"), item.at("example")};
  };
  return {json.at("rule"), json.at("offered"), readList<PlanRejections::Reason>(json.at("reasons"), reason)};
}

PlanSharding readSharding(const JsonField &json) {
  return {json.at("value"),       json.at("producer"), json.at("role"),    json.at("shape"),
          json.at("local_shape"), json.at("dims"),     json.at("partial"), json.at("element_bits")};
}

PlanMove readMove(const JsonField &json) {
  return {json.at("value"), json.at("target"), json.at("users"), json.at("steps"), json.at("seconds")};
}

PlanAxis readAxis(const JsonField &json) {
  return {json.at("name"), json.at("size"), json.at("level"), json.at("level_index")};
}

PlanSettings readSettings(const JsonField &json) {
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

PlanSensitivity readSensitivity(const JsonField &json) {
  return {json.at("figure"),      json.at("factor"), readOptional<double>(json.at("step_seconds")),
          json.at("changed_ops"), json.at("mesh"),   json.at("reason")};
}

PlanTiming readTiming(const JsonField &json) {
  return {json.at("import"), json.at("problem"), json.at("search"), json.at("total")};
}

Plan readPlan(const JsonField &json) {
  Plan plan;
  plan.producer = json.contains("apc_version") ? static_cast<std::string>(json.at("apc_version")) : std::string();
  const JsonField &model = json.at("model");
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

llvm::Expected<Plan> parsePlan(llvm::StringRef json, llvm::StringRef source) {
  try {
    const OrderedJson document = OrderedJson::parse(json.begin(), json.end());
    std::string problem;
    JsonField field(document, "", problem);
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
  } catch (const OrderedJson::parse_error &error) {
    return notAPlan(
        source,
        llvm::formatv("line {0}: {1}", lineOfOffset(json, error.byte), jsonSyntaxProblem(json, error.byte)).str());
  } catch (const OrderedJson::exception &) {
    return notAPlan(source, "a number is too large; at most 1.79e308 is accepted");
  }
}

} // namespace apc
