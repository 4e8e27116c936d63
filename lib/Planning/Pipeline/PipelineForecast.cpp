// Stages taken apart into layers, and other stages put together from them.
#include "PipelineForecast.h"
#include "Workers/WorkerMemory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <map>

namespace apc {

namespace {

/// By op: the layer of the op that leads it; none for sums, updates and others that no op of the forward pass leads.
std::vector<std::optional<size_t>> layersOfOps(const OpGraph &graph, llvm::ArrayRef<size_t> places) {
  std::vector<std::optional<size_t>> layers(graph.ops.size());
  for (auto [position, op] : llvm::enumerate(forwardOps(graph)))
    layers[op.index()] = static_cast<size_t>(llvm::upper_bound(places, position) - places.begin());
  for (const TiedOps &tie : graph.ties)
    for (OpId op : tie)
      layers[op.index()] = layers[tie.front().index()];
  return layers;
}

PlanStageSeconds scaled(const PlanStageSeconds &seconds, double factor) {
  return {seconds.forward * factor, seconds.backward * factor, seconds.weights * factor, seconds.update * factor};
}

PlanStageSeconds &operator+=(PlanStageSeconds &sum, const PlanStageSeconds &own) {
  sum.forward += own.forward;
  sum.backward += own.backward;
  sum.weights += own.weights;
  sum.update += own.update;
  return sum;
}

/// `whole` in the proportions in which `part` stands to `all`, each part of the work by itself; in that of the forward
/// pass where nothing is known of a part.
PlanStageSeconds share(const PlanStageSeconds &whole, const PlanStageSeconds &part, const PlanStageSeconds &all) {
  const double usual = all.forward > 0 ? part.forward / all.forward : 0;
  auto scaled = [&](double whole, double part, double all) { return whole * (all > 0 ? part / all : usual); };
  return {scaled(whole.forward, part.forward, all.forward), scaled(whole.backward, part.backward, all.backward),
          scaled(whole.weights, part.weights, all.weights), scaled(whole.update, part.update, all.update)};
}

HeldUnits mostWhile(HeldUnits::Running running, const WaitingMicroBatches &most) {
  const WaitingAt &own = most.beside(running == HeldUnits::Running::Weights);
  return {static_cast<uint32_t>(own.backward), static_cast<uint32_t>(own.weights), running};
}

MemoryOfStage memoryOf(const PipelineAnswer &planned, size_t stage) {
  const StageAnswer &answer = *planned.stages[stage];
  return memoryOf(planned.step->stages[stage], *answer.candidate, answer.task->pool);
}

} // namespace

PipelineForecast::Bytes &PipelineForecast::Bytes::operator+=(const Bytes &own) {
  idle += own.idle;
  pass += own.pass;
  weights += own.weights;
  update += own.update;
  atBackward += own.atBackward;
  atWeights += own.atWeights;
  done += own.done;
  return *this;
}

PipelineForecast::Bytes PipelineForecast::Bytes::operator*(double times) const {
  return {idle * times,       pass * times,      weights * times, update * times,
          atBackward * times, atWeights * times, done * times};
}

double PipelineForecast::Bytes::at(const HeldUnits &held) const {
  const double waiting = held.atBackward * atBackward + held.atWeights * atWeights;
  switch (held.running) {
  case HeldUnits::Running::Nothing:
    return idle + waiting;
  case HeldUnits::Running::Pass:
    return idle + pass + waiting;
  case HeldUnits::Running::Weights:
    return idle + weights + waiting;
  case HeldUnits::Running::Done:
    return idle + done + waiting;
  }
  llvm_unreachable("a stage that does none of these");
}

PipelineForecast::Bytes PipelineForecast::bytesOf(const MemoryOfStage &memory, bool isSplit, bool splits) {
  auto total = [](const MemoryTable &part) { return static_cast<double>(part.total()); };
  const double idle = total(memory.idle);
  Bytes bytes{idle,
              total(memory.pass) - idle,
              total(memory.weights) - idle,
              total(memory.update) - idle,
              total(memory.atBackward),
              total(memory.atWeights),
              total(memory.done)};
  if (splits && !isSplit) {
    bytes.weights = bytes.pass;
    bytes.atWeights = bytes.atBackward;
  }
  if (!splits && isSplit)
    bytes.pass = std::max(bytes.pass, bytes.weights);
  return bytes;
}

/// Spreads the seconds and bytes of a stage over its layers, by what their ops take alone.
void PipelineForecast::addStage(llvm::ArrayRef<std::optional<size_t>> layerOfOp, const PipelineAnswer &planned,
                                const PipelineAnswer *other, size_t stage) {
  const double strength = workers.strengthOf(static_cast<uint32_t>(stage));
  const StageGraph &own = planned.step->stages[stage];
  const GraphCost &cost = planned.stages[stage]->candidate->cost;
  std::map<size_t, PlanStageSeconds> byLayer;
  PlanStageSeconds all;
  for (auto [index, op] : llvm::enumerate(own.ops)) {
    if (!op || !layerOfOp[op->index()])
      continue;
    double seconds = cost.ops[index].seconds();
    PlanStageSeconds part;
    switch (own.parts[index]) {
    case StagePart::Forward:
      part.forward = seconds;
      break;
    case StagePart::InputGradients:
      part.backward = seconds;
      break;
    case StagePart::WeightGradients:
      part.weights = seconds;
      break;
    case StagePart::Update:
      part.update = seconds;
      break;
    }
    byLayer[*layerOfOp[op->index()]] += part;
    all += part;
  }
  const MemoryOfStage ofPlan = memoryOf(planned, stage), ofOther = other ? memoryOf(*other, stage) : ofPlan;
  const bool isSplit = own.splitsBackward, isOtherSplit = other ? other->step->stages[stage].splitsBackward : isSplit;
  for (bool splits : {isSplit, !isSplit}) {
    const Bytes ofStage = splits == isSplit ? bytesOf(ofPlan, isSplit, splits) : bytesOf(ofOther, isOtherSplit, splits);
    for (const auto &[layer, part] : byLayer) {
      double seconds = planned.seconds[stage].ofMicroBatch();
      double ratio = seconds > 0 ? share(planned.seconds[stage], part, all).ofMicroBatch() / seconds : 0;
      layers[layer].bytesOf(splits) += ofStage * (strength * ratio);
    }
  }
  for (const auto &[layer, part] : byLayer)
    layers[layer].seconds += scaled(share(planned.seconds[stage], part, all), strength);
}

PipelineForecast::PipelineForecast(llvm::ArrayRef<size_t> places, const PipelineAnswer &planned,
                                   const std::optional<PipelineAnswer> &other)
    : layers(places.size() + 1), workers(planned.workers) {
  std::vector<std::optional<size_t>> layerOfOp = layersOfOps(planned.step->graph, places);
  for (size_t stage = 0; stage < planned.stages.size(); ++stage)
    addStage(layerOfOp, planned, other ? &*other : nullptr, stage);
  size_t count = 0;
  for (const StageMessage &message : pipelineWork(planned.point, planned.seconds, planned.transfers).messages)
    if (message.seconds > 0) {
      transferSeconds += message.seconds;
      ++count;
    }
  transferSeconds /= static_cast<double>(std::max<size_t>(1, count));
}

PipelineForecast::Layer PipelineForecast::stageOf(llvm::ArrayRef<size_t> firsts, size_t stage) const {
  size_t begin = stage == 0 ? 0 : firsts[stage - 1], end = stage == firsts.size() ? layers.size() : firsts[stage];
  Layer sum;
  for (const Layer &layer : llvm::ArrayRef(layers).slice(begin, end - begin)) {
    sum.seconds += layer.seconds;
    sum.unsplit += layer.unsplit;
    sum.split += layer.split;
  }
  const double slower = 1 / workers.strengthOf(static_cast<uint32_t>(stage));
  sum.seconds = scaled(sum.seconds, slower);
  for (Bytes *bytes : {&sum.unsplit, &sum.split})
    *bytes = *bytes * slower;
  return sum;
}

std::optional<PipelineForecast::Expected> PipelineForecast::of(const PipelinePoint &point,
                                                               llvm::ArrayRef<size_t> firsts) const {
  return simulate(point, timesOf(point), firsts);
}

/// Where a worker has one stage, with the most at each place, as its memory is counted then.
HeldByWorkers PipelineForecast::timesOf(const PipelinePoint &point) {
  HeldByWorkers times = point.held;
  if (point.counts.chunks > 1)
    return times;
  for (auto [own, most] : llvm::zip_equal(times, point.waiting()))
    for (std::vector<HeldUnits> &held : own)
      held.front() = mostWhile(held.front().running, most);
  return times;
}

double PipelineForecast::fullestBytes(const PipelineShape &shape, const HeldByWorkers &times,
                                      llvm::ArrayRef<Bytes> stages) {
  double fullest = 0;
  for (uint32_t worker = 0; worker < shape.workers; ++worker) {
    double updates = 0;
    for (const std::vector<HeldUnits> &held : times[worker]) {
      double bytes = 0;
      for (auto [chunk, units] : llvm::enumerate(held))
        bytes += stages[shape.stageOf(worker, static_cast<uint32_t>(chunk))].at(units);
      fullest = std::max(fullest, bytes);
    }
    for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
      updates += stages[shape.stageOf(worker, chunk)].idle + stages[shape.stageOf(worker, chunk)].done;
    for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const Bytes &own = stages[shape.stageOf(worker, chunk)];
      fullest = std::max(fullest, updates - own.done + own.update);
    }
  }
  return fullest;
}

std::optional<PipelineForecast::Expected> PipelineForecast::simulate(const PipelinePoint &point,
                                                                     const HeldByWorkers &times,
                                                                     llvm::ArrayRef<size_t> firsts) const {
  const PipelineShape &shape = point.lists.shape;
  assert(firsts.size() + 1 == shape.numStages() && "a first layer for each stage");
  std::vector<PlanStageSeconds> seconds;
  std::vector<PlanTransfer> transfers;
  std::vector<Bytes> bytes; ///< by stage
  for (uint32_t stage = 0; stage < shape.numStages(); ++stage) {
    Layer own = stageOf(firsts, stage);
    seconds.push_back(own.seconds);
    bytes.push_back(own.bytesOf(point.schedule->splitsBackward));
    if (stage > 0 && shape.workerOf(stage) != shape.workerOf(stage - 1))
      transfers.push_back({"", int64_t(stage) - 1, {int64_t(stage)}, "forward", 0, transferSeconds});
  }
  llvm::Expected<PipelineTime> time = point.simulator.run(pipelineWork(point, seconds, transfers));
  if (!time) {
    llvm::consumeError(time.takeError());
    return std::nullopt;
  }
  return Expected{time->stepSeconds, static_cast<int64_t>(fullestBytes(shape, times, bytes))};
}

std::vector<double> PipelineForecast::secondsByLayer() const {
  std::vector<double> seconds;
  for (const Layer &layer : layers)
    seconds.push_back(layer.seconds.ofMicroBatch());
  return seconds;
}

std::vector<size_t> PipelineForecast::refine(const PipelinePoint &point, std::vector<size_t> firsts,
                                             int64_t limitBytes) const {
  const HeldByWorkers times = timesOf(point);
  std::optional<Expected> best = simulate(point, times, firsts);
  constexpr unsigned mostRounds = 8;
  constexpr double least = 1e-4; // of the step is worth a move
  bool isBetter = best.has_value();
  for (unsigned round = 0; isBetter && round < mostRounds; ++round) {
    isBetter = false;
    for (size_t cut = 0; cut < firsts.size(); ++cut)
      for (bool isForward : {true, false}) {
        std::vector<size_t> moved = firsts;
        moved[cut] += isForward ? 1 : size_t(-1);
        size_t begin = cut == 0 ? 0 : moved[cut - 1], end = cut + 1 == moved.size() ? layers.size() : moved[cut + 1];
        if (moved[cut] <= begin || moved[cut] >= end)
          continue;
        std::optional<Expected> own = simulate(point, times, moved);
        if (!own || own->bytes > std::max(limitBytes, best->bytes) || own->seconds >= best->seconds * (1 - least))
          continue;
        firsts = std::move(moved);
        best = own;
        isBetter = true;
      }
  }
  return firsts;
}

} // namespace apc
