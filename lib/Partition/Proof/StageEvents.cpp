// Lists of actions spelled out as sends and receives, and run.
#include "StageEvents.h"

#include "apc/IR/MainFunction.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace apc {

std::string TransferEvent::str() const {
  return llvm::formatv("{0} of '{1}' of {2} in {3}", isSend ? "send" : "receive", value,
                       microBatch ? "micro-batch " + std::to_string(*microBatch) : "the step", place)
      .str();
}

namespace {

/// The ends of transfers of one stage by part; the last is the update.
using StageEnds = std::vector<std::vector<mlir::Operation *>>;

StageEnds endsOf(mlir::func::FuncOp main) {
  StageEnds ends(1);
  for (mlir::Operation &op : main.front()) {
    if (llvm::isa<SendOp, ReceiveOp>(op))
      ends.back().push_back(&op);
    if (isPartEnd(&op))
      ends.emplace_back();
  }
  return ends;
}

TransferEvent eventOf(mlir::Operation *op, unsigned stage, std::optional<int64_t> microBatch, std::string place) {
  if (auto send = llvm::dyn_cast<SendOp>(op))
    return {true, stage, send.getValue().str(), send.isOfStep() ? std::nullopt : microBatch, std::move(place)};
  auto receive = llvm::cast<ReceiveOp>(op);
  return {false, stage, receive.getValue().str(), receive.isOfStep() ? std::nullopt : microBatch, std::move(place)};
}

/// The parts of a micro-batch that an action runs, [begin, end), of `count` in all; empty where it cannot run so.
std::optional<std::pair<size_t, size_t>> partsOf(const ProgramAction &action, size_t done, size_t count) {
  size_t first = action.part == ProgramPart::WeightGradient ? 2 : action.part == ProgramPart::Forward ? 0 : 1;
  size_t end = action.part == ProgramPart::Backward ? count : first + 1;
  bool isHalf = action.part == ProgramPart::InputGradient || action.part == ProgramPart::WeightGradient;
  if (done != first || end > count || first == end || (isHalf && count != 3))
    return std::nullopt;
  return std::pair(first, end);
}

class EventBuilder {
public:
  explicit EventBuilder(const Program &program) : program(program) {
    for (const StageProgram &stage : program.stages)
      ends.push_back(endsOf(mainOf(*stage.module)));
  }

  llvm::Expected<WorkerEvents> eventsOf(llvm::ArrayRef<ProgramAction> list) const;

private:
  const Program &program;
  std::vector<StageEnds> ends; ///< by stage
};

llvm::Expected<WorkerEvents> EventBuilder::eventsOf(llvm::ArrayRef<ProgramAction> list) const {
  WorkerEvents events;
  std::map<unsigned, std::map<int64_t, size_t>> done; // parts, by stage and micro-batch
  std::map<unsigned, int64_t> last;                   // micro-batch that was run to its end, by stage
  for (const ProgramAction &action : list) {
    const StageEnds &own = ends[action.stage];
    size_t &before = done[action.stage][action.microBatch];
    auto parts = partsOf(action, before, own.size() - 1);
    if (!parts)
      return noPlanError("{0}: the stage has {1} parts for a micro-batch, {2} of which have been run",
                         printAction(action), own.size() - 1, before);
    for (size_t part = parts->first; part < parts->second; ++part)
      for (mlir::Operation *op : own[part])
        events.list.push_back(eventOf(op, action.stage, action.microBatch, printAction(action)));
    before = parts->second;
    last[action.stage] = action.microBatch;
  }
  for (const auto &[stage, microBatches] : done) {
    mlir::func::FuncOp main = mainOf(*program.stages[stage].module);
    int64_t wanted = microBatchesOf(main) / copiesOf(main);
    size_t count = ends[stage].size() - 1;
    auto numDone = llvm::count_if(microBatches, [&](const auto &entry) { return entry.second == count; });
    if (numDone != wanted || static_cast<int64_t>(microBatches.size()) != wanted)
      return noPlanError("stage {0}: its list runs {1} micro-batches to their end, the stage has {2}", stage, numDone,
                         wanted);
    events.updates.emplace_back();
    for (mlir::Operation *op : ends[stage].back())
      events.updates.back().push_back(
          eventOf(op, stage, last.at(stage), "the update of stage " + std::to_string(stage)));
  }
  return events;
}

/// Events that are run one after the other, on a worker.
struct Thread {
  size_t worker;
  llvm::ArrayRef<TransferEvent> events;
  std::optional<size_t> behind; ///< the thread that must have come to its end
  size_t next = 0;

  bool isDone() const { return next == events.size(); }
};

using ValueKey = std::pair<std::string, std::optional<int64_t>>;
ValueKey keyOf(const TransferEvent &event) { return {event.value, event.microBatch}; }

class EventRun {
public:
  EventRun(llvm::ArrayRef<WorkerEvents> workers, bool isRendezvous) : isRendezvous(isRendezvous) {
    for (auto [index, worker] : llvm::enumerate(workers)) {
      size_t list = threads.size();
      threads.push_back({index, worker.list, std::nullopt});
      for (const std::vector<TransferEvent> &update : worker.updates)
        threads.push_back({index, update, list});
    }
    for (const Thread &thread : threads)
      for (const TransferEvent &event : thread.events)
        if (!event.isSend)
          receivers[keyOf(event)][event.stage] = thread.worker;
  }

  llvm::Error run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Thread &thread : threads)
        while (canStart(thread) && !thread.isDone() && step(thread)) {
          ++thread.next;
          moved = true;
        }
    }
    std::string waiting;
    for (const Thread &thread : threads)
      if (canStart(thread) && !thread.isDone())
        waiting += llvm::formatv("{0}worker {1} at the {2}", waiting.empty() ? "" : ", ", thread.worker,
                                 thread.events[thread.next].str())
                       .str();
    return waiting.empty() ? llvm::Error::success() : noPlanError("workers wait for each other: {0}", waiting);
  }

private:
  bool canStart(const Thread &thread) const { return !thread.behind || threads[*thread.behind].isDone(); }
  bool step(const Thread &thread) {
    const TransferEvent &event = thread.events[thread.next];
    return event.isSend ? send(thread, event) : arrived.count({keyOf(event), event.stage}) > 0;
  }

  /// True once the value is on its way to all its receivers.
  bool send(const Thread &thread, const TransferEvent &event) {
    bool isDone = true;
    for (const auto &[stage, worker] : receivers[keyOf(event)]) {
      bool isTaken = !isRendezvous || worker == thread.worker || isAtReceive(worker, stage, keyOf(event));
      if (isTaken)
        arrived.insert({keyOf(event), stage});
      isDone &= arrived.count({keyOf(event), stage}) > 0;
    }
    return isDone;
  }
  bool isAtReceive(size_t worker, unsigned stage, const ValueKey &key) const {
    return llvm::any_of(threads, [&](const Thread &thread) {
      if (thread.worker != worker || !canStart(thread) || thread.isDone())
        return false;
      const TransferEvent &event = thread.events[thread.next];
      return !event.isSend && event.stage == stage && keyOf(event) == key;
    });
  }

  bool isRendezvous;
  std::vector<Thread> threads;
  std::map<ValueKey, std::map<unsigned, size_t>> receivers; ///< stages and their workers
  std::set<std::pair<ValueKey, unsigned>> arrived;          ///< values at stages
};

} // namespace

llvm::Expected<std::vector<WorkerEvents>> stageEvents(const Program &program) {
  EventBuilder builder(program);
  std::vector<WorkerEvents> workers;
  for (const std::vector<ProgramAction> &list : program.workers) {
    llvm::Expected<WorkerEvents> events = builder.eventsOf(list);
    if (!events)
      return noPlanError("worker {0}: {1}", workers.size(), takeMessage(events.takeError()).second);
    workers.push_back(std::move(*events));
  }
  return workers;
}

llvm::Error runEvents(llvm::ArrayRef<WorkerEvents> workers, bool isRendezvous) {
  return EventRun(workers, isRendezvous).run();
}

} // namespace apc
