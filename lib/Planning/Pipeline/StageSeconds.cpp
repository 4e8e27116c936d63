// Ops and collectives by the part of a stage that they belong to.
#include "StageSeconds.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <map>

namespace apc {

namespace {

constexpr size_t numParts = 4;

/// Seconds by part.
using ByPart = std::array<double, numParts>;

ByPart opSeconds(const OpGraph &graph, llvm::ArrayRef<StagePart> parts, const GraphCost &cost) {
  ByPart seconds = {};
  for (size_t op = 0; op < graph.ops.size(); ++op)
    seconds[static_cast<size_t>(parts[op])] += cost.ops[op].seconds();
  return seconds;
}

ByPart dispatchSeconds(const OpGraph &graph, llvm::ArrayRef<StagePart> parts, const GraphCost &cost) {
  ByPart seconds = {};
  for (size_t op = 0; op < graph.ops.size(); ++op)
    seconds[static_cast<size_t>(parts[op])] += cost.ops[op].dispatchSeconds;
  return seconds;
}

/// Parts wait for the launches of the host where these take longer; the host goes from the one half of a backward pass
/// to the other without a stop.
ByPart atPaceOfHost(ByPart seconds, const ByPart &dispatch) {
  auto stretch = [&](llvm::ArrayRef<StagePart> parts) {
    double own = 0, host = 0;
    for (StagePart part : parts) {
      own += seconds[static_cast<size_t>(part)];
      host += dispatch[static_cast<size_t>(part)];
    }
    for (StagePart part : parts)
      if (host > own && own > 0)
        seconds[static_cast<size_t>(part)] *= host / own;
  };
  stretch({StagePart::Forward});
  stretch({StagePart::InputGradients, StagePart::WeightGradients});
  stretch({StagePart::Update});
  return seconds;
}

ByPart moveSeconds(const OpGraph &graph, llvm::ArrayRef<StagePart> parts, const GraphCost &cost) {
  ByPart seconds = {};
  for (const GraphMove &move : cost.moves) {
    StagePart part = move.repeats < graph.microBatches() ? StagePart::Update : parts[move.before.index()];
    seconds[static_cast<size_t>(part)] += move.redistribution.seconds;
  }
  return seconds;
}

} // namespace

PlanStageSeconds secondsByPart(const OpGraph &graph, llvm::ArrayRef<StagePart> parts, const Candidate &candidate) {
  ByPart ops = opSeconds(graph, parts, candidate.cost), moves = moveSeconds(graph, parts, candidate.cost);
  double sent = candidate.cost.communicationSeconds;
  double exposed = sent > 0 ? candidate.time.exposedCommunicationSeconds / sent : 0;
  auto times = static_cast<double>(graph.wholeMicroBatches());
  for (size_t part = 0; part < numParts; ++part)
    ops[part] += exposed * moves[part];
  ops = atPaceOfHost(ops, dispatchSeconds(graph, parts, candidate.cost));
  auto secondsOf = [&](StagePart part, double runs) { return ops[static_cast<size_t>(part)] / runs; };
  return {secondsOf(StagePart::Forward, times), secondsOf(StagePart::InputGradients, times),
          secondsOf(StagePart::WeightGradients, times), secondsOf(StagePart::Update, 1)};
}

PipelineWork pipelineWork(const PipelinePoint &point, llvm::ArrayRef<PlanStageSeconds> seconds,
                          llvm::ArrayRef<PlanTransfer> transfers) {
  PipelineWork work;
  work.linkMode = point.sendersWait ? LinkMode::Sender : LinkMode::Link;
  work.tail = PipelineTail{.hasBarrier = point.updatesWait};
  for (const PlanStageSeconds &own : seconds) {
    StageWork stage;
    stage.forwardSeconds = own.forward;
    stage.inputGradientSeconds = own.backward;
    stage.weightGradientSeconds = own.weights;
    stage.optimizerSeconds = own.update;
    work.stages.push_back(stage);
  }
  std::map<std::pair<int64_t, int64_t>, std::pair<double, double>> between; // forward, backward
  for (const PlanTransfer &transfer : transfers)
    for (int64_t to : transfer.to) {
      if (transfer.time == "step" && to < transfer.from) // a sum, or a norm, that an update waits for
        work.tail->sums.push_back({static_cast<uint32_t>(transfer.from), static_cast<uint32_t>(to), transfer.seconds});
      else if (transfer.time == "step")
        work.stages[static_cast<size_t>(transfer.from)].optimizerSeconds += transfer.seconds;
      else if (transfer.time == "forward")
        between[{transfer.from, to}].first += transfer.seconds;
      else
        between[{to, transfer.from}].second += transfer.seconds;
    }
  for (const auto &[stages, both] : between)
    work.messages.push_back(
        {static_cast<uint32_t>(stages.first), static_cast<uint32_t>(stages.second), std::max(both.first, both.second)});
  return work;
}

} // namespace apc
