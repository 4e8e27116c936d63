// The search of each stage, and what stages that are alike share.
#include "StageAnswers.h"

#include "SameStrategies.h"

#include "../Meshes/Meshes.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

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

/// By stage, the first one whose graph is alike.
std::vector<unsigned> kindsOf(const CutStep &step) {
  std::vector<unsigned> kinds;
  for (unsigned stage = 0; stage < step.stages.size(); ++stage) {
    unsigned kind = 0;
    while (kind < stage && (kinds[kind] != kind || !areAlike(step.stages[kind].graph, step.stages[stage].graph)))
      ++kind;
    kinds.push_back(kind);
  }
  return kinds;
}

} // namespace

StageAnswers::StageAnswers(const PlanningTask &whole, const CutStep &step, Pool worker, int64_t limitBytes,
                           Answer pattern)
    : whole(whole), step(step), worker(std::move(worker)), limitBytes(limitBytes), kinds(kindsOf(step)),
      pattern(std::move(pattern)) {}

std::vector<unsigned> StageAnswers::order(llvm::ArrayRef<int64_t> inFlight) const {
  std::vector<unsigned> stages;
  for (unsigned stage = 0; stage < kinds.size(); ++stage)
    stages.push_back(stage);
  auto key = [&](unsigned stage) {
    return std::tuple(-llvm::count(kinds, kinds[stage]), kinds[stage], -inFlight[stage]);
  };
  llvm::stable_sort(stages, [&](unsigned a, unsigned b) { return key(a) < key(b); });
  return stages;
}

llvm::Expected<StageAnswers::Own> StageAnswers::begin(unsigned stage, int64_t inFlight, PlanningEffort effort,
                                                      double seconds) const {
  auto own = std::make_shared<StageAnswer>();
  own->graph = withInFlight(step.stages[stage], inFlight);
  own->request = whole.request;
  own->request.devices = worker.numDevices();
  constexpr double least = 0.1, shareOfSearch = 0.8;
  own->request.timeLimitSeconds = std::max(least, seconds / shareOfSearch);
  constexpr double smallGap = 0.01; // a schedule takes several times as much
  own->request.gapTolerance = std::max(smallGap, own->request.gapTolerance);
  llvm::Expected<PinnedOps> pins =
      PinnedOps::bind(own->graph, worker, pinsOn(own->graph, worker, whole.pins.getPins()));
  if (!pins)
    return pins.takeError();
  own->task.emplace(
      PlanningTask{own->graph, own->request, worker, limitBytes, whole.search, std::move(*pins), whole.control});
  own->task->control.effort = effort;
  own->task->fusion = fusionOf(own->graph, own->request);
  return own;
}

/// Puts the outcome of a search of meshes into the answer of a stage.
static llvm::Error take(MeshChoice choice, StageAnswer &own) {
  own.problemSeconds += choice.problemSeconds;
  own.searchSeconds += choice.searchSeconds;
  own.lowerBoundSeconds = choice.lowerBoundSeconds;
  own.reason = choice.reason;
  if (!choice.best)
    return llvm::Error::success();
  constexpr double noticeable = 0.05; // of the looseness of first bounds
  own.isByMemory = choice.unlimitedBoundSeconds < choice.best->seconds() * (1 - noticeable);
  llvm::Expected<Candidate> merged = mergeAxes(*own.task, std::move(*choice.best));
  if (!merged)
    return merged.takeError();
  own.candidate = std::move(*merged);
  return llvm::Error::success();
}

llvm::Error StageAnswers::follow(const StageAnswer &other, StageAnswer &own) const {
  own.task->kept = strategiesAsIn(other, own.graph);
  llvm::Expected<MeshChoice> choice = chooseOn(*own.task, other.candidate->mesh);
  own.task->kept.clear();
  if (!choice)
    return choice.takeError();
  choice->lowerBoundSeconds = 0; // of these strategies alone
  if (llvm::Error error = take(std::move(*choice), own))
    return error;
  own.isByMemory = other.isByMemory;
  return llvm::Error::success();
}

llvm::Error StageAnswers::searchFirst(StageAnswer &own, MeshesToSearch meshes) {
  if (pattern)
    if (llvm::Error error = follow(*pattern, own))
      return error;
  if (own.candidate)
    return llvm::Error::success();
  bool isNarrow = pattern && meshes == MeshesToSearch::OfPattern;
  llvm::Expected<MeshChoice> choice = isNarrow ? chooseOn(*own.task, pattern->candidate->mesh) : chooseMesh(*own.task);
  if (!choice)
    return choice.takeError();
  return take(std::move(*choice), own);
}

StageAnswers::Answer StageAnswers::findAlike(unsigned stage, int64_t inFlight) const {
  for (const auto &[key, answer] : known)
    if (key.second >= inFlight && answer->candidate && kinds[key.first] == kinds[stage])
      return answer;
  return nullptr;
}

llvm::Error StageAnswers::takeOver(const StageAnswer &other, StageAnswer &own) const {
  llvm::Expected<Candidate> candidate = costCandidate(*own.task, other.candidate->mesh, other.candidate->strategies,
                                                      other.candidate->cost.hubsOfComeAgain());
  if (!candidate)
    return candidate.takeError();
  own.candidate = std::move(*candidate);
  own.isByMemory = other.isByMemory;
  return llvm::Error::success();
}

llvm::Expected<StageAnswers::Answer> StageAnswers::firstAnswer(unsigned stage, int64_t inFlight,
                                                               MeshesToSearch meshes) {
  auto found = known.find({stage, inFlight});
  if (found != known.end())
    return found->second;
  llvm::Expected<Own> own =
      begin(stage, inFlight, PlanningEffort::FirstAnswers, secondsUntil(whole.end(PlanningTask::Part::Search)));
  if (!own)
    return own.takeError();
  Answer alike = findAlike(stage, inFlight);
  if (llvm::Error error = alike ? takeOver(*alike, **own) : searchFirst(**own, meshes))
    return std::move(error);
  if (!pattern && (*own)->candidate)
    pattern = *own;
  return known[{stage, inFlight}] = *own;
}

llvm::Expected<StageAnswers::Answers> StageAnswers::firstAnswers(llvm::ArrayRef<int64_t> inFlight,
                                                                 MeshesToSearch meshes) {
  Answers answers;
  for (unsigned stage : order(inFlight)) {
    llvm::Expected<Answer> own = firstAnswer(stage, inFlight[stage], meshes);
    if (!own)
      return own.takeError();
    answers[stage] = *own;
    if (!(*own)->candidate)
      break;
  }
  return answers;
}

llvm::Error StageAnswers::prove(const StageAnswer &first, StageAnswer &own) const {
  own.task->knownSeconds = first.candidate->seconds();
  llvm::Expected<MeshChoice> choice = chooseMesh(*own.task);
  if (!choice)
    return choice.takeError();
  bool isBetter = choice->best && choice->best->seconds() < first.candidate->seconds();
  if (!isBetter)
    choice->best.reset();
  if (llvm::Error error = take(std::move(*choice), own))
    return error;
  if (own.candidate)
    return llvm::Error::success();
  own.lowerBoundSeconds = std::min(own.lowerBoundSeconds, first.candidate->seconds());
  return takeOver(first, own);
}

llvm::Expected<StageAnswers::Answer> StageAnswers::proof(unsigned stage, int64_t inFlight, const Answer &first,
                                                         const Answer &alike, double seconds) const {
  llvm::Expected<Own> own = begin(stage, inFlight, PlanningEffort::Proofs, seconds);
  if (!own)
    return own.takeError();
  bool isLate = whole.isOutOfTime(PlanningTask::Part::Search);
  if (llvm::Error error = alike || isLate ? takeOver(alike ? *alike : *first, **own) : prove(*first, **own))
    return std::move(error);
  if (alike)
    (*own)->lowerBoundSeconds = alike->lowerBoundSeconds;
  return *own;
}

llvm::Expected<StageAnswers::Answers> StageAnswers::proofs(llvm::ArrayRef<int64_t> inFlight,
                                                           const Answers &first) const {
  std::map<std::pair<unsigned, int64_t>, Answer> proven; ///< by kind and micro-batches
  for (auto [kind, count] : llvm::zip_equal(kinds, inFlight))
    proven[{kind, count}] = nullptr;
  size_t numLeft = proven.size();
  Answers answers;
  for (unsigned stage : order(inFlight)) {
    Answer &same = proven[{kinds[stage], inFlight[stage]}];
    double seconds =
        secondsUntil(whole.end(PlanningTask::Part::Search)) / static_cast<double>(std::max<size_t>(1, numLeft));
    numLeft -= same ? 0 : 1;
    llvm::Expected<Answer> own = proof(stage, inFlight[stage], first.at(stage), same, seconds);
    if (!own)
      return own.takeError();
    same = answers[stage] = *own;
  }
  return answers;
}

} // namespace apc
