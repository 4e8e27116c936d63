// The question that all of planning answers, and the form of an answer: strategies on a mesh, with their cost.
#pragma once

#include "Fusion.h"
#include "Pins/PinnedOps.h"

#include "apc/Cost/GraphCost.h"
#include "apc/Planning/BuildProblem.h"
#include "apc/Planning/PlanRank.h"
#include "apc/Planning/Planning.h"
#include "apc/Schedule/ScheduleStep.h"

namespace apc {

/// One graph to be planned on one pool. A value; graph and request outlive it.
struct PlanningTask {
  const OpGraph &graph;
  const PlanRequest &request;
  Pool pool;
  int64_t memoryLimitBytes = 0;
  Search search;
  PinnedOps pins;                                 ///< bound to `graph` and `pool`
  PlanningControl control;                        ///< with a clock
  std::optional<double> knownSeconds = {};        ///< an answer that is not faster is of no use
  double begin = control.clock->seconds();        ///< the time limit counts from here
  Fusion fusion = {};                             ///< values of `graph` that may be exchanged together
  std::vector<std::optional<Strategy>> kept = {}; ///< by op: the only one that searches offer; empty: every op has all

  /// May a search give `op` a strategy on `mesh`?
  bool offers(OpId op, const Strategy &strategy, const Mesh &mesh) const {
    bool isKept = kept.empty() || !kept[op.index()] || *kept[op.index()] == strategy;
    return isKept && pins.allows(op, strategy, mesh);
  }

  /// Parts of planning, in the order in which the time limit ends them, for this task and all that was made from it: a
  /// share of the time is kept for the references, and another for the reasons.
  enum class Part : uint8_t { Search, References, Reasons };

  /// True once the user has asked to stop: searches then come back with what they have.
  bool isStopped() const { return control.stop && control.stop->load(); }
  bool isOutOfTime(Part part) const { return secondsLeft(part) <= 0; }
  double end(Part part) const; ///< a reading of the clock
  double secondsLeft(Part part) const { return end(part) - control.clock->seconds(); }
  void spend(double nanoseconds) const { control.clock->spend(nanoseconds); } ///< counts work
  /// The end of a search that was not done: "the time limit of 60 s was over", or "the search was stopped".
  std::string endText() const;
  void report(llvm::StringRef phase) const;
  /// Of the searches of one mesh or, until a later moment, of the small searches for references.
  SearchOptions searchOptions(Part part = Part::Search) const;
};

/// Errors: those of `PinnedOps::bind`.
llvm::Expected<PlanningTask> makeTask(const OpGraph &graph, const PlanRequest &request, const PlanningTarget &target,
                                      std::vector<Pin> pins, const PlanningControl &control);
/// The same task on another pool, to which its pins are bound again.
llvm::Expected<PlanningTask> onPool(const PlanningTask &task, Pool pool, int64_t memoryLimitBytes);

/// The most axes of the meshes that are searched first, unless pins need more.
unsigned firstAxes(const PlanRequest &request);
/// The most axes of the meshes that may be searched, unless pins need more: see `Meshes/Refinement.h`.
unsigned mostAxes(const PlanRequest &request);

/// The problem of a task on one mesh: strategies that pins exclude are not offered, and pinned nodes carry their pins'
/// text.
PlanningProblem problemOf(const PlanningTask &task, const Mesh &mesh, std::optional<Moment> moment = {});
/// The same; none as soon as \p isOver says so, which is asked again and again.
std::optional<PlanningProblem> problemUntil(llvm::function_ref<bool()> isOver, const PlanningTask &task,
                                            const Mesh &mesh, std::optional<Moment> moment = {});
/// The same from \p base, the problem at another moment.
PlanningProblem problemAt(const PlanningTask &task, const Mesh &mesh, const PlanningProblem &base,
                          std::optional<Moment> moment);

/// A way to run the graph: a strategy for each op on a mesh, with the cost of the program.
struct Candidate {
  Mesh mesh;
  std::vector<Strategy> strategies;
  GraphCost cost;
  StepTime time = {};
  std::vector<ValueHub> hubs = {}; ///< that the cost was taken with, beside those that `costOfGraph` thinks of

  double seconds() const { return time.seconds; }
};

/// The rank of a candidate among the plans of the task. Its devices are those that do something of their own.
PlanRank rankOf(const PlanningTask &task, const Candidate &candidate);

/// The pairs of strategies in the tables of a problem.
double numPairs(const Problem &problem);
/// The nanoseconds that it takes, about, to build a problem, and to cost a program of a graph.
double buildingWork(const PlanningProblem &planning);
double costingWork(const OpGraph &graph);

/// Errors (internal): an illegal strategy. \p hubs: those of a search, which may be better than the ones that
/// `costOfGraph` thinks of. Where the program does not fit the memory, buckets are smaller, or there are none.
llvm::Expected<Candidate> costCandidate(const PlanningTask &task, const Mesh &mesh, std::vector<Strategy> strategies,
                                        llvm::ArrayRef<ValueHub> hubs = {});
/// The candidate that an answer to `planning`, a problem of the task on `mesh`, stands for.
llvm::Expected<Candidate> costAnswer(const PlanningTask &task, const Mesh &mesh, const PlanningProblem &planning,
                                     const Assignment &answer);

/// The same program on a mesh whose neighbouring axes of one level are one axis where every strategy uses them together
/// or not at all; the candidate itself where that would cost more.
llvm::Expected<Candidate> mergeAxes(const PlanningTask &task, Candidate candidate);

} // namespace apc
