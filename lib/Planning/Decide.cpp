// From a task to its plan, as far as the mode leaves something to choose.
#include "Candidate.h"
#include "SearchEnd.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// The winner of search and baselines: a plan is never slower than a feasible baseline that its pins allow.
struct Winner {
  Candidate candidate;
  std::string search;
  double objectiveSeconds = 0;
};

/// What the summary calls the search of a mode.
std::string searchName(const PlanOptions &options) {
  return options.parallel == "hybrid" ? "pins" : searchOf(options).str();
}

std::optional<Winner> pickWinner(const PlanningTask &task, MeshChoice &choice,
                                 std::vector<EvaluatedBaseline> &baselines) {
  std::optional<Winner> winner;
  if (choice.best)
    winner = Winner{std::move(*choice.best), searchName(task.options), choice.objectiveSeconds};
  for (EvaluatedBaseline &entry : baselines) {
    bool isOffered = entry.candidate && entry.baseline.feasible && task.options.parallel == "auto" &&
                     task.pins.allowsAll(entry.candidate->strategies, entry.candidate->mesh);
    if (!isOffered)
      continue;
    double seconds = entry.candidate->cost.seconds();
    if (!winner || seconds < winner->candidate.cost.seconds())
      winner = Winner{std::move(*entry.candidate), "baseline: " + entry.baseline.name, seconds};
  }
  return winner;
}

void fillBounds(const MeshChoice &choice, const Winner &winner, Plan &plan) {
  // The search's sum counts a redistribution once for each user, so it may exceed the program's cost; the bound is on
  // the sum.
  plan.lowerBoundSeconds = std::min(choice.lowerBoundSeconds, plan.stepSeconds);
  plan.status = searchStatusName(choice.status).str();
  double gap = winner.objectiveSeconds > 0 ? 1 - choice.lowerBoundSeconds / winner.objectiveSeconds : 0;
  plan.gap = std::max(0.0, gap);
}

void report(const PlanOptions &options, llvm::StringRef text) {
  if (options.progress)
    options.progress(text);
}

/// `--parallel data`: the baseline is the plan.
llvm::Error takeDataParallel(const PlanningTask &task, std::vector<EvaluatedBaseline> &baselines, Plan &plan) {
  for (EvaluatedBaseline &entry : baselines) {
    if (entry.baseline.name != "data parallel")
      continue;
    if (!entry.candidate || !entry.baseline.feasible)
      return noPlanError("--parallel data: {0}; --parallel auto searches for strategies that fit",
                         entry.baseline.reason);
    plan.search = entry.baseline.name;
    plan.status = searchStatusName(SearchStatus::Feasible).str();
    plan.gap = 1; // nothing is known about what other strategies could reach
    if (!entry.baseline.reason.empty())
      plan.notes.push_back(entry.baseline.reason);
    describeCandidate(task, *entry.candidate, plan);
  }
  return llvm::Error::success();
}

/// `--parallel hybrid`: an error that lists the ops to which something is left.
llvm::Error checkAllPinned(const PlanningTask &task) {
  for (const Pin &pin : task.options.pins)
    if (pin.open)
      return inputError(
          "--parallel hybrid: pin '{0}' ({1}) leaves factors to the search; without '...' the factors that "
          "it does not name are not cut",
          pin.str(), pin.source);
  Mesh mesh = logicalMeshes(Mesh::fromLevels(task.cluster.levelSizes()), task.options.maxAxes).front();
  std::map<RuleId, bool> hasChoice;
  std::vector<std::string> unpinned;
  for (auto [index, op] : llvm::enumerate(task.graph.ops)) {
    if (op.operands.empty() || op.results.empty() || task.pins.isPinned(OpId(index)))
      continue;
    auto [entry, isNew] = hasChoice.try_emplace(op.rule, false);
    if (isNew)
      entry->second = enumerateStrategies(task.graph.rules[op.rule.index()], mesh).size() > 1;
    if (entry->second)
      unpinned.push_back(llvm::formatv("'{0}' ({1})", op.name, op.operatorName).str());
  }
  if (unpinned.empty())
    return llvm::Error::success();
  constexpr size_t most = 5;
  std::string names = llvm::join(llvm::ArrayRef(unpinned).take_front(most), ", ");
  if (unpinned.size() > most)
    names += llvm::formatv(" and {0} more", unpinned.size() - most).str();
  return inputError("--parallel hybrid: every op that has a choice must be pinned, and {0} are not: {1}; pin them, or "
                    "use --parallel semi, which lets them follow",
                    unpinned.size(), names);
}

} // namespace

llvm::Error checkParallel(const PlanOptions &options) {
  llvm::StringRef mode = options.parallel;
  if (mode != "auto" && mode != "data" && mode != "semi" && mode != "hybrid")
    return inputError("--parallel {0}: accepted are 'auto', 'data', 'semi' and 'hybrid'", mode);
  if (mode == "data" && !options.pins.empty())
    return inputError(
        "--parallel data takes no pins ({0} are given): the batch decides; accepted with pins are 'auto', "
        "'semi' and 'hybrid'",
        options.pins.size());
  return llvm::Error::success();
}

llvm::StringRef searchOf(const PlanOptions &options) {
  if (options.parallel == "semi")
    return "propagation";
  return options.parallel == "auto" ? llvm::StringRef(options.search) : "dp";
}

llvm::Error chooseBest(const PlanningTask &task, Plan &plan) {
  llvm::StringRef mode = task.options.parallel;
  if (mode == "semi" && task.pins.empty())
    return inputError("--parallel semi: there are no pins to start from; give --pin or --pins, or use --parallel auto");
  if (mode == "hybrid")
    if (llvm::Error error = checkAllPinned(task))
      return error;
  report(task.options, "searching");
  llvm::Expected<MeshChoice> choice = mode == "data" ? MeshChoice() : chooseMesh(task);
  if (!choice)
    return choice.takeError();
  plan.timing.problemSeconds = choice->problemSeconds;
  plan.timing.searchSeconds = choice->searchSeconds;
  bool wasStopped = task.isStopped();
  report(task.options, "pricing the baselines");
  llvm::Expected<std::vector<EvaluatedBaseline>> baselines = evaluateBaselines(task);
  if (!baselines)
    return baselines.takeError();
  for (EvaluatedBaseline &entry : *baselines) {
    if (entry.candidate && !task.pins.allowsAll(entry.candidate->strategies, entry.candidate->mesh))
      entry.baseline.reason += entry.baseline.reason.empty() ? "is not as pinned" : "; is not as pinned";
    plan.baselines.push_back(entry.baseline);
  }
  if (mode == "data")
    return takeDataParallel(task, *baselines, plan);
  std::optional<Winner> winner = pickWinner(task, *choice, *baselines);
  if (!winner)
    return nothingFits(task, *choice, *baselines);
  plan.search = winner->search;
  llvm::append_range(plan.notes, choice->notes);
  if (wasStopped)
    plan.notes.push_back(stoppedNote.str());
  llvm::Expected<Candidate> merged = mergeAxes(task, std::move(winner->candidate));
  if (!merged)
    return merged.takeError();
  describeCandidate(task, *merged, plan);
  plan.status = searchStatusName(SearchStatus::Feasible).str();
  plan.gap = 1;
  if (mode != "hybrid") // else it was priced: nothing is known about what other strategies could reach
    fillBounds(*choice, *winner, plan);
  return llvm::Error::success();
}

} // namespace apc
