// The meshes of a task with their problems, and the answers that searches of them found.
#pragma once

#include "MeshSearch.h"

namespace apc {

/// A mesh with its problem, and the answers of its searches.
struct SearchedMesh {
  Mesh mesh;
  std::shared_ptr<const PlanningProblem> planning; ///< null where the time was over before it was built
  double lowerBoundSeconds = 0;                    ///< of every program on the mesh
  double unlimitedBoundSeconds = 0;                ///< the same, whatever bytes the program takes
  bool isInfeasible = false;
  std::vector<MeshAnswer> answers = {}; ///< one for each weighting of seconds
};

/// Seconds that no program on the mesh takes less than, without a search.
double leastSecondsOf(const PlanningTask &task, const PlanningProblem &planning, const Mesh &mesh);

/// A problem for each mesh; after the time limit of the task for the first meshes only, at least for one.
std::vector<SearchedMesh> buildProblems(const PlanningTask &task, llvm::ArrayRef<Mesh> meshes);

/// Searches every mesh for the least sum of all seconds. Where collectives may run beside ops, seconds are weighed so
/// that their sum bounds every program (`boundingWeights`); by mixtures of weightings where those prove more. \p others
/// were searched before: what is not faster than their answers is of no use.
void searchMeshes(const PlanningTask &task, llvm::MutableArrayRef<SearchedMesh> meshes,
                  llvm::ArrayRef<SearchedMesh> others = {});

/// Of the fastest answer; none where there is none.
std::optional<double> fastestSeconds(llvm::ArrayRef<SearchedMesh> meshes);

/// Has the memory limit taken no further search for the fastest answer?
bool isByFirstSums(llvm::ArrayRef<SearchedMesh> meshes);

/// The least bound of all meshes; none where nothing is feasible.
std::optional<double> boundOf(llvm::ArrayRef<SearchedMesh> meshes);

} // namespace apc
