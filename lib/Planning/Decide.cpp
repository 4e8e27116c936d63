// From a task to its decision, as far as the mode of the request leaves something to choose.
#include "Decide.h"
#include "Meshes/OtherSearches.h"
#include "Shortage/EvenShare.h"

#include "apc/Planning/StorageLimit.h"
#include "apc/Search/SearchEnd.h"

#include "apc/Support/Error.h"
#include "apc/Support/SomeOf.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace apc {

namespace {

/// The winner of search and references: a plan is never worse than a feasible reference that its pins allow.
struct Winner {
  Candidate candidate;
  std::string search;
  bool isSearched = false; ///< found by the search, whose problem is at hand
};

bool keepsToStorage(const PlanningTask &task, const Candidate &candidate) {
  return StorageLimit(task.graph, zeroStage(task.request.zero)).allowsAll(candidate.strategies, candidate.cost.moves);
}

std::optional<Winner> pickWinner(const PlanningTask &task, MeshChoice &choice,
                                 std::vector<CostedReference> &references) {
  std::vector<Winner> offered;
  std::string search = task.request.parallel == ParallelMode::Hybrid ? "pins" : task.search.name.str();
  if (choice.best)
    offered.push_back({std::move(*choice.best), search, true});
  for (CostedReference &entry : references) {
    bool isOffered = entry.candidate && entry.reference.feasible && task.request.parallel == ParallelMode::Auto &&
                     task.pins.allowsAll(entry.candidate->strategies, entry.candidate->mesh) &&
                     keepsToStorage(task, *entry.candidate);
    if (isOffered)
      offered.push_back({std::move(*entry.candidate), "reference: " + entry.reference.name});
  }
  if (offered.empty())
    return std::nullopt;
  std::vector<PlanRank> ranks;
  llvm::transform(offered, std::back_inserter(ranks),
                  [&](const Winner &winner) { return rankOf(task, winner.candidate); });
  return std::move(offered[bestOf(ranks)]);
}

/// The bound of the searches. It holds for every program on the meshes that were searched: the least sum over the hubs
/// of a problem is what the program of the strategies takes (`buildProblem`), or with weights no more than what its
/// step takes (`boundingWeights`). Sums are rounded in another order. A reference may run on a mesh that was not
/// searched, so that one below the bound becomes the bound; a searched plan below it shows that the bound is false.
void fillBounds(const MeshChoice &choice, bool isSearched, Decision &decision) {
  double seconds = decision.seconds(), bound = choice.lowerBoundSeconds;
  bool isNear = std::abs(seconds - bound) <= sumRounding * seconds;
  if (isSearched && bound > seconds && !isNear) {
    decision.notes.push_back(
        llvm::formatv("a fault of apc: the search claimed a bound of {0}, which this plan is below; "
                      "no bound is given",
                      formatSeconds(bound))
            .str());
    bound = 0;
  }
  bool isProven = choice.status == SearchStatus::Optimal && isNear;
  decision.status = isProven ? PlanStatus::Optimal : PlanStatus::Feasible;
  decision.lowerBoundSeconds = isNear || bound > seconds ? seconds : bound;
  decision.unlimitedBoundSeconds = std::min(choice.unlimitedBoundSeconds, decision.lowerBoundSeconds);
  decision.gap = seconds > 0 ? 1 - decision.lowerBoundSeconds / seconds : 0;
}

/// Why a gap is left, and what goes on from here; empty where none is, and where the time or the user ended the search.
std::string reasonOfGap(const PlanningTask &task, const MeshChoice &choice, const Decision &decision) {
  bool isLeft = decision.gap > task.request.gapTolerance && task.request.parallel == ParallelMode::Auto;
  bool isAtEnd = goesToTheEnd(task.control.effort, choice.isByFirstSums);
  if (!isLeft || !isAtEnd || task.isStopped() || task.isOutOfTime(PlanningTask::Part::Search))
    return "";
  std::string note = llvm::formatv("search '{0}' has done all that it does; ", task.search.name);
  if (choice.uncountedBytes > 0)
    return note +
           llvm::formatv("programs near the memory limit need up to {0} beside the sum that it counts, and it has "
                         "kept below the limit by as much: a higher --memory-limit closes the gap",
                         formatBytes(static_cast<double>(choice.uncountedBytes)))
               .str();
  if (task.graph.overlaps)
    return "the bound lets computation hide all communication that any order of the program could hide";
  if (task.search.name == "auto")
    return note + "--search ilp may prove more, given a high --time-limit";
  return note + "--search auto goes on from there";
}

/// By op: pinned, or decided together with an op that is and that leads it.
std::vector<bool> decidedByPins(const PlanningTask &task) {
  std::vector<bool> decided(task.graph.ops.size());
  for (size_t op = 0; op < decided.size(); ++op)
    decided[op] = task.pins.isPinned(OpId(op));
  for (const TiedOps &tie : task.graph.ties)
    for (OpId op : tie)
      decided[op.index()] = decided[op.index()] || decided[tie.front().index()];
  return decided;
}

/// `--parallel hybrid`: an error that lists the ops to which something is left.
llvm::Error checkAllPinned(const PlanningTask &task) {
  for (const Pin &pin : task.request.pins)
    if (pin.open)
      return inputError(
          "--parallel hybrid: pin '{0}' ({1}) leaves factors to the search; without '...' the factors that "
          "it does not name are not cut",
          pin.str(), pin.source);
  Mesh mesh = logicalMeshes(Mesh::fromLevels(task.pool.levelSizes()), firstAxes(task.request)).front();
  std::map<RuleId, bool> hasChoice;
  std::vector<std::string> unpinned;
  const std::vector<bool> decided = decidedByPins(task);
  for (auto [index, op] : llvm::enumerate(task.graph.ops)) {
    if (op.operands.empty() || op.results.empty() || decided[index])
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
  return inputError("--parallel hybrid: every op that has a choice must be pinned, and {0} are not: {1}; pin them, or "
                    "use --parallel semi, which lets them follow",
                    unpinned.size(), someOf(unpinned, most));
}

std::vector<Reference> referencesOf(const PlanningTask &task, llvm::ArrayRef<CostedReference> costed) {
  std::vector<Reference> references;
  for (const CostedReference &entry : costed) {
    if (entry.isLate)
      continue;
    references.push_back(entry.reference);
    std::string &reason = references.back().reason;
    if (entry.candidate && !task.pins.allowsAll(entry.candidate->strategies, entry.candidate->mesh))
      reason += reason.empty() ? "is not as pinned" : "; is not as pinned";
    if (entry.candidate && !keepsToStorage(task, *entry.candidate))
      reason += reason.empty() ? "is not as --zero wants it" : "; is not as --zero wants it";
  }
  return references;
}

/// The note on references that are late; none where all are there.
std::vector<std::string> lateNotes(const PlanningTask &task, llvm::ArrayRef<CostedReference> costed) {
  std::vector<std::string> names;
  for (const CostedReference &entry : costed)
    if (entry.isLate)
      names.push_back(entry.reference.name);
  if (names.empty())
    return {};
  return {task.endText() + " before all references were costed: " + llvm::join(names, ", ") +
          (names.size() == 1 ? " is missing" : " are missing")};
}

/// `--parallel data`: the reference is the plan.
llvm::Expected<Decision> takeDataParallel(const PlanningTask &task, std::vector<CostedReference> costed) {
  std::vector<Reference> references = referencesOf(task, costed);
  auto data =
      llvm::find_if(costed, [](const CostedReference &entry) { return entry.kind == ReferenceKind::DataParallel; });
  if (!data->candidate || !data->reference.feasible)
    return noPlanError("--parallel data: {0}; --parallel auto searches for strategies that fit",
                       data->reference.reason);
  Decision decision = decisionFor(task, std::move(*data->candidate), data->reference.name);
  decision.references = std::move(references);
  if (!data->reference.reason.empty())
    decision.notes.push_back(data->reference.reason);
  return decision;
}

/// The problem that reasons are read from; none where they are not wanted, or once it is too late for them.
std::optional<PlanningProblem> problemForReasons(const PlanningTask &task, const Mesh &mesh) {
  auto isLate = [&] { return task.isStopped() || task.isOutOfTime(PlanningTask::Part::Reasons); };
  return task.control.findsReasons ? problemUntil(isLate, task, mesh) : std::nullopt;
}

/// Where no plan is at hand, references have all of the time, for they may be the plan, and say what is short; of one
/// point among several, neither is worth a search.
SearchUntil referencesUntil(const PlanningTask &task, bool hasNothing) {
  if (!hasNothing)
    return PlanningTask::Part::References;
  return task.control.explainsShortage ? SearchUntil(PlanningTask::Part::Reasons) : std::nullopt;
}

/// Beside a reference that fits, and so may be the plan, all are costed.
std::vector<CostedReference> allReferences(const PlanningTask &task, bool hasNothing) {
  const SearchUntil until = referencesUntil(task, hasNothing);
  std::vector<CostedReference> references = costReferences(task, until);
  if (!until && llvm::any_of(references, [](const CostedReference &own) { return own.reference.feasible; }))
    references = costReferences(task, PlanningTask::Part::References);
  return references;
}

llvm::Error checkPins(const PlanningTask &task) {
  if (task.request.parallel == ParallelMode::Semi && task.pins.empty())
    return inputError("--parallel semi: there are no pins to start from; give --pin or --pins, or use --parallel auto");
  if (task.request.parallel == ParallelMode::Hybrid)
    return checkAllPinned(task);
  return llvm::Error::success();
}

} // namespace

Decision decisionFor(const PlanningTask &task, Candidate candidate, std::string search) {
  std::optional<PlanningProblem> problem = problemForReasons(task, candidate.mesh);
  return {std::move(candidate), std::move(problem), std::move(search)};
}

llvm::Expected<Decision> decide(const PlanningTask &task) {
  if (llvm::Error error = checkPins(task))
    return error;
  if (task.request.mode == StepMode::Train)
    if (llvm::Error error = checkEvenShare(task))
      return error;
  bool isFixed = task.request.parallel == ParallelMode::Data;
  task.report("searching");
  llvm::Expected<MeshChoice> choice = isFixed ? MeshChoice() : chooseMesh(task);
  if (!choice)
    return choice.takeError();
  if (llvm::Error error = isFixed ? llvm::Error::success() : searchAlone(task, *choice))
    return error;
  if (llvm::Error error = isFixed ? llvm::Error::success() : searchInTurn(task, *choice))
    return error;
  bool wasStopped = task.isStopped();
  const bool hasNothing = !isFixed && !choice->best;
  task.report("costing the references");
  std::vector<CostedReference> references = allReferences(task, hasNothing);
  if (isFixed)
    return takeDataParallel(task, std::move(references));
  std::vector<Reference> described = referencesOf(task, references);
  std::optional<Winner> winner = pickWinner(task, *choice, references);
  if (!winner && !task.control.explainsShortage)
    return noPlanError("no plan was found that fits {0}: {1}", counted(task.pool.numDevices(), "device"),
                       choice->reason);
  if (!winner)
    return nothingFits(task, *choice, references);
  Mesh searched = winner->candidate.mesh;
  llvm::Expected<Candidate> merged = mergeAxes(task, std::move(winner->candidate));
  if (!merged)
    return merged.takeError();
  bool keepsProblem = winner->isSearched && merged->mesh == searched;
  std::optional<PlanningProblem> problem =
      keepsProblem ? std::move(choice->problem) : problemForReasons(task, merged->mesh);
  Decision decision{std::move(*merged), std::move(problem), winner->search};
  decision.references = std::move(described);
  decision.notes = std::move(choice->notes);
  llvm::append_range(decision.notes, lateNotes(task, references));
  if (wasStopped)
    decision.notes.push_back(stoppedNote());
  decision.problemSeconds = choice->times.problemSeconds;
  decision.searchSeconds = choice->times.searchSeconds;
  decision.isByMemory = !choice->isByFirstSums;
  decision.unsharedSeconds = winner->isSearched ? std::max(0.0, choice->unsharedSeconds) : 0;
  // Pinned plans were only costed: nothing is known about what other strategies could reach.
  if (task.request.parallel != ParallelMode::Hybrid)
    fillBounds(*choice, winner->isSearched, decision);
  decision.reasonOfGap = reasonOfGap(task, *choice, decision);
  return decision;
}

} // namespace apc
