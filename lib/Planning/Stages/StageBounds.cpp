// Bounds of partial cuts.
#include "StageBounds.h"

#include <algorithm>
#include <cmath>

namespace apc {

StageBounds::Load StageBounds::loadOf(const StageWork &stage) const {
  double inputs = stage.forwardSeconds + backwardOf(stage);
  double weights = splits ? stage.weightGradientSeconds : 0;
  double extras = stage.firstForwardExtraSeconds + stage.lastBackwardExtraSeconds;
  return {microBatches * (inputs + weights) + extras,
          microBatches * inputs + (splits ? stage.firstForwardExtraSeconds : extras)};
}

double StageBounds::backwardOf(const StageWork &stage) const {
  return stage.inputGradientSeconds + (splits ? 0 : stage.weightGradientSeconds);
}

StageBounds::StageBounds(const StageProblem &problem, const StageCosts &costs, const StagePoint &point,
                         const StageMemory &memory)
    : problem(problem), costs(costs), memory(memory), shape(point.shape()), splits(point.splitsBackward),
      microBatches(problem.microBatches) {
  uint32_t numLayers = problem.numLayers();
  for (uint32_t layer = 0; layer <= numLayers; ++layer)
    before.push_back(costs.leastApart(0, layer));
  firstWeights = splits ? before[1].weightGradientSeconds : 0;
  leastHop.resize(numLayers);
  lightestLayer.resize(numLayers);
  for (uint32_t layer = numLayers; layer-- > 0;) {
    double hop = layer + 1 == numLayers ? 0 : costs.leastMessageSeconds(layer);
    double load = loadOf(costs.least(layer, layer + 1)).all;
    leastHop[layer] = layer + 2 < numLayers ? std::min(leastHop[layer + 1], hop) : hop;
    lightestLayer[layer] = layer + 1 < numLayers ? std::min(lightestLayer[layer + 1], load) : load;
  }
  numLightest.resize(numLayers);
  for (uint32_t layer = 0; layer < numLayers; ++layer)
    for (uint32_t later = layer; later < numLayers && lightestLayer[layer] > 0; ++later)
      numLightest[layer] += std::floor(loadOf(costs.least(later, later + 1)).all / lightestLayer[layer] + 1e-9);
  findHeaviest();
}

/// The bound by the heaviest of the last `count` stages, the first of which has the layers [first, end).
std::optional<double> StageBounds::heaviestFrom(uint32_t count, uint32_t first, uint32_t end) const {
  uint32_t stage = shape.numStages() - count;
  std::optional<StageWork> work = memory.leastFitting(stage, first, end);
  if (!work || (count > 1 && !heaviest[count - 1][end]))
    return std::nullopt;
  double through = throughStage(stage, first, *work);
  return count == 1 ? through : std::max(through, *heaviest[count - 1][end]);
}

void StageBounds::findHeaviest() {
  uint32_t numLayers = problem.numLayers();
  heaviest.assign(shape.numStages() + 1, std::vector<std::optional<double>>(numLayers + 1));
  for (uint32_t layer = 0; layer < numLayers; ++layer)
    heaviest[1][layer] = heaviestFrom(1, layer, numLayers);
  for (uint32_t count = 2; count <= shape.numStages(); ++count)
    for (uint32_t layer = 0; layer + count <= numLayers; ++layer) {
      std::optional<double> &best = heaviest[count][layer];
      for (uint32_t end = layer + 1; end + count - 1 <= numLayers; ++end) {
        std::optional<StageWork> work = memory.leastFitting(shape.numStages() - count, layer, end);
        if (!work)
          break; // longer stages need more memory
        double through = throughStage(shape.numStages() - count, layer, *work);
        if (best && through >= *best)
          break; // and more time
        if (const std::optional<double> &behind = heaviest[count - 1][end])
          best = std::min(best.value_or(std::max(through, *behind)), std::max(through, *behind));
      }
    }
}

double StageBounds::throughStage(uint32_t stage, uint32_t first, const StageWork &work) const {
  Load load = loadOf(work);
  double hops = shape.chunks == 1 ? stage * leastHop[0] : 0;
  double head = before[first].forwardSeconds + hops, back = backwardOf(before[first]) + hops;
  if (shape.chunks > 1) // workers have several stages, and their heads are others'
    return load.all;
  return std::max(head + load.all, head + load.inputs + back + firstWeights);
}

std::vector<uint32_t> StageBounds::balancedEnds() const {
  std::vector<uint32_t> ends;
  uint32_t first = 0;
  if (!heaviest[shape.numStages()][0])
    return ends;
  for (uint32_t count = shape.numStages(); count > 1; --count) {
    std::optional<double> best;
    uint32_t chosen = first;
    for (uint32_t end = first + 1; end + count - 1 <= problem.numLayers(); ++end) {
      std::optional<double> other = heaviestFrom(count, first, end);
      if (other && (!best || *other < *best)) {
        best = other;
        chosen = end;
      }
    }
    ends.push_back(first = chosen);
  }
  ends.push_back(problem.numLayers());
  return ends;
}

// Layers that have no worker yet must find room: within T seconds, a worker with known seconds holds no more whole
// lightest layers than the rest of T does, and every layer is as many of them as its load holds. The least T with room
// for all is `bound`, or one at which some worker gets room for one layer more.
double StageBounds::forLayersLeft(llvm::ArrayRef<double> known, uint32_t reached, double bound) const {
  double lightest = lightestLayer[reached], numLeft = numLightest[reached];
  auto hasRoom = [&](double seconds) {
    double room = 0;
    for (double load : known)
      room += std::max(0.0, std::floor((seconds - load) / lightest + 1e-9));
    return room >= numLeft;
  };
  if (lightest <= 0 || hasRoom(bound))
    return bound;
  std::optional<double> least;
  for (double load : known) {
    double few = 0, enough = numLeft; // layers on this worker
    while (enough - few > 1) {
      double middle = std::floor((few + enough) / 2);
      (hasRoom(load + middle * lightest) ? enough : few) = middle;
    }
    least = std::min(least.value_or(load + enough * lightest), load + enough * lightest);
  }
  return std::max(bound, *least);
}

// The proof is that of `pipelineBound`. Of the stages that are not cut yet, the sums of all layers are known; one is as
// heavy as the heaviest of the best cut; and all workers together have all the work, so that their mean bounds the
// largest.
std::optional<double> StageBounds::seconds(llvm::ArrayRef<uint32_t> ends) const {
  uint32_t numCut = static_cast<uint32_t>(ends.size()), numStages = shape.numStages(), p = shape.workers;
  uint32_t reached = ends.empty() ? 0 : ends.back(), numLeft = numStages - numCut;
  auto hopOf = [&](uint32_t stage, double seconds) {
    return shape.workerOf(stage) == shape.workerOf(stage + 1) ? 0 : seconds;
  };
  llvm::SmallVector<Load, 32> loads(p, Load{0, 0});
  llvm::SmallVector<double, 32> heads, backs; ///< by worker whose first stage's head is known: before it and after
  double head = 0, back = 0, slowestHop = 0, weights = firstWeights;
  for (uint32_t stage = 0; stage < numCut; ++stage) {
    std::optional<StageWork> fitting = memory.leastFitting(stage, stage == 0 ? 0 : ends[stage - 1], ends[stage]);
    if (!fitting)
      return std::nullopt;
    const StageWork &work = *fitting;
    Load load = loadOf(work);
    loads[shape.workerOf(stage)].all += load.all;
    loads[shape.workerOf(stage)].inputs += load.inputs;
    if (stage < p) {
      heads.push_back(head);
      backs.push_back(back);
    }
    double hop = stage + 1 < numStages ? hopOf(stage, costs.leastMessageSeconds(ends[stage] - 1)) : 0;
    slowestHop = std::max(slowestHop, hop);
    head += work.forwardSeconds + hop;
    back += backwardOf(work) + hop;
    if (stage == 0 && splits)
      weights = work.weightGradientSeconds;
  }
  double bound = 0;
  auto raise = [&](double before, const Load &load, double behind) {
    bound = std::max({bound, before + load.all, before + load.inputs + behind + weights});
  };
  for (uint32_t worker = 0; worker < heads.size(); ++worker)
    raise(heads[worker], loads[worker], backs[worker]);
  // One micro-batch through all stages; a link that carries one message at a time makes the last one wait.
  StageWork rest = costs.leastApart(reached, problem.numLayers());
  double hopsLeft = 0;
  for (uint32_t stage = numCut; stage + 1 < numStages; ++stage)
    hopsLeft += hopOf(stage, leastHop[reached]);
  double way = head + back + rest.forwardSeconds + backwardOf(rest) + 2 * hopsLeft + weights;
  bound = std::max(bound, way + (problem.link.mode == LinkMode::Link ? (microBatches - 1) * slowestHop : 0));
  if (numLeft > 0 && !heaviest[numLeft][reached])
    return std::nullopt;
  if (numLeft > 0)
    bound = std::max(bound, *heaviest[numLeft][reached]);
  // Workers that are not reached have at least one layer of each stage before theirs in front of them.
  for (auto worker = static_cast<uint32_t>(heads.size()), skipped = 0U; worker < p; ++worker, ++skipped) {
    StageWork between = costs.leastApart(reached, reached + skipped);
    heads.push_back(head + between.forwardSeconds + skipped * leastHop[reached]);
    backs.push_back(back + backwardOf(between) + skipped * leastHop[reached]);
  }
  // The mean over workers of head, load and way back.
  Load mean = loadOf(rest);
  double before = 0, behind = 0;
  llvm::SmallVector<double, 32> known;
  for (uint32_t worker = 0; worker < p; ++worker) {
    mean.all += loads[worker].all;
    mean.inputs += loads[worker].inputs;
    before += heads[worker];
    behind += backs[worker];
    known.push_back(heads[worker] + loads[worker].all + (splits ? 0 : backs[worker]));
  }
  raise(before / p, {mean.all / p, mean.inputs / p}, behind / p);
  if (numLeft > 0 && shape.chunks > 1)
    bound = forLayersLeft(known, reached, bound);
  return bound;
}

} // namespace apc
