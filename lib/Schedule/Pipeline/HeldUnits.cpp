// Units that the stages of a worker hold together, action by action.
#include "apc/Schedule/Pipeline/SimulatePipeline.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

namespace apc {

namespace {

using Running = HeldUnits::Running;
using HeldByChunk = std::vector<HeldUnits>;

/// Is \p one never more than \p by, while the same runs?
bool isCovered(const HeldByChunk &one, const HeldByChunk &by) {
  return llvm::all_of(llvm::zip_equal(one, by), [](auto pair) {
    const auto &[a, b] = pair;
    return a.running == b.running && a.atBackward <= b.atBackward && a.atWeights <= b.atWeights;
  });
}

/// The times of a worker that no other covers. Most come again and again.
class FullestTimes {
public:
  void add(const HeldByChunk &now) {
    if (!seen.insert(now).second ||
        llvm::any_of(found, [&](const HeldByChunk &other) { return isCovered(now, other); }))
      return;
    llvm::erase_if(found, [&](const HeldByChunk &other) { return isCovered(other, now); });
    found.push_back(now);
  }
  std::vector<HeldByChunk> take() { return std::move(found); }

private:
  std::set<HeldByChunk> seen;
  std::vector<HeldByChunk> found;
};

/// A unit of the stage runs. Of a pair of one stage's actions the other one waits.
void addRunning(HeldUnits &units, Running running) {
  if (!units.isRunning()) {
    units.running = running;
    return;
  }
  ++units.atBackward;
  units.running = std::min(units.running, running); // a pass needs more
}

} // namespace

std::vector<std::vector<HeldUnits>> PipelineSimulator::heldTogether(uint32_t worker) const {
  const llvm::ArrayRef<Step> own =
      llvm::ArrayRef(steps).slice(firstStep[worker], firstStep[worker + 1] - firstStep[worker]);
  const bool splits = llvm::any_of(steps, [](const Step &step) {
    return step.work.kind == ActionKind::WeightGradient ||
           (step.isPair && step.beside.kind == ActionKind::WeightGradient);
  });
  std::vector<uint32_t> stages;
  for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
    stages.push_back(shape.stageOf(worker, chunk));
  HeldByChunk now(shape.chunks);
  std::vector<uint32_t> ended(shape.chunks);
  auto chunkOf = [&](const Work &work) { return llvm::find(stages, work.stage) - stages.begin(); };
  auto begin = [&](const Work &work) {
    HeldUnits &units = now[chunkOf(work)];
    units.atBackward -= work.kind == ActionKind::InputGradient || work.kind == ActionKind::Backward;
    units.atWeights -= work.kind == ActionKind::WeightGradient;
  };
  auto end = [&](const Work &work) {
    HeldUnits &units = now[chunkOf(work)];
    units.atBackward += work.kind == ActionKind::Forward;
    units.atWeights += work.kind == ActionKind::InputGradient;
    ended[chunkOf(work)] += work.kind == ActionKind::Backward || work.kind == ActionKind::WeightGradient;
    if (ended[chunkOf(work)] == numUnits)
      units.running = Running::Done;
  };
  FullestTimes times;
  auto note = [&](llvm::ArrayRef<Work> actions, bool isEndOfBackward) {
    HeldByChunk held = now;
    for (const Work &work : actions) {
      const bool inWeights =
          work.kind == ActionKind::WeightGradient || (isEndOfBackward && work.kind == ActionKind::Backward);
      addRunning(held[chunkOf(work)], inWeights ? Running::Weights : Running::Pass);
    }
    times.add(held);
  };
  for (const Step &step : own) {
    llvm::SmallVector<Work, 2> actions{step.work};
    if (step.isPair)
      actions.push_back(step.beside);
    llvm::for_each(actions, begin);
    note(actions, /*isEndOfBackward=*/false);
    if (splits && llvm::any_of(actions, [](const Work &work) { return work.kind == ActionKind::Backward; }))
      note(actions, /*isEndOfBackward=*/true);
    llvm::for_each(actions, end);
  }
  return times.take();
}

} // namespace apc
