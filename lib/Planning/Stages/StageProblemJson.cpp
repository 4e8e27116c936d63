// The text form of problems of stages and of their answers.
#include "apc/Planning/Stages/StageProblemJson.h"

#include "Points.h"

#include "apc/Support/Error.h"
#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

namespace {

constexpr llvm::StringLiteral linkModes[] = {"latency", "link", "sender"};

constexpr std::pair<llvm::StringLiteral, double StageWork::*> secondTables[] = {
    {"forward_seconds", &StageWork::forwardSeconds},
    {"backward_input_seconds", &StageWork::inputGradientSeconds},
    {"backward_weight_seconds", &StageWork::weightGradientSeconds},
    {"first_forward_extra_seconds", &StageWork::firstForwardExtraSeconds},
    {"last_backward_extra_seconds", &StageWork::lastBackwardExtraSeconds},
    {"gradient_sync_seconds", &StageWork::gradientSyncSeconds},
    {"optimizer_seconds", &StageWork::optimizerSeconds}};
constexpr size_t numRequiredTables = 3; ///< of these

constexpr std::pair<llvm::StringLiteral, int64_t StageWork::*> byteTables[] = {
    {"activation_bytes", &StageWork::activationBytes},
    {"weight_activation_bytes", &StageWork::weightActivationBytes},
    {"static_bytes", &StageWork::staticBytes}};

/// Reads one problem; faults are kept by the document.
class StageProblemReader {
public:
  StageProblem read(JsonReader document) {
    document.object([&](JsonObjectReader &object) {
      object.optional("name", problem.name);
      if (std::optional<JsonReader> layers = object.required("layers"))
        layers->object([&](JsonObjectReader &tables) { readLayers(tables); });
      if (std::optional<JsonReader> skips = object.find("skips"))
        skips->forEach([&](JsonReader skip) { readSkip(skip); });
      if (std::optional<JsonReader> bytes = object.find("input_bytes"))
        bytes->intoWithin(problem.inputBytes, int64_t(0), INT64_MAX);
      if (std::optional<JsonReader> link = object.find("link"))
        readLink(*link);
      if (std::optional<JsonReader> count = object.required("micro_batches"))
        count->intoWithin(problem.microBatches, 1U, 1'000'000U);
      if (std::optional<JsonReader> limit = object.find("memory_limit_bytes"); limit && !limit->isNull())
        limit->intoWithin(problem.memoryLimitBytes.emplace(), int64_t(0), INT64_MAX);
      if (std::optional<JsonReader> tail = object.find("tail"); tail && !tail->isNull())
        readTail(*tail);
      if (std::optional<JsonReader> space = object.required("space"))
        readSpace(*space);
      object.find("why");
      object.find("answer");
    });
    for (auto &[width, layers] : byWidth)
      problem.byWidth.push_back({width, std::move(layers)});
    return std::move(problem);
  }

private:
  /// One table {width: one number per layer}. The first table says which widths and how many layers there are.
  template <typename T>
  void readTable(JsonReader table, T StageWork::*member) {
    bool isFirst = byWidth.empty();
    table.forEachMember([&](llvm::StringRef key, JsonReader numbers) {
      uint32_t width = 0;
      if (key.getAsInteger(10, width) || width == 0)
        return numbers.fail("'" + key + "' is no width; a whole number of devices is expected");
      auto values = numbers.get<std::vector<T>>();
      if (numbers.hasFailed())
        return;
      auto [layers, isNew] = byWidth.try_emplace(width, values.size());
      if (isNew && !isFirst)
        return numbers.fail("width " + key + " is not in the first table");
      if (layers->second.size() != values.size())
        return numbers.fail(
            llvm::formatv("{0} numbers are given for {1} layers", values.size(), layers->second.size()).str());
      for (size_t layer = 0; layer < values.size(); ++layer)
        layers->second[layer].*member = values[layer];
    });
  }

  void readLayers(JsonObjectReader &tables) {
    for (size_t index = 0; index < std::size(secondTables); ++index) {
      auto [key, member] = secondTables[index];
      if (std::optional<JsonReader> table = index < numRequiredTables ? tables.required(key) : tables.find(key))
        readTable(*table, member);
    }
    for (auto [key, member] : byteTables)
      if (std::optional<JsonReader> table = tables.find(key))
        readTable(*table, member);
    tables("boundary_bytes", problem.boundaryBytes);
  }

  void readSkip(JsonReader skip) {
    skip.object([&](JsonObjectReader &object) {
      SkippingTensor &tensor = problem.skips.emplace_back();
      object("from", tensor.from);
      object("to", tensor.to);
      object("bytes", tensor.bytes);
    });
  }

  void readLink(JsonReader link) {
    link.object([&](JsonObjectReader &object) {
      if (std::optional<JsonReader> mode = object.required("mode")) {
        auto name = mode->get<std::string>();
        const auto *found = llvm::find(linkModes, name);
        if (found == std::end(linkModes))
          mode->failExpecting("'latency', 'link' or 'sender'");
        else
          problem.link.mode = static_cast<LinkMode>(found - linkModes);
      }
      object.optional("latency_seconds", problem.link.latencySeconds);
      object.optional("bytes_per_second", problem.link.bytesPerSecond);
    });
  }

  void readTail(JsonReader tail) {
    StageProblemTail &read = problem.tail.emplace();
    tail.object([&](JsonObjectReader &object) {
      object.optional("overlap", read.overlap);
      object.optional("barrier", read.barrier);
      std::optional<JsonReader> tied = object.find("tied");
      if (!tied || tied->isNull())
        return;
      tied->object([&](JsonObjectReader &members) {
        std::vector<uint32_t> layers;
        members("layers", layers);
        members("seconds", read.tied.emplace().seconds);
        if (layers.size() == 2)
          read.tied->first = layers[0], read.tied->second = layers[1];
        else
          tied->fail("'layers' is a list of two layers");
      });
    });
  }

  void readSpace(JsonReader space) {
    space.object([&](JsonObjectReader &object) {
      object("workers", problem.space.workers);
      object.optional("widths", problem.space.widths);
      object.optional("devices", problem.space.devices);
      object.optional("recompute", problem.space.recompute);
      if (std::optional<JsonReader> schedules = object.required("schedules"))
        schedules->forEach([&](JsonReader schedule) {
          ScheduleChoice &choice = problem.space.schedules.emplace_back();
          schedule.object([&](JsonObjectReader &members) {
            members("name", choice.name);
            members.optional("chunks", choice.chunks);
            members.optional("warmup_factor", choice.warmUpFactor);
          });
        });
    });
  }

  StageProblem problem;
  std::map<uint32_t, std::vector<StageWork>> byWidth;
};

/// "interleaved, 2 chunks, warm-up factor 1".
std::string scheduleName(const ScheduleChoice &choice) {
  const PipelineSchedule &schedule = *llvm::cantFail(scheduleOf(choice));
  std::string name = schedule.name.str();
  if (uint32_t chunks = choice.chunks.value_or(schedule.leastChunks); chunks > 1)
    name += ", " + std::to_string(chunks) + " chunks";
  if (choice.warmUpFactor)
    name += ", warm-up factor " + std::to_string(*choice.warmUpFactor);
  return name;
}

void write(JsonWriter &json, const StageProblem &problem, const StageResult &result, double searchSeconds,
           bool withName) {
  auto list = [&](JsonObjectWriter &object, llvm::StringRef key, const auto &items) {
    object.key(key);
    json.oneLine([&] { json.value(items); });
  };
  auto orNull = [](bool isKnown, auto value) { return isKnown ? std::optional(value) : std::nullopt; };
  json.object([&](JsonObjectWriter &object) {
    bool has = result.hasAnswer();
    const StageChoice &choice = result.choice;
    if (withName)
      object("name", problem.name);
    object("status", searchStatusName(result.status));
    object("seconds", orNull(has, result.seconds));
    object("lower_bound_seconds", orNull(result.status != SearchStatus::Infeasible, result.lowerBoundSeconds));
    if (!has)
      object("reason", result.reason);
    object("schedule", orNull(has, choice.schedule));
    object("schedule_name", has ? std::optional(scheduleName(problem.space.schedules[choice.schedule])) : std::nullopt);
    object("workers", orNull(has, choice.workers));
    list(object, "stage_sizes", choice.stageSizes);
    list(object, "widths", choice.widths);
    list(object, "recompute", choice.recompute);
    list(object, "finish_seconds", result.finishSeconds);
    list(object, "memory_bytes", result.memoryBytes);
    if (!result.notes.empty())
      object("notes", result.notes);
    object("search_seconds", searchSeconds);
  });
}

} // namespace

bool isStageProblem(llvm::StringRef json) {
  llvm::Expected<JsonDocument> document = JsonDocument::parse(json, "");
  if (!document) {
    llvm::consumeError(document.takeError());
    return false;
  }
  return document->getRoot().find("layers") || document->getRoot().find("instances");
}

llvm::Expected<StageProblemFile> parseStageProblems(llvm::StringRef json, llvm::StringRef source) {
  llvm::Expected<JsonDocument> document = JsonDocument::parse(json, source);
  if (!document)
    return document.takeError();
  StageProblemFile file;
  file.isList = document->getRoot().find("instances");
  if (file.isList)
    document->root().object([&](JsonObjectReader &object) {
      object.find("format");
      if (std::optional<JsonReader> instances = object.required("instances"))
        instances->forEach([&](JsonReader one) { file.problems.push_back(StageProblemReader().read(one)); });
    });
  else
    file.problems.push_back(StageProblemReader().read(document->root()));
  if (llvm::Error error = document->takeError())
    return error;
  for (const StageProblem &problem : file.problems)
    if (llvm::Error error = problem.check())
      return inputError("{0}: {1}{2}", source, problem.name.empty() ? "" : problem.name + ": ",
                        takeMessage(std::move(error)).second);
  return file;
}

std::string printStageResults(const StageProblemFile &file, llvm::ArrayRef<StageResult> results,
                              llvm::ArrayRef<double> searchSeconds) {
  JsonWriter json;
  auto writeAll = [&] {
    for (auto [problem, result, seconds] : llvm::zip(file.problems, results, searchSeconds))
      write(json, problem, result, seconds, file.isList);
  };
  if (file.isList)
    json.object([&](JsonObjectWriter &object) { object.list("answers", writeAll); });
  else
    writeAll();
  return json.take() + "\n";
}

} // namespace apc
