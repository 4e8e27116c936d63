// The search of each stage, and what stages that are alike share.
#include "StageAnswers.h"

#include "LightArrivals.h"
#include "SameStrategies.h"
#include "Workers/WorkerMemory.h"

#include "../Meshes/OtherSearches.h"

#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

namespace {

/// The nanoseconds that it takes, about, to make a stage's graph and its task.
double preparingWork(const OpGraph &graph) {
  constexpr double perOp = 2000;
  return perOp * static_cast<double>(graph.ops.size());
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

/// By stage, the first one whose graph and devices are alike.
std::vector<unsigned> kindsOf(const CutStep &step, const WorkerPools &workers) {
  std::vector<unsigned> kinds;
  auto isAlike = [&](unsigned one, unsigned other) {
    return (workers.areEqual() || &workers.pool(one) == &workers.pool(other)) &&
           areAlike(step.stages[one].graph, step.stages[other].graph);
  };
  for (unsigned stage = 0; stage < step.stages.size(); ++stage) {
    unsigned kind = 0;
    while (kind < stage && (kinds[kind] != kind || !isAlike(kind, stage)))
      ++kind;
    kinds.push_back(kind);
  }
  return kinds;
}

/// The best on any mesh, with collectives beside ops or in turn.
llvm::Expected<MeshChoice> searchAll(const PlanningTask &task) {
  llvm::Expected<MeshChoice> choice = chooseMesh(task);
  if (choice)
    if (llvm::Error error = searchInTurn(task, *choice))
      return std::move(error);
  return choice;
}

} // namespace

double slowdownWithin(double excess) { return 1 + std::max(0.0, excess - 1) / 4; }

StageAnswers::StageAnswers(const PlanningTask &whole, const CutStep &step, WorkerPools workers,
                           std::shared_ptr<StagePatterns> patterns)
    : whole(whole), step(step), workers(std::move(workers)), kinds(kindsOf(step, this->workers)),
      patterns(std::move(patterns)) {
  assert((this->workers.areEqual() || this->workers.count() == static_cast<int64_t>(step.stages.size())) &&
         "a stage for each of unequal workers");
}

std::map<uint32_t, double> StageAnswers::needsOf(const PipelinePoint &point, double fixed, MemoryShares shares) const {
  std::map<uint32_t, double> needs;
  const std::vector<int64_t> inFlight = point.inFlight();
  const PipelineShape &shape = point.lists.shape;
  auto chunks = static_cast<double>(shape.chunks);
  for (uint32_t number = 0; number < shape.workers; ++number) {
    int64_t most = 0;
    if (shares == MemoryShares::Apart)
      for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
        most += inFlight[shape.stageOf(number, chunk)];
    else
      most = point.mostInFlight(number);
    needs[number] = chunks * fixed + static_cast<double>(most);
  }
  return needs;
}

int64_t StageAnswers::limitOf(unsigned stage, double share, const PipelineShape &shape) const {
  const int64_t limit = whole.memoryLimitBytes, workspace = poolOf(stage).device.workspaceBytes;
  const int64_t inTurn = shape.chunks > 1 ? std::min(limit, workspace) : 0;
  return inTurn + static_cast<int64_t>(share * static_cast<double>(limit - inTurn));
}

std::vector<StageAnswers::Wanted> StageAnswers::wantedBy(const PipelinePoint &point, MemoryShares shares) const {
  constexpr double usual = 2; // parameters, gradients and states, in activations of a micro-batch
  double fixed = usual;
  if (Answer pattern = patterns->first()) {
    const MemoryTable &memory = pattern->candidate->cost.memory;
    int64_t activations = memory[MemoryCategory::Activations] + memory[MemoryCategory::Runtime]; // grow together
    auto held = static_cast<double>(std::max<int64_t>(1, activations));
    fixed = (static_cast<double>(memory.total()) / held - 1) * static_cast<double>(1 + pattern->graph.othersInFlight());
  }
  std::vector<int64_t> inFlight = point.inFlight();
  std::vector<WaitingMicroBatches> waiting = point.waiting();
  std::map<uint32_t, double> needs = needsOf(point, fixed, shares);
  std::vector<Wanted> wanted;
  const PipelineShape &shape = point.lists.shape;
  for (unsigned stage = 0; stage < kinds.size(); ++stage) {
    double share = (fixed + static_cast<double>(inFlight[stage])) / needs[shape.workerOf(stage)];
    wanted.push_back({stage, inFlight[stage], waiting[stage], limitOf(stage, share, shape)});
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

double StageAnswers::secondsOfSearch() const { return whole.secondsLeft(PlanningTask::Part::Search); }

llvm::Expected<StageAnswers::Own> StageAnswers::begin(const Wanted &wanted, PlanningEffort effort,
                                                      double seconds) const {
  auto own = std::make_shared<StageAnswer>();
  own->graph = withInFlight(step.stages[wanted.stage], wanted.inFlight, wanted.waiting);
  own->request = whole.request;
  const Pool &pool = poolOf(wanted.stage);
  own->request.devices = pool.numDevices();
  own->request.meshAxes = firstAxes(whole.request); // finer meshes take more time than a stage has
  constexpr double least = 0.1, shareOfSearch = 0.8;
  own->request.timeLimitSeconds = std::max(least, seconds / shareOfSearch);
  constexpr double smallGap = 0.01; // a schedule takes several times as much
  own->request.gapTolerance = std::max(smallGap, own->request.gapTolerance);
  llvm::Expected<PinnedOps> pins = PinnedOps::bind(own->graph, pool, pinsOn(own->graph, pool, whole.pins.getPins()));
  if (!pins)
    return pins.takeError();
  own->task.emplace(
      PlanningTask{own->graph, own->request, pool, wanted.limitBytes, whole.search, std::move(*pins), whole.control});
  own->task->control.effort = effort;
  own->task->spend(preparingWork(own->graph));
  own->task->fusion = fusionOf(own->graph, own->request, whole.fusion.layerElements);
  return own;
}

/// Puts the outcome of a search of meshes into the answer of a stage.
static llvm::Error take(MeshChoice choice, StageAnswer &own) {
  own.problemSeconds += choice.times.problemSeconds;
  own.searchSeconds += choice.times.searchSeconds;
  own.reason = choice.reason;
  if (!choice.best)
    return llvm::Error::success();
  constexpr double noticeable = 0.05; // of the looseness of first bounds
  own.isByMemory = choice.unlimitedBoundSeconds < choice.best->seconds() * (1 - noticeable);
  llvm::Expected<Candidate> merged = mergeAxes(*own.task, std::move(*choice.best));
  if (!merged)
    return merged.takeError();
  own.candidate = withLightArrivals(*own.task, std::move(*merged));
  return llvm::Error::success();
}

llvm::Error StageAnswers::follow(StageAnswer &own) const {
  const StageAnswer &other = *patternOf(own);
  SameProgram same = patterns->programFor(own.graph, own.task->pool.numDevices());
  if (!same.isWhole())
    return searchRest(own, std::move(same));
  std::vector<Strategy> strategies;
  for (const std::optional<Strategy> &strategy : same.strategies)
    strategies.push_back(*strategy);
  llvm::Expected<Candidate> candidate =
      costCandidate(*own.task, other.candidate->mesh, std::move(strategies), same.hubs);
  if (!candidate) // those of several stages, which need not go together
    return llvm::handleErrors(candidate.takeError(),
                              [&](const IncompatibleStrategies &) { return searchRest(own, SameProgram()); });
  own.candidate = std::move(*candidate);
  own.isByMemory = other.isByMemory;
  return llvm::Error::success();
}

llvm::Error StageAnswers::searchRest(StageAnswer &own, SameProgram same) const {
  const StageAnswer &other = *patternOf(own);
  own.task->kept = std::move(same.strategies);
  llvm::Expected<MeshChoice> choice = chooseOn(*own.task, other.candidate->mesh);
  own.task->kept.clear();
  if (!choice)
    return choice.takeError();
  if (llvm::Error error = take(std::move(*choice), own))
    return error;
  own.isByMemory = other.isByMemory;
  return llvm::Error::success();
}

llvm::Expected<std::map<unsigned, StageAnswers::Own>> StageAnswers::followAll(llvm::ArrayRef<Wanted> stages) const {
  std::map<unsigned, Own> answers, byKind;
  for (const Wanted &wanted : stages) {
    llvm::Expected<Own> own = begin(wanted, PlanningEffort::FirstAnswers, secondsOfSearch());
    if (!own)
      return own.takeError();
    Own &alike = byKind[kinds[wanted.stage]];
    if (!alike && !patternOf(**own)) // nothing to follow
      continue;
    if (alike)
      takeOver(*alike, **own);
    else if (llvm::Error error = follow(**own))
      return std::move(error);
    if (!(*own)->candidate)
      continue;
    if (!alike)
      patterns->add(*own);
    alike = answers[wanted.stage] = *own;
  }
  return answers;
}

void StageAnswers::shareByNeeds(const PipelinePoint &point, const std::map<unsigned, Own> &followed,
                                MemoryShares shares, std::vector<Wanted> &stages) const {
  const PipelineShape &shape = point.lists.shape;
  std::vector<const Candidate *> candidates;
  for (const auto &[stage, own] : followed)
    candidates.push_back(&*own->candidate);
  std::vector<MemoryTable> together = memoryTogether(point, step, candidates, workers);
  auto kept = [](const MemoryTable &memory) {
    return static_cast<double>(memory.total() - memory[MemoryCategory::Workspace]);
  };
  auto bytesOf = [&](unsigned stage) { return kept(followed.at(stage)->candidate->cost.memory); };
  std::map<uint32_t, double> needs; ///< by worker, without scratch memory
  for (const Wanted &wanted : stages)
    needs[shape.workerOf(wanted.stage)] +=
        shares == MemoryShares::Apart ? bytesOf(wanted.stage) : kept(together[wanted.stage]);
  for (Wanted &wanted : stages) {
    const double all = needs[shape.workerOf(wanted.stage)];
    wanted.limitBytes = limitOf(wanted.stage, all > 0 ? bytesOf(wanted.stage) / all : 1, shape);
    followed.at(wanted.stage)->task->memoryLimitBytes = wanted.limitBytes;
  }
}

llvm::Error StageAnswers::searchFirst(StageAnswer &own, const Answer &followed, MeshesToSearch meshes, double slack) {
  const double limitBytes = static_cast<double>(own.task->memoryLimitBytes);
  const double bytes = followed ? static_cast<double>(followed->candidate->cost.memory.total()) : 0;
  const double excess = bytes / limitBytes;
  constexpr double hopeless = 1.3;          // strategies that save memory save less than that
  if (patternOf(own) && excess <= hopeless) // with fewer copies of values that wait
    if (llvm::Error error = searchRest(own, patterns->programFor(own.graph, own.task->pool.numDevices())))
      return error;
  if (own.candidate)
    return llvm::Error::success();
  if (excess > hopeless || slowdownWithin(excess) > slack) {
    own.reason = "about " + formatBytes(bytes) + " are needed of " + formatBytes(limitBytes);
    return llvm::Error::success();
  }
  bool isNarrow = followed && meshes == MeshesToSearch::OfPattern;
  llvm::Expected<MeshChoice> choice = isNarrow ? chooseOn(*own.task, followed->candidate->mesh) : searchAll(*own.task);
  if (!choice)
    return choice.takeError();
  if (choice->reason.empty())
    choice->reason = "nothing was found within " + formatBytes(limitBytes);
  return take(std::move(*choice), own);
}

StageAnswers::Answer StageAnswers::findAlike(const Wanted &wanted) const {
  auto holdsMore = [&](const Wanted &other) {
    const WaitingMicroBatches &own = wanted.waiting, &others = other.waiting;
    return other.inFlight >= wanted.inFlight && others.besidePass.covers(own.besidePass) &&
           others.besideWeights.covers(own.besideWeights);
  };
  for (const auto &[other, answer] : known)
    if (holdsMore(other) && answer->candidate && kinds[other.stage] == kinds[wanted.stage] &&
        answer->candidate->cost.memory.total() <= wanted.limitBytes)
      return answer;
  return nullptr;
}

void StageAnswers::takeOver(const StageAnswer &other, StageAnswer &own) const {
  own.candidate = other.candidate;
  own.isByMemory = other.isByMemory;
  GraphCost &cost = own.candidate->cost;
  StepPeak peak = graphMemory(own.graph, own.candidate->strategies, CostModel(own.task->pool, own.candidate->mesh),
                              cost.moves, cost.buckets);
  cost.memory = peak.memory;
  cost.fullestOp = OpId(peak.op);
}

llvm::Expected<StageAnswers::Answer> StageAnswers::firstAnswer(const Wanted &wanted, const Answer &followed,
                                                               MeshesToSearch meshes, double slack) {
  if (followed && followed->candidate->cost.memory.total() <= wanted.limitBytes)
    return followed;
  llvm::Expected<Own> own = begin(wanted, PlanningEffort::FirstAnswers, secondsOfSearch());
  if (!own)
    return own.takeError();
  if (Answer alike = findAlike(wanted))
    takeOver(*alike, **own);
  else if (llvm::Error error = searchFirst(**own, followed, meshes, slack))
    return std::move(error);
  if ((*own)->candidate)
    patterns->add(*own);
  known.emplace_back(wanted, *own);
  return *own;
}

llvm::Expected<StageAnswers::Answers> StageAnswers::followers(const PipelinePoint &point, MemoryShares shares) {
  std::vector<Wanted> stages = inOrder(wantedBy(point, shares));
  if (!patterns->first())
    return Answers();
  auto followed = followAll(stages);
  if (!followed)
    return followed.takeError();
  if (followed->size() < stages.size())
    return Answers();
  shareByNeeds(point, *followed, shares, stages);
  return Answers(followed->begin(), followed->end());
}

llvm::Expected<StageAnswers::Answers> StageAnswers::firstAnswers(const PipelinePoint &point, MeshesToSearch meshes,
                                                                 const Answers &followed, double slack,
                                                                 MemoryShares shares) {
  std::vector<Wanted> stages = inOrder(wantedBy(point, shares));
  Answers answers;
  for (Wanted &wanted : stages) {
    auto own = followed.find(wanted.stage);
    if (own != followed.end())
      wanted.limitBytes = own->second->task->memoryLimitBytes;
    llvm::Expected<Answer> first = firstAnswer(wanted, own == followed.end() ? nullptr : own->second, meshes, slack);
    if (!first)
      return first.takeError();
    answers[wanted.stage] = *first;
    if (!(*first)->candidate)
      break;
  }
  return answers;
}

llvm::Expected<StageAnswers::Answers> StageAnswers::answersBy(const PipelinePoint &point, AnswerStage answerStage,
                                                              AnswersShared shared) const {
  std::map<std::tuple<unsigned, int64_t, WaitingMicroBatches>, Answer> same; ///< by kind and micro-batches
  std::vector<int64_t> inFlight = point.inFlight();
  std::vector<WaitingMicroBatches> waiting = point.waiting();
  Answers answers;
  for (unsigned stage = 0; stage < kinds.size(); ++stage) {
    llvm::Expected<Own> own = begin({stage, inFlight[stage], waiting[stage], whole.memoryLimitBytes},
                                    PlanningEffort::Proofs, secondsOfSearch());
    if (!own)
      return own.takeError();
    const bool byAlike = shared == AnswersShared::ByAlike;
    Answer &alike =
        same[{kinds[stage], byAlike ? 1 : inFlight[stage], byAlike ? WaitingMicroBatches() : waiting[stage]}];
    if (alike)
      takeOver(*alike, **own);
    else if (llvm::Error error = answerStage(stage, **own))
      return std::move(error);
    alike = answers[stage] = *own;
    if (!alike->candidate)
      break;
  }
  return answers;
}

llvm::Error StageAnswers::prove(const StageAnswer &first, StageAnswer &own) const {
  own.task->knownSeconds = first.candidate->seconds();
  llvm::Expected<MeshChoice> choice = searchAll(*own.task);
  if (!choice)
    return choice.takeError();
  bool isBetter = choice->best && choice->best->seconds() < first.candidate->seconds();
  if (!isBetter)
    choice->best.reset();
  if (llvm::Error error = take(std::move(*choice), own))
    return error;
  if (!own.candidate)
    takeOver(first, own);
  return llvm::Error::success();
}

llvm::Expected<StageAnswers::Answers> StageAnswers::byUsual(const PipelinePoint &point, const Answers &known, Own usual,
                                                            unsigned stage) const {
  auto others = std::make_shared<StagePatterns>();
  others->add(usual);
  for (const auto &[index, answer] : known)
    others->add(answer);
  std::vector<Wanted> stages = inOrder(wantedBy(point, MemoryShares::Together));
  for (Wanted &wanted : stages) // those that the answers were given
    wanted.limitBytes = known.at(wanted.stage)->task->memoryLimitBytes;
  auto followed = StageAnswers(whole, step, workers, others).followAll(stages);
  if (!followed)
    return followed.takeError();
  Answers answers = known;
  for (const auto &[index, own] : *followed)
    answers[index] = own;
  answers[stage] = std::move(usual);
  return answers;
}

StageAnswers::Wanted StageAnswers::usualOf(const PipelinePoint &point, const Answers &known) const {
  Wanted usual = inOrder(wantedBy(point, MemoryShares::Together)).front();
  usual.limitBytes = known.at(usual.stage)->task->memoryLimitBytes;
  return usual;
}

llvm::Expected<StageAnswers::Answers> StageAnswers::searchUsual(const PipelinePoint &point, const Answers &followed,
                                                                double slack, double part) const {
  Wanted usual = usualOf(point, followed);
  usual.limitBytes = static_cast<int64_t>(part * static_cast<double>(usual.limitBytes));
  const int64_t bytes = followed.at(usual.stage)->candidate->cost.memory.total();
  if (slowdownWithin(static_cast<double>(bytes) / static_cast<double>(usual.limitBytes)) > slack)
    return followed;
  llvm::Expected<Own> own = begin(usual, PlanningEffort::FirstAnswers, secondsOfSearch());
  if (!own)
    return own.takeError();
  constexpr unsigned mostRounds = 3; // the first answer that fits may be far from the best
  for (unsigned round = 0; round < mostRounds; ++round) {
    if ((*own)->candidate)
      (*own)->task->knownSeconds = (*own)->candidate->seconds();
    llvm::Expected<MeshChoice> choice = chooseOn(*(*own)->task, followed.at(usual.stage)->candidate->mesh);
    if (!choice)
      return choice.takeError();
    bool isBetter = choice->best && choice->best->seconds() < (*own)->task->knownSeconds.value_or(HUGE_VAL);
    if (!isBetter)
      break;
    if (llvm::Error error = take(std::move(*choice), **own))
      return std::move(error);
  }
  return (*own)->candidate ? byUsual(point, followed, *own, usual.stage) : followed;
}

llvm::Expected<StageAnswers::Answers> StageAnswers::proofs(const PipelinePoint &point, const Answers &first) const {
  if (whole.isOutOfTime(PlanningTask::Part::Search))
    return first;
  const Wanted usual = usualOf(point, first);
  constexpr double share = 0.05; // of the time limit: little is gained where memory is tight
  llvm::Expected<Own> own =
      begin(usual, PlanningEffort::Proofs, std::min(secondsOfSearch(), share * whole.request.timeLimitSeconds));
  if (!own)
    return own.takeError();
  if (llvm::Error error = prove(*first.at(usual.stage), **own))
    return std::move(error);
  return byUsual(point, first, *own, usual.stage);
}

llvm::Expected<std::shared_ptr<StageAnswer>> StageAnswers::taskOfPart(unsigned stage, double seconds) const {
  llvm::Expected<Own> own = begin({stage, 1, {}, unlimitedBytes}, PlanningEffort::Proofs, seconds);
  if (own)
    for (int64_t &bytes : (*own)->task->fusion.groupBytes)
      bytes = unlimitedBytes; // with the values of other stages
  return own;
}

} // namespace apc
