// The planner: from a model's graph and a request to a plan.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Graph/OpGraph.h"
#include "apc/Plan/ParallelDegrees.h"
#include "apc/Plan/Plan.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"

#include <memory>

namespace apc {

/// A limit of memory that is none: 1 PiB, more than any device has.
inline constexpr int64_t unlimitedBytes = int64_t(1) << 50;

/// How far searches go.
enum class PlanningEffort : uint8_t {
  FirstAnswers, ///< a good answer for each mesh of few axes, with the bound that comes with it
  EasyProofs,   ///< as `Proofs` where the memory limit does not bind the fastest first answer, else as `FirstAnswers`
  Proofs        ///< until the gap or the time limit
};
/// Do searches go on from first answers? \p isEasy: the memory limit does not bind the fastest of them.
constexpr bool goesToTheEnd(PlanningEffort effort, bool isEasy) {
  return effort == PlanningEffort::Proofs || (effort == PlanningEffort::EasyProofs && isEasy);
}

class StagePatterns;

/// Strategies of the stages of a pipeline, for the same step planned again; empty at first.
std::shared_ptr<StagePatterns> makeStagePatterns();

/// A layout, and the seconds of its step.
struct KnownStep {
  ParallelDegrees layout;
  double seconds = 0;
};

/// How a run of planning is watched and ended. Answers depend on `stop` and, where time runs out, on `clock` and
/// `begin` alone.
struct PlanningControl {
  unsigned numThreads = 1;
  const std::atomic<bool> *stop = nullptr;            ///< once true, searches come back with what they have
  std::function<void(llvm::StringRef)> report;        ///< told the phase that begins; may be empty
  std::function<void(const SearchProgress &)> search; ///< told after each step of a search; may be empty
  /// Where work is counted and time is read; null: planning has a clock of its own.
  std::shared_ptr<WorkClock> clock = nullptr;
  /// The time limit counts from this reading of `clock`; none: from the moment at which planning begins, the import
  /// being over.
  std::optional<double> begin = {};
  PlanningEffort effort = PlanningEffort::Proofs;
  /// Is it wanted to know why nothing fits? Not of one point among several: the search then has the last word.
  bool explainsShortage = true;
  /// Are the runner-ups of choices wanted? Not of a plan that others are held against.
  bool findsReasons = true;
  /// Of a step that is at hand: of a pipeline, what is expected to take longer need not be planned. Layouts that take
  /// longer, or need far more memory than there is, are costed without a search for what fits.
  std::optional<double> knownSeconds = {};
  /// The layout of that step: a pipeline tries it where it has as many workers.
  std::optional<ParallelDegrees> knownLayout = {};
  /// The fastest that is known without a pipeline.
  std::optional<KnownStep> knownAlone = {};
  std::shared_ptr<KnownOrders> orders = nullptr;     ///< that searches share; null: each finds its own
  std::shared_ptr<StagePatterns> patterns = nullptr; ///< that stages follow, and are added to; null: none are known

  PlanningControl with(PlanningEffort other) const {
    PlanningControl control = *this;
    control.effort = other;
    return control;
  }
  PlanningControl against(std::optional<double> known) const {
    PlanningControl control = *this;
    control.knownSeconds = known;
    return control;
  }
  PlanningControl beginningWith(std::optional<ParallelDegrees> layout, std::optional<double> seconds) const {
    PlanningControl control = against(seconds);
    control.knownLayout = std::move(layout);
    return control;
  }
  PlanningControl following(std::shared_ptr<StagePatterns> known) const {
    PlanningControl control = *this;
    control.patterns = std::move(known);
    return control;
  }
  /// With a clock that ends after so many seconds of wall-clock time, where there is none yet.
  PlanningControl within(double limitSeconds) const {
    PlanningControl control = *this;
    if (!clock)
      control.clock = std::make_shared<WorkClock>(limitSeconds);
    return control;
  }
  PlanningControl withoutReasons() const {
    PlanningControl control = *this;
    control.findsReasons = false;
    return control;
  }
  PlanningControl withoutExplanation() const {
    PlanningControl control = *this;
    control.explainsShortage = false;
    return control;
  }
};

/// No plan, for parameters and states alone are more than the devices hold together: other micro-batches and other
/// recomputation do not help.
class TooMuchHeld : public llvm::ErrorInfo<TooMuchHeld, PlannerError> {
public:
  static char ID;
  using ErrorInfo::ErrorInfo;
};

/// The hardware and the search that a request names, read and checked.
struct PlanningTarget {
  Search search;
  Cluster cluster; ///< cut to the devices of the request
  /// The same pool with fewer devices that fill the groups they come in, where not all of them do.
  std::vector<Pool> fewer;
  std::string idleNote;         ///< about devices of `cluster` that stay idle; empty for none
  int64_t memoryLimitBytes = 0; ///< of one device
  std::vector<std::string> notes;
};

/// Errors (input): a mode or search that does not exist or does not go with the rest, a cluster that cannot be read, a
/// number of devices that it does not have.
llvm::Expected<PlanningTarget> readTarget(const PlanRequest &request);

/// Pins that a model brings along, and remarks on them.
struct ModelPins {
  std::vector<Pin> pins;
  std::vector<std::string> notes;
};

/// The numbers of workers, from 1 on, among which `pool` can be divided into equal groups of neighbours.
std::vector<int64_t> pipelineWorkers(const Pool &pool);

/// Searches every logical mesh, costs the references, and says why. Where the devices do not fill the groups they come
/// in and nothing is pinned, also on fewer devices that do; the fastest is the plan. A plan is never slower than a
/// feasible reference. Errors: pins that cannot be bound (input); NoPlan when nothing fits the memory.
llvm::Expected<Plan> planGraph(const OpGraph &graph, const PlanRequest &request, const PlanningTarget &target,
                               const ModelPins &modelPins, const PlanningControl &control);

/// The plan of a layout that an expert names: mesh, strategies, cost, memory and reasons, as `planGraph` gives them for
/// a search's answer; its `search` is "layout dp=8,tp=8". Memory may exceed the limit: the caller says so.
///
/// Decided by the layout: the batch of every op that has one is cut over dp; weights of contractions and tables of
/// embeddings are cut over tp along one of their dims. The rest of tp (columns or rows, heads, the shards of
/// activations between) is found by an exact search, the cheapest among strategies that give all of tp to one factor or
/// to none: Megatron's pairs of column and row cuts come out of it (Shoeybi et al., "Megatron-LM", 2019, section 3).
/// Likewise cp cuts sequences and ep experts. With pp > 1 each worker's stages are carried out so, on the worker's
/// devices, and the layout's schedule is simulated.
///
/// Errors (input): degrees that do not divide the devices, or with a pipeline do not multiply to them; a batch that is
/// smaller than dp; sequences or experts that the model does not have; places to cut, or a schedule, that there are
/// not.
llvm::Expected<Plan> evaluateLayout(const OpGraph &graph, const PlanRequest &request, const PlanningTarget &target,
                                    const ParallelDegrees &layout, const PlanningControl &control);

} // namespace apc
