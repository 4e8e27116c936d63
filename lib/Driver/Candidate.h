// What the Driver's files share: the ways to run a graph that are weighed against each other.
#pragma once

#include "PinnedOps.h"

#include "apc/Driver/PlanModel.h"
#include "apc/Transforms/BuildProblem.h"

namespace apc {

/// A way to run the graph: strategies on a mesh, with the price of the program.
struct Candidate {
  Mesh mesh;
  std::vector<Strategy> strategies;
  ProgramPrice price;
};

/// What is being planned.
struct PlanningTask {
  const OpGraph &graph;
  const Cluster &cluster; ///< cut to the devices asked for
  int64_t memoryLimitBytes = 0;
  const Search &search;
  const PlanOptions &options;
  const PinnedOps &pins;
  /// Where the devices do not fill the groups that they come in: the same cluster with fewer that do.
  llvm::ArrayRef<Cluster> fewer = {};
  llvm::StringRef idleNote = {}; ///< what the plan says of the devices of `cluster` that stay idle

  /// True once the user has asked to stop: searches then come back with what they have.
  bool isStopped() const { return options.searchOptions.stop && options.searchOptions.stop->load(); }
};

/// The problem of a task on one mesh: what pins do not leave is not offered, and pinned nodes carry their pins' text.
PlanningProblem problemOf(const PlanningTask &task, const Mesh &mesh);

/// The best candidate over all logical meshes, with the bound over all of them.
struct MeshChoice {
  std::optional<Candidate> best;
  SearchStatus status = SearchStatus::Unknown;
  double objectiveSeconds = 0;                  ///< the search's sum for `best`
  double lowerBoundSeconds = 0;                 ///< no strategy on any mesh has a smaller sum
  std::string reason;                           ///< why nothing is feasible
  std::vector<std::string> notes;               ///< of the search that found `best`, and what ended searches
  double problemSeconds = 0, searchSeconds = 0; ///< by the clock, all meshes together
};
llvm::Expected<MeshChoice> chooseMesh(const PlanningTask &task);

/// The candidate that a search's answer on one problem stands for.
llvm::Expected<Candidate> price(const PlanningTask &task, const Mesh &mesh, std::vector<Strategy> strategies);

/// The same program on a mesh whose neighbouring axes of one level are one axis where every strategy uses them together
/// or not at all; the candidate itself where that would cost more.
llvm::Expected<Candidate> mergeAxes(const PlanningTask &task, Candidate candidate);

/// For every op the factor that the batch runs through (dim 0 of the graph's inputs, followed along factors), if it has
/// one.
std::vector<std::optional<FactorId>> batchFactors(const OpGraph &graph);

/// The extent of the batch: the smallest batch factor of the graph's inputs; 1 without any.
int64_t batchSize(const OpGraph &graph);

/// A layout carried out, with what there is to say about it.
struct PricedLayout {
  Candidate candidate;
  std::string remark; ///< devices it leaves idle, parts of ZeRO that only training has
};
llvm::Expected<PricedLayout> priceLayout(const PlanningTask &task, const Layout &layout);

/// A baseline with the candidate behind it, when there is one.
struct EvaluatedBaseline {
  Baseline baseline;
  std::optional<Candidate> candidate;
};
/// Single device, pure data parallelism, best one-axis tensor parallelism, an expert's dp and tp, and the layouts that
/// the user names.
llvm::Expected<std::vector<EvaluatedBaseline>> evaluateBaselines(const PlanningTask &task);

/// Fills choices, shardings, moves, mesh and prices of `plan`; returns the mesh with its axes named by what they carry.
Mesh describeProgram(const OpGraph &graph, const Cluster &cluster, const Candidate &candidate, Plan &plan);

/// The same, with the reasons: runner-ups and what was not offered.
void describeCandidate(const PlanningTask &task, const Candidate &candidate, Plan &plan);

/// What nothing fits means: an irreducible set of causes, what would help, and what each baseline lacks.
llvm::Error nothingFits(const PlanningTask &task, const MeshChoice &choice,
                        llvm::ArrayRef<EvaluatedBaseline> baselines);

/// An input error when `options.parallel` is no mode, or does not go with the pins or the search that are given.
llvm::Error checkParallel(const PlanOptions &options);
/// The search that a mode runs.
llvm::StringRef searchOf(const PlanOptions &options);
/// Searches as far as the mode leaves something to find, weighs against the baselines and describes what wins.
llvm::Error chooseBest(const PlanningTask &task, Plan &plan);

/// What is done once the task is known: fills the rest of the plan.
using Decide = llvm::function_ref<llvm::Error(const PlanningTask &, Plan &)>;

/// `decide` for the same task on another cluster, to which its pins are bound again.
llvm::Error decideOn(const PlanningTask &task, const Cluster &cluster, Plan &plan, Decide decide);

/// `chooseBest` on the devices of the task or, where they do not fill their groups and nothing is pinned, on fewer that
/// do when that is faster; a note says what the other would take. Returns the cluster of the plan.
llvm::Expected<const Cluster *> chooseDevices(const PlanningTask &task, Plan &plan);

/// Imports, builds the graph, reads the cluster and hands both to `decide`.
llvm::Expected<Plan> planWith(const PlanOptions &options, Decide decide);

/// Fills `plan.sensitivity`: decides again with links, memory bandwidth, memory and compute 20 % down and up.
void measureSensitivity(const PlanningTask &task, Plan &plan, Decide decide);

} // namespace apc
