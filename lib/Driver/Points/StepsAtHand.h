// Steps that the points of one request share, each imported and built once.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Graph/OpGraph.h"
#include "apc/Import/Import.h"
#include "apc/Plan/PlanRequest.h"
#include "apc/Support/WorkClock.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace apc {

/// The step of a request as a graph, and facts about its model.
struct StepAtHand {
  ImportReport report;
  OpGraph graph;
  std::vector<std::string> notes; ///< on the step
  double importSeconds = 0;
};

/// Imports the model of \p request, builds its training step where it trains, and the graph of that. Errors: those of
/// importing, of training and of graphs; names that occur twice.
llvm::Expected<StepAtHand> buildStep(const PlanRequest &request);

/// Counts on \p clock that the step of \p graph was built.
void countStep(const OpGraph &graph, WorkClock &clock);

/// Steps of one request and of the points that are tried for it: these differ in batches, copies, recomputation, and in
/// settings that no step depends on (ZeRO, workers, schedules, limits). The last few are kept.
class StepsAtHand {
public:
  using Step = std::shared_ptr<const StepAtHand>;

  /// Everything in which steps of points differ: global batch, micro-batch, copies, recomputation, and whether there
  /// are several workers.
  using Key = std::tuple<std::optional<int64_t>, std::optional<int64_t>, int64_t, std::string, bool>;
  static Key keyOf(const PlanRequest &request);

  /// `buildStep`, which is counted on \p clock, or a step that is kept.
  llvm::Expected<Step> of(const PlanRequest &request, WorkClock &clock);
  /// The same, which is not counted; may be called from several threads.
  llvm::Expected<Step> uncounted(const PlanRequest &request);

  /// The step that takes no longer, whatever the memory, than that of \p request with any of \p policies, which begin
  /// with its own, the one that keeps most. A policy that takes longer on one device of \p pool adds more than it
  /// saves, for both shrink alike where they are cut: it is `of(request)` where all do. The first request of these
  /// policies tells which ones do.
  llvm::Expected<Step> fastestOf(const PlanRequest &request, llvm::ArrayRef<RecomputeSetting> policies,
                                 const Pool &pool, WorkClock &clock, unsigned numThreads);

private:
  using Policies = std::vector<RecomputeSetting>;
  /// Those of \p policies that take less time on one device than the first of them.
  llvm::Expected<Policies> fasterOnOne(const PlanRequest &request, llvm::ArrayRef<RecomputeSetting> policies,
                                       const Pool &pool, WorkClock &clock, unsigned numThreads);

  static constexpr size_t most = 16; ///< layouts of experts go through so many again and again

  std::mutex mutex;                                         ///< of `kept`
  std::vector<std::pair<Key, Step>> kept;                   ///< the one that was asked for last at the end
  std::vector<Key> counted;                                 ///< so many that were counted last, in the same order
  std::optional<std::pair<Policies, Policies>> knownFaster; ///< policies, and those of `fasterOnOne`
};

} // namespace apc
