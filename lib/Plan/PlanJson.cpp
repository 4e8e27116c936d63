// Writes plan.json and reads it back.
#include "apc/Plan/PlanJson.h"

#include "PlanFields.h"
#include "SettingKinds.h"

#include "apc/Support/Error.h"

#include <set>

namespace apc {

namespace {

/// The value of a setting as JSON has it.
void writeSetting(JsonObjectWriter &object, const Setting &setting, const PlanRequest &request) {
  std::vector<std::string> texts = setting.print(request);
  std::string key = setting.key();
  if (setting.isList)
    return object(key, texts);
  if (texts.empty())
    return object(key, nullptr);
  double number = 0;
  int64_t whole = 0;
  switch (setting.kind) {
  case SettingKind::Text:
    return object(key, texts.front());
  case SettingKind::Switch:
    return object(key, texts.front() == "true");
  case SettingKind::WholeNumber:
    if (!llvm::StringRef(texts.front()).getAsInteger(10, whole))
      return object(key, whole);
    break;
  case SettingKind::Number:
    if (!llvm::StringRef(texts.front()).getAsDouble(number))
      return object(key, number);
    break;
  }
  llvm_unreachable("a setting prints texts of its kind");
}

/// The texts of a setting from which a request is read; none where JSON has null.
std::vector<std::string> textsOf(const Setting &setting, JsonReader value) {
  if (setting.isList)
    return value.get<std::vector<std::string>>();
  if (value.isNull())
    return {};
  switch (setting.kind) {
  case SettingKind::Text:
    return {value.get<std::string>()};
  case SettingKind::Switch:
    return {value.get<bool>() ? "true" : "false"};
  case SettingKind::WholeNumber:
    return {std::to_string(value.get<int64_t>())};
  case SettingKind::Number:
    return {shortestNumber(value.get<double>())};
  }
  llvm_unreachable("every kind of setting is read");
}

void readSetting(const Setting &setting, JsonReader value, PlanRequest &request) {
  std::vector<std::string> texts = textsOf(setting, value);
  if (value.hasFailed())
    return;
  setting.reset(request);
  for (const std::string &text : texts)
    if (llvm::Error error = setting.read(request, text, setting.name))
      return value.fail(takeMessage(std::move(error)).second);
}

/// A bucket holds two moves at least, and each move stands in one bucket at most.
llvm::Error checkBuckets(const StagePlan &stage, llvm::StringRef source) {
  std::set<unsigned> taken;
  for (auto [index, bucket] : llvm::enumerate(stage.buckets)) {
    if (bucket.moves.size() < 2)
      return inputError("{0}: buckets[{1}] has {2} moves; two are expected at least", source, index,
                        bucket.moves.size());
    for (unsigned move : bucket.moves) {
      if (move >= stage.moves.size())
        return inputError("{0}: buckets[{1}] names move {2}, but there are {3}", source, index, move,
                          stage.moves.size());
      if (!taken.insert(move).second)
        return inputError("{0}: buckets[{1}] names move {2} of value '{3}', which a bucket has already", source, index,
                          move, llvm::join(stage.moves[move].values, "', '"));
    }
  }
  return llvm::Error::success();
}

llvm::Error checkStage(const StagePlan &stage, const Plan &plan, llvm::StringRef source) {
  if (llvm::Expected<Mesh> mesh = stage.mesh.bind(plan.request.devices); !mesh)
    return inputError("{0}: {1}", source, takeMessage(mesh.takeError()).second);
  for (const PlanChoice &choice : stage.choices)
    if (choice.rejections >= stage.rejections.size())
      return inputError("{0}: choice of op '{1}': 'rejections' is {2}, but there are {3}", source, choice.op,
                        choice.rejections, stage.rejections.size());
  if (llvm::Error error = checkBuckets(stage, source))
    return error;
  for (const PlanSharding &sharding : stage.shardings)
    if (sharding.sharding.dims.size() != sharding.shape.size() || sharding.localShape.size() != sharding.shape.size())
      return inputError("{0}: sharding of value '{1}': 'shape', 'local_shape' and 'dims' differ in length", source,
                        sharding.value);
  return llvm::Error::success();
}

llvm::Error notAPlan(llvm::Error error) {
  auto [fault, message] = takeMessage(std::move(error));
  return inputError("{0} (a plan.json written by 'apc plan' is expected)", message);
}

/// `devices`, `mode` and `runtime` stand beside the request, too: both must say the same.
llvm::Error checkRequested(JsonReader root, llvm::StringRef source) {
  for (llvm::StringRef key : {"devices", "mode", "runtime"}) {
    std::optional<JsonReader> inside = root.at("request").find(key), beside = root.find(key);
    if (inside && beside && printJson(inside->value(), 0) != printJson(beside->value(), 0))
      return inputError("{0}: '{1}' is {2}, but the request has {3}", source, key, printJson(beside->value(), 0),
                        printJson(inside->value(), 0));
  }
  return llvm::Error::success();
}

/// The devices of a stage, the stages of a pipeline, copies, what runs again and the target of a move are said twice,
/// too.
llvm::Error checkSaidTwice(JsonReader root, const Plan &plan, llvm::StringRef source) {
  std::string fault;
  auto expect = [&](JsonReader place, const llvm::Twine &what, const std::string &truth) {
    if (std::string said = printJson(place.value(), 0); fault.empty() && said != truth)
      fault = (what + " is " + said + ", but it has " + truth).str();
  };
  auto stage = plan.stages.begin();
  root.at("stages").forEach([&](JsonReader place) {
    expect(place.at("devices"), "'devices' of the stage with mesh '" + stage->mesh.str() + "'",
           std::to_string(stage->numRanks()));
    auto choice = stage->choices.begin();
    place.at("choices").forEach([&](JsonReader entry) {
      if (std::optional<JsonReader> said = entry.find("recompute"))
        expect(*said, "'recompute' of op '" + llvm::Twine(choice->op) + "'", choice->runsAgain() ? "true" : "false");
      ++choice;
    });
    auto move = stage->moves.begin();
    place.at("moves").forEach([&](JsonReader entry) {
      expect(entry.at("target"),
             "'target' of the move of value '" + llvm::Twine(llvm::join(move->values, "', '")) + "'",
             printJson(move->target.str(), 0));
      ++move;
    });
    ++stage;
  });
  if (std::optional<JsonReader> pipeline = root.find("pipeline"); pipeline && plan.pipeline) {
    if (std::optional<JsonReader> said = pipeline->find("stages"))
      expect(*said, "'stages' of the pipeline", std::to_string(plan.pipeline->numStages()));
    if (std::optional<JsonReader> said = pipeline->find("copies"); said && plan.training)
      expect(*said, "'copies' of the pipeline", std::to_string(plan.training->copies));
  }
  return fault.empty() ? llvm::Error::success() : inputError("{0}: {1}", source, fault);
}

llvm::Error checkVersion(const JsonDocument &document, llvm::StringRef source) {
  int64_t version = document.root().at("version").get<int64_t>();
  if (llvm::Error error = document.takeError())
    return notAPlan(std::move(error));
  if (version == Plan::version)
    return llvm::Error::success();
  return inputError("{0}: a plan of version {1}; this program reads version {2}: plan the model again with 'apc plan'",
                    source, version, Plan::version);
}

} // namespace

void readJson(JsonReader reader, MemoryTable &memory) {
  reader.object([&](JsonObjectReader &visit) {
    for (MemoryCategory category : allMemoryCategories())
      if (isLaterLine(category))
        visit.optional(memoryCategoryName(category), memory[category]);
      else
        visit(memoryCategoryName(category), memory[category]);
    int64_t total = 0;
    visit("total", total);
    visit.optional(hostMemoryKey, memory.hostBytes);
    if (!reader.hasFailed() && total != memory.total())
      reader.fail("the total is " + llvm::Twine(total) + ", but the categories sum to " + llvm::Twine(memory.total()));
  });
}

void writeJson(JsonWriter &json, const MemoryTable &memory) {
  json.object([&](JsonObjectWriter &object) {
    for (MemoryCategory category : allMemoryCategories())
      object(memoryCategoryName(category), memory[category]);
    object("total", memory.total());
    object(hostMemoryKey, memory.hostBytes);
  });
}

void readJson(JsonReader reader, NamedStrategy &strategy) {
  std::string text = reader.get<std::string>();
  if (reader.hasFailed())
    return;
  if (llvm::Expected<NamedStrategy> parsed = NamedStrategy::parse(text))
    strategy = std::move(*parsed);
  else
    reader.fail(takeMessage(parsed.takeError()).second);
}

void writeJson(JsonWriter &json, const NamedStrategy &strategy) { json.value(strategy.str()); }

void readJson(JsonReader reader, PlanRequest &request) {
  std::vector<std::string> keys; // the visitor refers to them until the object ends
  for (const Setting &setting : allSettings())
    keys.push_back(setting.key());
  reader.object([&](JsonObjectReader &visit) {
    for (const auto &[setting, key] : llvm::zip_equal(allSettings(), keys))
      if (std::optional<JsonReader> value = visit.find(key); value && !(value->isNull() && !setting.older.empty()))
        readSetting(setting, *value, request);
      else if (!setting.older.empty())
        llvm::cantFail(setting.read(request, setting.older, setting.name));
  });
}

void writeJson(JsonWriter &json, const PlanRequest &request) {
  json.object([&](JsonObjectWriter &object) {
    for (const Setting &setting : allSettings())
      writeSetting(object, setting, request);
  });
}

std::string printPlan(const Plan &plan, bool withTiming) {
  Plan written = plan; // one description serves readers and writers
  if (written.pipeline && written.training)
    written.pipeline->copies = written.training->copies;
  JsonWriter json(1);
  json.object([&](JsonObjectWriter &object) {
    object("version", Plan::version);
    fields(object, written);
    if (withTiming)
      object("timing_seconds", written.timing);
  });
  return json.take() + "\n";
}

llvm::Expected<Plan> parsePlan(llvm::StringRef json, llvm::StringRef source) {
  llvm::Expected<JsonDocument> document = JsonDocument::parse(json, source);
  if (!document)
    return notAPlan(document.takeError());
  if (llvm::Error error = checkVersion(*document, source))
    return error;
  Plan plan;
  document->root().object([&](JsonObjectReader &visit) {
    int version = Plan::version;
    visit("version", version);
    fields(visit, plan);
    visit.optional("timing_seconds", plan.timing);
  });
  if (llvm::Error error = document->takeError())
    return notAPlan(std::move(error));
  if (llvm::Error error = checkRequested(document->root(), source))
    return error;
  if (llvm::Error error = checkSaidTwice(document->root(), plan, source))
    return error;
  if (plan.stages.empty())
    return inputError("{0}: 'stages' is empty; a plan has one stage at least", source);
  for (const StagePlan &stage : plan.stages)
    if (llvm::Error error = checkStage(stage, plan, source))
      return error;
  return plan;
}

} // namespace apc
