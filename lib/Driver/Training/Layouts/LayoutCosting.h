// Layouts of one request, costed one after the other.
#pragma once

#include "LayoutReferences.h"
#include "LayoutsAhead.h"

namespace apc {

/// Of layouts, their figures alone are found out; the plan is made of the fastest, at the end.
class LayoutCosting {
public:
  /// \p open: the request without what layouts decide. \p refusal: `refusalOfAll`.
  LayoutCosting(const PlanRequest &request, PlanRequest open, EvaluateRequested evaluate, std::string refusal)
      : request(request), open(std::move(open)), evaluate(evaluate) {
    known.refusal = std::move(refusal);
  }

  /// The answer to a question, with the work counted on a clock; called from several threads.
  LayoutAnswer answer(const LayoutQuestion &question, const std::shared_ptr<WorkClock> &clock) const;
  /// The figures in the answer about a layout; none where the layout cannot be. Errors: internal ones; of the
  /// first that cannot be, those of `checkStepOf`.
  llvm::Expected<std::optional<LayoutFigures>> take(const ParallelDegrees &layout, const LayoutAnswer &answer);
  /// ": best 17.6 s", of the layouts so far that fit and that the request allows; empty where none does.
  std::string bestText() const;
  /// A layout among the references, once.
  void add(const EvaluatedLayout &evaluated);
  /// A layout that the request names, costed in so many seconds; among the references even where it cannot be. Errors:
  /// internal ones.
  llvm::Error addNamed(const ParallelDegrees &layout, double seconds, const std::shared_ptr<WorkClock> &clock);
  /// Those of the step that layouts are for, which are told with them.
  void setSizes(const StepSizes &sizes) { known.sizes = sizes; }
  /// Layouts of a step that cannot be built are none, and no error: whoever plans it says why.
  void leaveStepUnchecked() { hasCheckedStep = true; }
  /// The fastest of those that were added that fits and that the request allows.
  const std::optional<EvaluatedLayout> &fastest() const { return best; }
  /// Not all layouts were costed, for such a share of the time limit was over.
  void cutShort(double share) { known.shareOver = share; }
  /// Does a layout without a pipeline fit that recomputes nothing?
  bool fitsWhole() const { return hasFittingWhole; }
  /// All that were added, with the plan of the fastest that fits and that the request allows, made in so many seconds.
  /// Errors: internal ones.
  llvm::Expected<LayoutReferences> take(double seconds);

private:
  const PlanRequest &request;
  PlanRequest open;
  EvaluateRequested evaluate;
  LayoutReferences known;
  bool hasCheckedStep = false, hasFittingWhole = false;
  std::optional<double> leastSeconds;
  std::optional<EvaluatedLayout> best;
};

} // namespace apc
