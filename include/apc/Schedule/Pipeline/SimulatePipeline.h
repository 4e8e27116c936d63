// The time and the memory of a step whose workers run lists of actions.
#pragma once

#include "apc/Schedule/Pipeline/Actions.h"

namespace apc {

/// The work of one stage for one micro-batch (or one piece of it), and what it does once in a step. All of one device.
struct StageWork {
  double forwardSeconds = 0;
  double inputGradientSeconds = 0;     ///< I
  double weightGradientSeconds = 0;    ///< W; B takes both
  double firstForwardExtraSeconds = 0; ///< more for micro-batch 0
  double lastBackwardExtraSeconds = 0; ///< more for B, or W, of the last micro-batch
  double gradientSyncSeconds = 0;      ///< reduction of gradients over data-parallel ranks
  double optimizerSeconds = 0;
  int64_t activationBytes = 0;       ///< from F on; B frees all, I all but the next
  int64_t weightActivationBytes = 0; ///< kept from I until W
  int64_t inputBytes = 0;            ///< of `activationBytes`, the part that stays where the rest is recomputed
  int64_t staticBytes = 0;           ///< parameters, gradients, optimizer states
  bool isRecomputed = false;         ///< I or B runs the forward pass again

  friend bool operator==(const StageWork &, const StageWork &) = default;
};

/// A tensor that each micro-batch brings from stage to stage, and whose gradient comes back in the same time.
struct StageMessage {
  uint32_t from = 0, to = 0;
  double seconds = 0; ///< 0 where both stages are one worker's, whatever stands here
};

/// `Latency`: a message arrives so many seconds after its action's end, any number at once. `Link`: each ordered pair
/// of workers is a link of its own that carries one message at a time, in the order of the sender's actions, while the
/// sender computes. `Sender`: the sender sends one message after another before its next action.
enum class LinkMode : uint8_t { Latency, Link, Sender };

/// A parameter that two stages share: when both workers have finished, both are busy for `seconds`.
struct TiedStages {
  uint32_t first = 0, second = 0;
  double seconds = 0;
};

/// The end of a step, behind the lists: gradients are reduced, shared ones are summed, optimizers run.
struct PipelineTail {
  bool overlapsSync = false; ///< a stage's reduction runs beside the actions behind its last B or W
  std::optional<TiedStages> tied = std::nullopt;
  bool hasBarrier = false; ///< no optimizer begins before all workers have got so far
  /// Sums over micro-batches that a stage hands on when its worker has finished, while the worker goes on. Those
  /// between two workers go one after the other; no optimizer of the receiving worker begins before them.
  std::vector<StageMessage> sums = {};
};

/// Everything that lists of actions are simulated with.
struct PipelineWork {
  std::vector<StageWork> stages;
  /// An action's messages are sent in this order.
  std::vector<StageMessage> messages;
  LinkMode linkMode = LinkMode::Latency;
  /// An overlapped pair takes its longer action, and this share of the shorter one. 1: nothing is hidden.
  double pairShare = 1;
  std::optional<PipelineTail> tail = std::nullopt;
};

/// One message from each stage to the next one that it feeds, `seconds` each.
std::vector<StageMessage> chainMessages(const PipelineShape &shape, double seconds);

/// The step of one worker.
struct WorkerTime {
  double startSeconds = 0;
  double finishSeconds = 0; ///< with the worker's part of the tail
  double idleSeconds = 0;   ///< between both, where the worker neither computes nor sends by itself
  int64_t peakBytes = 0;    ///< static bytes and the most that its list keeps

  friend bool operator==(const WorkerTime &, const WorkerTime &) = default;
};

/// {120, 108}: all is over after 120 s; no worker is at work for longer than 108 s.
struct PipelineTime {
  double stepSeconds = 0; ///< from the first start to the last end
  double spanSeconds = 0; ///< the longest time from a worker's first start to its own last end
  std::vector<WorkerTime> workers;
};

/// How often a path through a step meets the figures of one stage; an overlapped pair counts its shorter action by
/// `PipelineWork::pairShare`.
struct StageCounts {
  double forward = 0;
  double inputGradient = 0; ///< of I and B; where the stage recomputes, each has its `forwardSeconds` in it
  double weightGradient = 0;
  double firstForwardExtra = 0, lastBackwardExtra = 0;
  double gradientSync = 0, optimizer = 0;

  double secondsOf(const StageWork &work) const;
};

/// A longest path of a step. The step of the same lists with any other figures is no shorter than the same path then.
struct PipelinePath {
  std::vector<StageCounts> stages;
  std::vector<double> messages; ///< by index in `PipelineWork::messages`
  std::vector<double> sums;     ///< by index in `PipelineTail::sums`
  double tied = 0;

  /// The length of the path with these figures.
  double secondsOf(const PipelineWork &work) const;
};

/// The activations of one stage while one of its actions runs: of so many micro-batches (or pieces) between F and the
/// end of I or B, with the running action's own; of so many more between I and W.
struct LiveCounts {
  uint32_t whole = 0, kept = 0;
  bool isBackward = false; ///< the action is I or B

  /// The bytes of the stage, without its static ones.
  int64_t bytesOf(const StageWork &stage) const;
};

/// The units (micro-batches, or pieces of them) of a stage at one time: those that wait, and what the one does that
/// runs.
struct HeldUnits {
  enum class Running : uint8_t {
    Nothing,
    Pass,    ///< F, I or B
    Weights, ///< W, or that part of a B
    Done     ///< nothing, and all units of the stage have ended
  };
  uint32_t atBackward = 0; ///< wait for their I or B
  uint32_t atWeights = 0;  ///< wait for their W
  Running running = Running::Nothing;

  bool isRunning() const { return running == Running::Pass || running == Running::Weights; }
  uint32_t count() const { return atBackward + atWeights + (isRunning() ? 1 : 0); }
  friend auto operator<=>(const HeldUnits &, const HeldUnits &) = default;
};

/// Runs lists again and again with other work. Each worker does one action at a time in the order of its list, as soon
/// as it is free and the inputs of the action are there: an F waits for the tensors of all stages that feed its own, an
/// I or B for the gradients of all stages that it feeds. Receivers are never waited for. Whole numbers give whole
/// numbers without rounding. O(actions + messages).
class PipelineSimulator {
public:
  /// An input error for lists that `checkActionLists` refuses.
  static llvm::Expected<PipelineSimulator> make(const ActionLists &lists);

  const PipelineShape &getShape() const { return shape; }

  /// `work` has the lists' stages. An input error where workers wait for each other: it names their next actions.
  llvm::Expected<PipelineTime> run(const PipelineWork &work) const;

  /// A longest path of the same run.
  llvm::Expected<PipelinePath> longestPath(const PipelineWork &work) const;

  /// Of one worker, as in `WorkerTime`; only its own stages are read.
  int64_t peakBytes(uint32_t worker, llvm::ArrayRef<StageWork> stages) const;

  /// Units that the stages of a worker hold at one time, by chunk, for each time at which no other holds as many of
  /// each while the same runs. Of a B, gradients of weights are a time of their own where some stages split them off.
  /// Empty for a worker without actions.
  std::vector<std::vector<HeldUnits>> heldTogether(uint32_t worker) const;

  /// Counts of one stage, among them those with the most bytes, whatever the stage's figures.
  std::vector<LiveCounts> liveCounts(uint32_t stage) const;

private:
  /// An action with its micro-batch and piece as one index.
  struct Work {
    ActionKind kind;
    uint32_t stage, unit;
  };
  struct Step {
    Work work, beside;
    bool isPair;
  };
  template <typename Clock>
  struct Run;
  template <typename Clock>
  llvm::Error deadlock(const Run<Clock> &run) const;

  explicit PipelineSimulator(const ActionLists &lists);

  PipelineShape shape;
  uint32_t numUnits; ///< micro-batches times pieces
  std::vector<uint32_t> workerOfStage;
  std::vector<size_t> firstStep; ///< by worker, then the number of all steps
  std::vector<Step> steps;
  std::vector<std::vector<uint32_t>> syncOrder; ///< by worker: its stages in the order of their last B or W
};

/// One run.
llvm::Expected<PipelineTime> simulatePipeline(const ActionLists &lists, const PipelineWork &work);

} // namespace apc
