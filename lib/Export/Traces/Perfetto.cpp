// A trace of the step for Perfetto and Chrome: a process for each worker, microseconds.
#include "../ModelLayers.h"
#include "../PipelineLists.h"
#include "../Targets.h"
#include "Timeline.h"

#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace apc {

namespace {

constexpr double microseconds = 1e6;

/// Events of the Trace Event Format, one a line.
class EventWriter {
public:
  explicit EventWriter(JsonWriter &json) : json(json) {}

  void name(llvm::StringRef what, size_t process, size_t thread, llvm::StringRef name) {
    event([&](JsonObjectWriter &own) {
      own("ph", "M");
      own("name", what);
      own("pid", process);
      own("tid", thread);
      own.object("args", [&](JsonObjectWriter &args) { args("name", name); });
    });
  }
  void slice(llvm::StringRef name, llvm::StringRef kind, size_t process, size_t thread, double begin, double end,
             llvm::function_ref<void(JsonObjectWriter &)> writeArgs) {
    event([&](JsonObjectWriter &own) {
      own("ph", "X");
      own("name", name);
      own("cat", kind);
      own("pid", process);
      own("tid", thread);
      own("ts", begin * microseconds);
      own("dur", (end - begin) * microseconds);
      own.object("args", writeArgs);
    });
  }
  /// One end of an arrow.
  void flow(llvm::StringRef phase, size_t id, llvm::StringRef name, size_t process, double at) {
    event([&](JsonObjectWriter &own) {
      own("ph", phase);
      own("bp", "e");
      own("id", id);
      own("name", name);
      own("cat", "transfer");
      own("pid", process);
      own("tid", 0);
      own("ts", at * microseconds);
    });
  }

private:
  void event(llvm::function_ref<void(JsonObjectWriter &)> write) {
    json.oneLine([&] { json.object(write); });
  }

  JsonWriter &json;
};

std::string ranksText(const StagePlan &stage) {
  return llvm::formatv("ranks {0} to {1}", stage.firstRank, stage.firstRank + stage.numRanks() - 1);
}

void writePipeline(const Plan &plan, const PipelineTimeline &line, EventWriter &events) {
  std::map<size_t, const StagePlan *> workers;
  for (const TimedAction &action : line.actions)
    workers[action.worker] = &plan.stages[action.stage];
  for (const auto &[worker, stage] : workers) {
    events.name("process_name", worker, 0, llvm::formatv("worker {0}, {1}", worker, ranksText(*stage)).str());
    events.name("thread_name", worker, 0, "actions");
  }
  for (const TimedAction &action : line.actions)
    events.slice(action.name, action.kind, action.worker, 0, action.begin, action.end, [&](JsonObjectWriter &args) {
      args("stage", action.stage);
      if (action.microBatch)
        args("micro_batch", *action.microBatch);
    });
  for (auto [id, transfer] : llvm::enumerate(line.transfers)) {
    const TimedAction &sender = line.actions[transfer.sender], &receiver = line.actions[transfer.receiver];
    events.flow("s", id, transfer.value, sender.worker, sender.end);
    events.flow("f", id, transfer.value, receiver.worker, receiver.begin);
  }
}

void writeStage(const ExportSource &source, llvm::ArrayRef<TimedOp> line, EventWriter &events) {
  events.name("process_name", 0, 0, ranksText(source.plan.stages.front()));
  events.name("thread_name", 0, 0, "ops");
  std::map<std::string, size_t> threads;
  for (const TimedOp &op : line) {
    size_t thread = 0;
    if (!op.levels.empty()) {
      auto [known, isNew] = threads.try_emplace(op.levels, threads.size() + 1);
      thread = known->second;
      if (isNew)
        events.name("thread_name", 0, thread, "collectives over " + op.levels);
    }
    events.slice(op.name, op.what, 0, thread, op.begin, op.end,
                 [&](JsonObjectWriter &args) { args(op.levels.empty() ? "strategy" : "to", op.detail); });
  }
}

bool hasPairs(const ActionLists &lists) {
  return llvm::any_of(lists.workers, [](const std::vector<Slot> &slots) {
    return llvm::any_of(slots, [](const Slot &slot) { return slot.beside.has_value(); });
  });
}

} // namespace

llvm::Expected<Exported> writePerfetto(const ExportSource &source, const ParallelDegrees &) {
  std::optional<PipelineTimeline> pipeline;
  Exported exported;
  if (source.plan.pipeline) {
    llvm::Expected<PipelineTimeline> line = timelineOfPipeline(source.plan);
    if (!line)
      return line.takeError();
    pipeline = std::move(*line);
    if (llvm::Expected<ActionLists> lists = actionListsOf(source.plan); lists && hasPairs(*lists))
      exported.unsaid.push_back("forward and backward actions that run interleaved stand one behind the other");
    else if (!lists)
      return lists.takeError();
  }
  if (double hidden = hiddenSeconds(source.plan); hidden > 0)
    exported.unsaid.push_back(llvm::formatv(
        "collectives run beside ops: the trace has one behind the other, and ends {0} later", formatSeconds(hidden)));
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("displayTimeUnit", "ms");
    object.list("traceEvents", [&] {
      EventWriter events(json);
      if (pipeline)
        writePipeline(source.plan, *pipeline, events);
      else
        writeStage(source, timelineOfStage(source, /*unrolls=*/false), events);
    });
  });
  exported.files.push_back({"trace.json", json.take() + "\n"});
  return exported;
}

} // namespace apc
