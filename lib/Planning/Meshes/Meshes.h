// The search over all logical meshes.
#pragma once

#include "../Task.h"

namespace apc {

/// The time that searches took, all meshes together.
struct SearchTimes {
  double problemSeconds = 0, searchSeconds = 0; ///< by the wall clock
  double workSeconds = 0;                       ///< of both on the clock of the task, alike on every machine

  SearchTimes &operator+=(const SearchTimes &other) {
    problemSeconds += other.problemSeconds;
    searchSeconds += other.searchSeconds;
    workSeconds += other.workSeconds;
    return *this;
  }
};

/// The best candidate over all logical meshes, with the bound over all of them.
struct MeshChoice {
  std::optional<Candidate> best;
  PlanningProblem problem; ///< of the mesh of `best`
  Assignment answer;       ///< to `problem`, for which `best` stands
  SearchStatus status = SearchStatus::Unknown;
  double lowerBoundSeconds = 0;      ///< no program on any mesh is faster; 0 where none fits
  double unlimitedBoundSeconds = 0;  ///< nor would one be that needs more memory
  std::optional<int64_t> leastBytes; ///< of a device, where no program that was costed fits: of the nearest
  int64_t uncountedBytes = 0;        ///< that programs near the limit of memory needed beside the search's sum
  bool isByFirstSums = false;        ///< the limit of memory took no further search
  double unsharedSeconds = 0;        ///< that the program of `best` takes beside the search's sum: buckets not full
  std::string reason;                ///< why nothing is feasible
  std::vector<std::string> notes;    ///< of the search that found `best`, and of what ended searches
  SearchTimes times;
};

/// Seconds that no program of \p graph takes less than on a pool, for its contractions or for the launches of its host.
/// It takes no search and no mesh.
double leastSecondsOn(const OpGraph &graph, const Pool &pool);

/// Seconds that no program of the task takes less than, without a search: every op under its fastest strategy. Errors:
/// pins that no mesh meets.
llvm::Expected<double> leastSeconds(const PlanningTask &task);

/// Errors: pins that no mesh meets (input); those of the search.
llvm::Expected<MeshChoice> chooseMesh(const PlanningTask &task);
/// The same on some meshes alone, which must suit the pins.
llvm::Expected<MeshChoice> chooseOn(const PlanningTask &task, llvm::ArrayRef<Mesh> meshes);

} // namespace apc
