// The layouts of experts of one request, costed until their time is over.
#pragma once

#include "LayoutCosting.h"

namespace apc {

class ExpertCosting {
public:
  /// \p open: the request without what layouts decide. \p mostSeconds: of all layouts together, from now on.
  ExpertCosting(const PlanRequest &request, const PlanRequest &open, const Pool &pool, EvaluateRequested evaluate,
                const PlanningControl &control, double mostSeconds, LayoutCosting &costing)
      : request(request), open(open), pool(pool), evaluate(evaluate), control(control), mostSeconds(mostSeconds),
        costing(costing), watch(*control.clock) {}

  /// Those of such a step, added to the costing. Errors: internal ones; of the first that cannot be, those of
  /// `checkStepOf`.
  llvm::Error cost(const StepSizes &sizes, MayTryLayout mayImprove);

private:
  /// None where the layout cannot be, or the time is over.
  llvm::Expected<std::optional<LayoutFigures>> figuresOf(LayoutQuestion question, LayoutsAhead &ahead);

  const PlanRequest &request, &open;
  const Pool &pool;
  EvaluateRequested evaluate;
  const PlanningControl &control;
  double mostSeconds;
  LayoutCosting &costing;
  const Stopwatch watch;
};

} // namespace apc
