// The search of each stage, and what stages that are alike share.
#include "StageAnswers.h"

#include "SameStrategies.h"

#include "../Meshes/Meshes.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

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

StageAnswers::StageAnswers(const PlanningTask &whole, const CutStep &step, Pool worker, Answer pattern)
    : whole(whole), step(step), worker(std::move(worker)), kinds(kindsOf(step)), pattern(std::move(pattern)) {}

std::vector<StageAnswers::Wanted> StageAnswers::wantedBy(const PipelinePoint &point) const {
  constexpr double usual = 2; // parameters, gradients and states, in activations of a micro-batch
  double fixed = usual;
  if (pattern) {
    const MemoryTable &memory = pattern->candidate->cost.memory;
    auto held = static_cast<double>(std::max<int64_t>(1, memory[MemoryCategory::Activations]));
    fixed = (static_cast<double>(memory.total()) / held - 1) * static_cast<double>(1 + pattern->graph.othersInFlight());
  }
  std::vector<int64_t> inFlight = point.inFlight();
  std::map<uint32_t, double> needs; ///< by worker
  auto needOf = [&](unsigned stage) { return fixed + static_cast<double>(inFlight[stage]); };
  for (unsigned stage = 0; stage < kinds.size(); ++stage)
    needs[point.lists.shape.workerOf(stage)] += needOf(stage);
  std::vector<Wanted> wanted;
  for (unsigned stage = 0; stage < kinds.size(); ++stage) {
    double share = needOf(stage) / needs[point.lists.shape.workerOf(stage)];
    wanted.push_back(
        {stage, inFlight[stage], static_cast<int64_t>(share * static_cast<double>(whole.memoryLimitBytes))});
  }
  return wanted;
}

std::vector<StageAnswers::Wanted> StageAnswers::inOrder(std::vector<Wanted> stages) const {
  auto key = [&](const Wanted &wanted) {
    unsigned kind = kinds[wanted.stage];
    return std::tuple(-llvm::count(kinds, kind), kind, -wanted.inFlight);
  };
  llvm::stable_sort(stages, [&](const Wanted &a, const Wanted &b) { return key(a) < key(b); });
  return stages;
}

llvm::Expected<StageAnswers::Own> StageAnswers::begin(const Wanted &wanted, PlanningEffort effort,
                                                      double seconds) const {
  auto own = std::make_shared<StageAnswer>();
  own->graph = withInFlight(step.stages[wanted.stage], wanted.inFlight);
  own->request = whole.request;
  own->request.devices = worker.numDevices();
  own->request.meshAxes = firstAxes(whole.request); // finer meshes take more time than a stage has
  constexpr double least = 0.1, shareOfSearch = 0.8;
  own->request.timeLimitSeconds = std::max(least, seconds / shareOfSearch);
  constexpr double smallGap = 0.01; // a schedule takes several times as much
  own->request.gapTolerance = std::max(smallGap, own->request.gapTolerance);
  llvm::Expected<PinnedOps> pins =
      PinnedOps::bind(own->graph, worker, pinsOn(own->graph, worker, whole.pins.getPins()));
  if (!pins)
    return pins.takeError();
  own->task.emplace(
      PlanningTask{own->graph, own->request, worker, wanted.limitBytes, whole.search, std::move(*pins), whole.control});
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

/// The bytes of a stage with its micro-batches in flight, as those of another one of more or fewer layers let expect.
static double expectedBytes(const StageAnswer &other, const OpGraph &graph) {
  double size = static_cast<double>(graph.ops.size()) / static_cast<double>(other.graph.ops.size());
  double inFlight =
      static_cast<double>(1 + graph.othersInFlight()) / static_cast<double>(1 + other.graph.othersInFlight());
  const MemoryTable &memory = other.candidate->cost.memory;
  auto activations = static_cast<double>(memory[MemoryCategory::Activations]);
  return size * (static_cast<double>(memory.total()) + (inFlight - 1) * activations);
}

llvm::Error StageAnswers::searchFirst(StageAnswer &own, MeshesToSearch meshes) {
  constexpr double hopeless = 1.3; // strategies that save memory save less than that
  int64_t limitBytes = own.task->memoryLimitBytes;
  if (double bytes = pattern ? expectedBytes(*pattern, own.graph) : 0;
      bytes > hopeless * static_cast<double>(limitBytes)) {
    own.reason = "about " + formatBytes(bytes) + " are needed of " + formatBytes(static_cast<double>(limitBytes));
    return llvm::Error::success();
  }
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

StageAnswers::Answer StageAnswers::findAlike(const Wanted &wanted) const {
  for (const auto &[other, answer] : known)
    if (other.inFlight >= wanted.inFlight && answer->candidate && kinds[other.stage] == kinds[wanted.stage] &&
        answer->candidate->cost.memory.total() <= wanted.limitBytes)
      return answer;
  return nullptr;
}

llvm::Error StageAnswers::takeOver(const StageAnswer &other, StageAnswer &own) const {
  llvm::Expected<Candidate> candidate =
      costCandidate(*own.task, other.candidate->mesh, other.candidate->strategies, other.candidate->hubs);
  if (!candidate)
    return candidate.takeError();
  own.candidate = std::move(*candidate);
  own.isByMemory = other.isByMemory;
  return llvm::Error::success();
}

llvm::Expected<StageAnswers::Answer> StageAnswers::firstAnswer(const Wanted &wanted, MeshesToSearch meshes) {
  llvm::Expected<Own> own =
      begin(wanted, PlanningEffort::FirstAnswers, secondsUntil(whole.end(PlanningTask::Part::Search)));
  if (!own)
    return own.takeError();
  Answer alike = findAlike(wanted);
  if (llvm::Error error = alike ? takeOver(*alike, **own) : searchFirst(**own, meshes))
    return std::move(error);
  if (!pattern && (*own)->candidate)
    pattern = *own;
  known.emplace_back(wanted, *own);
  return *own;
}

llvm::Expected<StageAnswers::Answers> StageAnswers::firstAnswers(const PipelinePoint &point, MeshesToSearch meshes) {
  Answers answers;
  for (const Wanted &wanted : inOrder(wantedBy(point))) {
    llvm::Expected<Answer> own = firstAnswer(wanted, meshes);
    if (!own)
      return own.takeError();
    answers[wanted.stage] = *own;
    if (!(*own)->candidate)
      break;
  }
  return answers;
}

llvm::Expected<StageAnswers::Answers> StageAnswers::answersBy(const PipelinePoint &point,
                                                              AnswerStage answerStage) const {
  std::map<std::pair<unsigned, int64_t>, Answer> same; ///< by kind and micro-batches
  std::vector<int64_t> inFlight = point.inFlight();
  Answers answers;
  for (unsigned stage = 0; stage < kinds.size(); ++stage) {
    llvm::Expected<Own> own = begin({stage, inFlight[stage], whole.memoryLimitBytes}, PlanningEffort::Proofs,
                                    secondsUntil(whole.end(PlanningTask::Part::Search)));
    if (!own)
      return own.takeError();
    Answer &alike = same[{kinds[stage], inFlight[stage]}];
    if (llvm::Error error = alike ? takeOver(*alike, **own) : answerStage(stage, **own))
      return std::move(error);
    alike = answers[stage] = *own;
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

llvm::Expected<StageAnswers::Answer> StageAnswers::proof(const Wanted &wanted, const Answer &first, const Answer &alike,
                                                         double seconds) const {
  llvm::Expected<Own> own = begin(wanted, PlanningEffort::Proofs, seconds);
  if (!own)
    return own.takeError();
  bool isLate = whole.isOutOfTime(PlanningTask::Part::Search);
  if (llvm::Error error = alike || isLate ? takeOver(alike ? *alike : *first, **own) : prove(*first, **own))
    return std::move(error);
  if (alike)
    (*own)->lowerBoundSeconds = alike->lowerBoundSeconds;
  return *own;
}

llvm::Expected<StageAnswers::Answers> StageAnswers::proofs(const PipelinePoint &point, const Answers &first) const {
  using Key = std::tuple<unsigned, int64_t, int64_t>; ///< kind, micro-batches, limit
  std::vector<Wanted> stages = wantedBy(point);
  for (Wanted &wanted : stages) // those that the first answers were given
    wanted.limitBytes = first.at(wanted.stage)->task->memoryLimitBytes;
  auto keyOf = [&](const Wanted &wanted) { return Key(kinds[wanted.stage], wanted.inFlight, wanted.limitBytes); };
  std::map<Key, Answer> proven;
  for (const Wanted &wanted : stages)
    proven[keyOf(wanted)] = nullptr;
  size_t numLeft = proven.size();
  Answers answers;
  for (const Wanted &wanted : inOrder(stages)) {
    Answer &same = proven[keyOf(wanted)];
    double seconds =
        secondsUntil(whole.end(PlanningTask::Part::Search)) / static_cast<double>(std::max<size_t>(1, numLeft));
    numLeft -= same ? 0 : 1;
    llvm::Expected<Answer> own = proof(wanted, first.at(wanted.stage), same, seconds);
    if (!own)
      return own.takeError();
    same = answers[wanted.stage] = *own;
  }
  return answers;
}

llvm::Expected<std::vector<double>> StageAnswers::leastSeconds(double seconds) const {
  constexpr int64_t unlimited = int64_t(1) << 50; // 1 PiB: more than any device has
  std::vector<Wanted> stages;
  for (unsigned stage = 0; stage < kinds.size(); ++stage)
    stages.push_back({stage, 1, unlimited});
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::map<unsigned, double> least; ///< by kind, the most frequent first: it counts most
  std::vector<double> byStage(kinds.size(), 0.0);
  for (const Wanted &wanted : inOrder(stages)) {
    auto [entry, isNew] = least.try_emplace(kinds[wanted.stage], 0.0);
    double left = std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
    if (isNew && left > 0) {
      llvm::Expected<Own> own = begin(wanted, PlanningEffort::Proofs, left);
      if (!own)
        return own.takeError();
      for (int64_t &bytes : (*own)->task->fusion.groupBytes)
        bytes = unlimited; // with the values of other stages
      llvm::Expected<MeshChoice> choice = chooseMesh(*(*own)->task);
      if (!choice)
        return choice.takeError();
      entry->second = choice->lowerBoundSeconds;
    }
    byStage[wanted.stage] = entry->second;
  }
  return byStage;
}

} // namespace apc
