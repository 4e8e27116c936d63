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

/// The units that a worker's chunks hold between two actions.
class HeldNow {
public:
  HeldNow(size_t numChunks, size_t numUnits) : numUnits(numUnits), now(numChunks), ended(numChunks) {}

  void begin(ActionKind kind, size_t chunk) {
    now[chunk].atBackward -= kind == ActionKind::InputGradient || kind == ActionKind::Backward;
    now[chunk].atWeights -= kind == ActionKind::WeightGradient;
  }
  void end(ActionKind kind, size_t chunk) {
    now[chunk].atBackward += kind == ActionKind::Forward;
    now[chunk].atWeights += kind == ActionKind::InputGradient;
    ended[chunk] += kind == ActionKind::Backward || kind == ActionKind::WeightGradient;
    if (ended[chunk] == numUnits)
      now[chunk].running = Running::Done;
  }
  const HeldByChunk &chunks() const { return now; }

private:
  size_t numUnits;
  HeldByChunk now;
  std::vector<size_t> ended; ///< units whose last action has run
};

} // namespace

std::vector<std::vector<HeldUnits>> PipelineSimulator::heldTogether(uint32_t worker) const {
  auto isSplit = [](const Step &step) {
    return step.work.kind == ActionKind::WeightGradient ||
           (step.isPair && step.beside.kind == ActionKind::WeightGradient);
  };
  const bool splits = llvm::any_of(steps, isSplit);
  std::vector<uint32_t> stages;
  for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
    stages.push_back(shape.stageOf(worker, chunk));
  auto chunkOf = [&](const Work &work) { return static_cast<size_t>(llvm::find(stages, work.stage) - stages.begin()); };
  HeldNow now(shape.chunks, numUnits);
  FullestTimes times;
  auto note = [&](llvm::ArrayRef<Work> actions, bool isEndOfBackward) {
    HeldByChunk held = now.chunks();
    for (const Work &work : actions) {
      const bool inWeights =
          work.kind == ActionKind::WeightGradient || (isEndOfBackward && work.kind == ActionKind::Backward);
      addRunning(held[chunkOf(work)], inWeights ? Running::Weights : Running::Pass);
    }
    times.add(held);
  };
  for (size_t index = firstStep[worker]; index < firstStep[worker + 1]; ++index) {
    llvm::SmallVector<Work, 2> actions{steps[index].work};
    if (steps[index].isPair)
      actions.push_back(steps[index].beside);
    for (const Work &work : actions)
      now.begin(work.kind, chunkOf(work));
    note(actions, /*isEndOfBackward=*/false);
    if (splits && llvm::any_of(actions, [](const Work &work) { return work.kind == ActionKind::Backward; }))
      note(actions, /*isEndOfBackward=*/true);
    for (const Work &work : actions)
      now.end(work.kind, chunkOf(work));
  }
  return times.take();
}

} // namespace apc
