// The decision for one task: the fastest of searches and references, with its proof.
#pragma once

#include "Meshes/Meshes.h"
#include "References.h"

namespace apc {

/// Everything that is decided for a task. Named in words by `describePlan`.
struct Decision {
  Candidate candidate;
  std::optional<PlanningProblem> problem; ///< of the candidate's mesh; none where the time was over before it was built
  std::string search;                     ///< the origin of the candidate: "auto", "reference: data parallel"
  PlanStatus status = PlanStatus::Feasible;
  double lowerBoundSeconds = 0;
  double unlimitedBoundSeconds = 0; ///< the bound of plans that may need any memory; 0 where nothing is known
  bool isByMemory = false;          ///< the memory limit took further searches than the first
  double unsharedSeconds = 0;       ///< beside the search's sum: buckets not full
  double gap = 1;                   ///< 1 where nothing is known about what other strategies could reach
  std::vector<Reference> references = {};
  std::vector<std::string> notes = {};
  std::string reasonOfGap = {}; ///< why a gap is left, and what might close it; empty where that is not known
  double problemSeconds = 0, searchSeconds = 0;

  double seconds() const { return candidate.seconds(); }
};

/// Searches as far as the mode of the request leaves something to find, and weighs the answer against the references.
/// Errors: a mode that does not go with the pins (input); NoPlan when nothing fits.
llvm::Expected<Decision> decide(const PlanningTask &task);

/// The decision for a candidate that no search found: its problem is built, and nothing is proven of it.
Decision decisionFor(const PlanningTask &task, Candidate candidate, std::string search);

/// A decision and the task, perhaps on fewer devices, that it was taken for.
struct DevicesDecision {
  PlanningTask task;
  Decision decision;
  bool usesAll = true; ///< devices of the request
};

/// `decide` on the devices of the task or, where they do not fill their groups and nothing is pinned, on one of the
/// pools `fewer` when that is faster; a note says what the other would take. The bound is that of all of them, also of
/// those that there was no time to try. Errors: those of `decide`; internal ones on any of the pools.
llvm::Expected<DevicesDecision> decideDevices(const PlanningTask &task, llvm::ArrayRef<Pool> fewer);

/// Nothing fits: an irreducible set of causes, changes that would help, and what each reference lacks.
llvm::Error nothingFits(const PlanningTask &task, const MeshChoice &choice, llvm::ArrayRef<CostedReference> references);

} // namespace apc
