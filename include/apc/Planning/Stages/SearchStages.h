// The exact search of stages.
#pragma once

#include "apc/Planning/Stages/StageProblem.h"
#include "apc/Search/Algorithms.h"

namespace apc {

/// {2, 4, {3, 1, 2, 2}}: the third schedule of the space on four workers with three layers first.
struct StageChoice {
  size_t schedule = 0; ///< in `StageSpace::schedules`
  uint32_t workers = 0;
  std::vector<uint32_t> stageSizes;
  std::vector<uint32_t> widths; ///< by worker
  std::vector<bool> recompute;  ///< by stage

  friend bool operator==(const StageChoice &, const StageChoice &) = default;
};

struct StageResult {
  SearchStatus status = SearchStatus::Unknown;
  StageChoice choice; ///< where there is an answer
  double seconds = 0;
  /// No candidate is faster: the least bound of all that were discarded, whatever the schedule.
  double lowerBoundSeconds = 0;
  std::vector<double> finishSeconds; ///< by worker
  std::vector<int64_t> memoryBytes;  ///< by worker
  std::string reason;                ///< without an answer
  std::vector<std::string> notes;
  uint64_t numSimulated = 0;

  bool hasAnswer() const { return status == SearchStatus::Optimal || status == SearchStatus::Feasible; }
};

/// The fastest candidate that fits. Among equals the first by schedule, workers, sizes (lexicographic), widths in the
/// order of the space, and recomputation (none first). Branch and bound: for each schedule and number of workers, stage
/// after stage gets its size, then each worker its width, then each stage its recomputation; partial candidates are
/// discarded by bounds of time and memory, whole ones simulated; where workers have one stage each, a stage recomputes
/// if its memory asks for it. Of `options` the gap, the time limit and `stop` count; a search that they end has the
/// status `Feasible`, or `Unknown`, with its bound. An input error as `StageProblem::check`.
llvm::Expected<StageResult> searchStages(const StageProblem &problem, const SearchOptions &options);

} // namespace apc
