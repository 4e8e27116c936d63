// The search of each stage, and what stages that are alike share.
#include "StageAnswers.h"

#include "../Meshes/Meshes.h"

#include "apc/Support/Error.h"

namespace apc {

namespace {

double secondsUntil(std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
}

/// Those of `pins` that some op or input of the stage meets.
std::vector<Pin> pinsOn(const OpGraph &graph, const Pool &pool, llvm::ArrayRef<Pin> pins) {
  std::vector<Pin> met;
  for (const Pin &pin : pins)
    if (llvm::Expected<PinnedOps> bound = PinnedOps::bind(graph, pool, {pin}))
      met.push_back(pin);
    else
      llvm::consumeError(bound.takeError());
  return met;
}

} // namespace

std::shared_ptr<StageAnswer> StageAnswers::begin(unsigned stage, int64_t inFlight, double seconds) const {
  auto own = std::make_shared<StageAnswer>();
  own->graph = withInFlight(step.stages[stage], inFlight);
  own->request = whole.request;
  own->request.devices = worker.numDevices();
  constexpr double least = 0.1, shareOfSearch = 0.8;
  own->request.timeLimitSeconds = std::max(least, seconds / shareOfSearch);
  return own;
}

llvm::Error searchStage(unsigned /*stage*/, StageAnswer &own) {
  llvm::Expected<MeshChoice> choice = chooseMesh(*own.task);
  if (!choice)
    return choice.takeError();
  own.problemSeconds = choice->problemSeconds;
  own.searchSeconds = choice->searchSeconds;
  own.lowerBoundSeconds = choice->lowerBoundSeconds;
  own.reason = choice->reason;
  own.notes = std::move(choice->notes);
  if (!choice->best)
    return llvm::Error::success();
  own.isByMemory = choice->unlimitedBoundSeconds < choice->best->seconds() * (1 - own.request.gapTolerance);
  llvm::Expected<Candidate> merged = mergeAxes(*own.task, std::move(*choice->best));
  if (!merged)
    return merged.takeError();
  own.candidate = std::move(*merged);
  return llvm::Error::success();
}

std::shared_ptr<const StageAnswer> StageAnswers::findAlike(unsigned stage, int64_t inFlight) const {
  for (const auto &[key, answer] : known) {
    bool isAsHard = key.second == inFlight || (key.second > inFlight && !answer->isByMemory);
    if (answer->candidate && isAsHard && areAlike(step.stages[key.first].graph, step.stages[stage].graph))
      return answer;
  }
  return nullptr;
}

llvm::Error StageAnswers::takeOver(const StageAnswer &other, StageAnswer &own) const {
  llvm::Expected<Candidate> candidate = costCandidate(*own.task, other.candidate->mesh, other.candidate->strategies,
                                                      other.candidate->cost.hubsOfComeAgain());
  if (!candidate)
    return candidate.takeError();
  own.candidate = std::move(*candidate);
  own.lowerBoundSeconds = other.lowerBoundSeconds;
  own.isByMemory = other.isByMemory;
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<const StageAnswer>> StageAnswers::answer(unsigned stage, int64_t inFlight,
                                                                        size_t stagesLeft) {
  auto found = known.find({stage, inFlight});
  if (found != known.end())
    return found->second;
  double seconds = secondsUntil(whole.end(PlanningTask::Part::Search)) / static_cast<double>(stagesLeft);
  std::shared_ptr<StageAnswer> own = begin(stage, inFlight, seconds);
  llvm::Expected<PinnedOps> pins =
      PinnedOps::bind(own->graph, worker, pinsOn(own->graph, worker, whole.pins.getPins()));
  if (!pins)
    return pins.takeError();
  own->task.emplace(
      PlanningTask{own->graph, own->request, worker, limitBytes, whole.search, std::move(*pins), whole.control});
  own->task->fusion = fusionOf(own->graph, own->request);
  std::shared_ptr<const StageAnswer> alike = findAlike(stage, inFlight);
  if (llvm::Error error = alike ? takeOver(*alike, *own) : answerStage(stage, *own))
    return std::move(error);
  return known[{stage, inFlight}] = own;
}

} // namespace apc
