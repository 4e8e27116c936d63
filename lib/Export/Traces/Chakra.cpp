// Execution traces of MLCommons' Chakra: what each rank computes, sends and reduces, and in which order.
#include "../BoundOps.h"
#include "../Targets.h"
#include "ChakraNodes.h"
#include "Timeline.h"

#include "apc/Sharding/Redistribution.h"
#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace apc {

namespace {

/// Ranks whose traces are written where all of them would be too many: the first of each worker.
constexpr int64_t mostRanks = 64;

std::string fileOf(int64_t rank) { return "trace." + std::to_string(rank) + ".et"; }

bool isKind(llvm::StringRef collective, CollectiveKind kind) {
  return collective.split('{').first == collectiveName(kind);
}

std::optional<ChakraCollective> kindOf(llvm::StringRef collective) {
  constexpr std::pair<CollectiveKind, ChakraCollective> kinds[] = {
      {CollectiveKind::AllReduce, ChakraCollective::AllReduce},
      {CollectiveKind::AllGather, ChakraCollective::AllGather},
      {CollectiveKind::AllToAll, ChakraCollective::AllToAll},
      {CollectiveKind::ReduceScatter, ChakraCollective::ReduceScatter}};
  for (auto [kind, own] : kinds)
    if (isKind(collective, kind))
      return own;
  return std::nullopt;
}

/// The traces of a step without a pipeline.
class StageTraces {
public:
  StageTraces(const ExportSource &source, const Mesh &mesh) : source(source), mesh(mesh) {}

  Exported write() {
    std::vector<TimedOp> line = timelineOfStage(source, /*unrolls=*/true);
    int64_t ranks = mesh.numDevices();
    Exported exported;
    for (int64_t rank = 0; rank < (ranks > mostRanks ? 1 : ranks); ++rank)
      exported.files.push_back({fileOf(rank), traceOf(line, rank)});
    exported.files.push_back({"groups.json", printJson(groups) + "\n"});
    exported.unsaid = reasons.take();
    if (ranks > mostRanks)
      exported.unsaid.push_back(llvm::formatv("traces of ranks 1 to {0}: they have the nodes of rank 0, in groups of "
                                              "their own",
                                              ranks - 1));
    return exported;
  }

private:
  std::string traceOf(llvm::ArrayRef<TimedOp> line, int64_t rank) {
    ChakraTrace trace;
    double seconds = 0;
    std::string first;
    unsigned count = 0;
    auto flush = [&] {
      if (count > 0)
        trace.compute(count > 1 ? first + " and " + std::to_string(count - 1) + " more" : first, seconds);
      seconds = 0;
      count = 0;
    };
    for (const TimedOp &op : line)
      if (op.collectives.empty()) {
        first = count == 0 ? op.name : first;
        seconds += op.end - op.begin;
        ++count;
      } else {
        flush();
        addMove(op, rank, trace);
      }
    flush();
    return trace.take();
  }

  void addMove(const TimedOp &op, int64_t rank, ChakraTrace &trace) {
    int64_t bytes = op.bytes;
    for (llvm::StringRef collective : op.collectives) {
      std::vector<int64_t> group = mesh.group(rank, axesOf(collective));
      auto size = static_cast<int64_t>(group.size());
      bool isSlice = isKind(collective, CollectiveKind::Slice);
      bool shrinks = isSlice || isKind(collective, CollectiveKind::ReduceScatter);
      if (std::optional<ChakraCollective> kind = kindOf(collective))
        trace.collective(op.name, *kind, bytes, nameOf(std::move(group)));
      else if (!isSlice)
        reasons.add(op.name, collective.split('{').first + ": Chakra has no such collective, and the node is left out");
      bytes = shrinks ? bytes / size : isKind(collective, CollectiveKind::AllGather) ? bytes * size : bytes;
    }
  }

  AxisList axesOf(llvm::StringRef collective) const {
    llvm::SmallVector<llvm::StringRef> names;
    collective.split('{').second.split('}').first.split(names, ' ', -1, /*KeepEmpty=*/false);
    AxisList axes;
    for (auto [index, axis] : llvm::enumerate(mesh.getAxes()))
      if (llvm::is_contained(names, axis.name))
        axes.push_back(AxisId(index));
    return axes;
  }

  std::string nameOf(std::vector<int64_t> group) {
    for (const auto &[name, known] : groups)
      if (known == group)
        return name;
    std::string name = std::to_string(groups.size() + 1);
    groups[name] = std::move(group);
    return name;
  }

  const ExportSource &source;
  const Mesh &mesh;
  std::map<std::string, std::vector<int64_t>> groups;
  GroupedReasons reasons;
};

/// The trace of one rank of a worker: its actions, and its part of what is sent between workers.
std::string traceOf(const Plan &plan, const PipelineTimeline &line, size_t worker, int64_t rankInWorker) {
  std::map<size_t, std::vector<size_t>> sent, received; // transfers by action
  for (auto [index, transfer] : llvm::enumerate(line.transfers)) {
    sent[transfer.sender].push_back(index);
    received[transfer.receiver].push_back(index);
  }
  auto rankOf = [&](size_t stage) { return plan.stages[stage].firstRank + rankInWorker; };
  auto bytesOf = [&](const TimedTransfer &transfer) {
    return std::max<int64_t>(transfer.bytes / plan.stages[transfer.from].numRanks(), 1);
  };
  ChakraTrace trace;
  for (auto [index, action] : llvm::enumerate(line.actions)) {
    if (action.worker != worker)
      continue;
    for (size_t id : received[index]) {
      const TimedTransfer &own = line.transfers[id];
      trace.receive(own.value, bytesOf(own), rankOf(own.from), rankOf(own.to), static_cast<int64_t>(id));
    }
    trace.compute("stage " + std::to_string(action.stage) + " " + action.name, action.end - action.begin);
    for (size_t id : sent[index]) {
      const TimedTransfer &own = line.transfers[id];
      trace.send(own.value, bytesOf(own), rankOf(own.from), rankOf(own.to), static_cast<int64_t>(id));
    }
  }
  return trace.take();
}

llvm::Expected<Exported> writePipelineTraces(const Plan &plan) {
  llvm::Expected<PipelineTimeline> line = timelineOfPipeline(plan);
  if (!line)
    return line.takeError();
  std::map<size_t, const StagePlan *> workers;
  for (const TimedAction &action : line->actions)
    workers[action.worker] = &plan.stages[action.stage];
  Exported exported;
  int64_t ranks = plan.numRanks();
  for (const auto &[worker, stage] : workers)
    for (int64_t rank = 0; rank < (ranks > mostRanks ? 1 : stage->numRanks()); ++rank)
      exported.files.push_back({fileOf(stage->firstRank + rank), traceOf(plan, *line, worker, rank)});
  exported.unsaid.push_back("collectives inside of stages: their seconds are in those of the actions");
  if (ranks > mostRanks)
    exported.unsaid.push_back("traces of all ranks but the first of each worker: they have the same nodes");
  return exported;
}

} // namespace

llvm::Expected<Exported> writeChakra(const ExportSource &source, const ParallelDegrees &) {
  if (source.plan.pipeline)
    return writePipelineTraces(source.plan);
  llvm::Expected<Mesh> mesh = source.plan.stages.front().mesh.bind(source.plan.numRanks());
  if (!mesh)
    return mesh.takeError();
  Exported exported = StageTraces(source, *mesh).write();
  if (hiddenSeconds(source.plan) > 0)
    exported.unsaid.push_back("collectives run beside ops: the nodes of the traces follow each other");
  return exported;
}

} // namespace apc
