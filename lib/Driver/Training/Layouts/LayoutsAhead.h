// Layouts that are probably asked for next, costed beside the one that is asked for.
#pragma once

#include "apc/Planning/ExpertLayouts.h"
#include "apc/Planning/Planning.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace apc {

/// A layout to be costed, with all that the answer depends on.
struct LayoutQuestion {
  ParallelDegrees layout;
  std::optional<double> knownSeconds; ///< as for `TryLayout`
  double limitSeconds = 0;            ///< of the work for it

  bool operator==(const LayoutQuestion &other) const = default;
};

/// The figures of a layout, or why it cannot be.
struct LayoutAnswer {
  std::optional<LayoutFigures> figures = {};
  Fault fault = Fault::Internal;
  std::string message = {};
};

struct AnswerLayout {
  /// Costs a layout and counts the work on a clock, but not the building of its step; called from several threads.
  llvm::function_ref<LayoutAnswer(const LayoutQuestion &, const std::shared_ptr<WorkClock> &)> answer;
  /// Counts the building of the step of a layout that has figures.
  llvm::function_ref<void(const ParallelDegrees &, WorkClock &)> countStep;
};

/// Answers the questions of `tryExpertLayouts` in turn. Beside each others are answered where there are threads for
/// them: those that come next where this layout turns out to be of no use, which is so of most. One that takes long
/// goes on beside the questions that follow. So all takes about `share` of the time that its work takes, and as much is
/// counted. Answers and counts are the same with one thread.
class LayoutsAhead {
public:
  /// All as for `tryExpertLayouts`; they outlive this.
  LayoutsAhead(const Pool &pool, const StepSizes &step, MayTryLayout mayTry, AnswerLayout answer,
               const PlanningControl &control)
      : pool(pool), step(step), mayTry(mayTry), answer(answer), control(control) {}

  static constexpr double share = 0.6;

  LayoutAnswer answerOf(const LayoutQuestion &question);

private:
  /// A question whose answer has begun, in this thread or in one of its own, which ends before it does.
  struct Costed {
    LayoutQuestion question;
    std::shared_ptr<WorkClock> clock;
    LayoutAnswer answer = {};
    double begin = clock->seconds(); ///< a reading of the clock
    bool isDone = false;             ///< read and written with `mutex`
    std::thread thread = {};

    ~Costed() {
      if (thread.joinable())
        thread.join();
    }
  };
  /// The next question that has not begun where the layout of this one, and those in between, are of no use; none
  /// beside the first one, which tells whether the model has a step at all.
  std::optional<LayoutQuestion> nextAfter(const LayoutQuestion &question) const;
  /// The place of a question in `begun`, or the end.
  size_t indexOf(const LayoutQuestion &question) const;
  void start(const LayoutQuestion &question);
  /// How many are being answered; asked with `mutex`.
  size_t numRunning() const;
  /// Waits for the answer of a question, and starts those that may come next while there are threads for them.
  void await(const Costed &own);
  /// A question that was answered ahead or is answered now.
  std::unique_ptr<Costed> take(const LayoutQuestion &question);

  const Pool &pool;
  const StepSizes &step;
  MayTryLayout mayTry;
  AnswerLayout answer;
  const PlanningControl &control;
  std::vector<std::optional<LayoutFigures>> answered; ///< by question that was asked
  std::mutex mutex;
  std::condition_variable isAnswered;
  std::vector<std::unique_ptr<Costed>> begun; ///< questions that were not asked yet, and the one that is
};

} // namespace apc
