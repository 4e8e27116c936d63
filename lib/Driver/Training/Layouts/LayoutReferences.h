// Layouts beside the plan of a training step.
#pragma once

#include "../OwnBatch.h"

#include "apc/Planning/ExpertLayouts.h"
#include "apc/Planning/Planning.h"

namespace apc {

/// The figures of a layout of a request. \p knownSeconds: as for `TryLayout`. The work is counted on \p clock, but not
/// that of building the step. Called from several threads.
using FiguresOfRequested = llvm::function_ref<llvm::Expected<LayoutFigures>(
    const PlanRequest &, const ParallelDegrees &, std::optional<double> knownSeconds,
    const std::shared_ptr<WorkClock> &clock)>;
/// Counts the building of its step where it was not counted lately.
using CountStepOfRequested = llvm::function_ref<void(const PlanRequest &, const ParallelDegrees &, WorkClock &)>;
/// Its plan, which takes twice as long; with reasons, longer still.
using PlanOfRequested = llvm::function_ref<llvm::Expected<Plan>(const PlanRequest &, const ParallelDegrees &)>;
struct EvaluateRequested {
  FiguresOfRequested figures;
  CountStepOfRequested countStep;
  PlanOfRequested plan;
  PlanOfRequested withReasons;
};

/// Layouts as references, and the fastest of those that fit and that the request allows, without reasons.
struct LayoutReferences {
  std::vector<Reference> references;
  std::optional<Plan> best;
  std::optional<ParallelDegrees> layoutOfBest;
  std::optional<KnownStep> alone;           ///< the fastest of them that have no pipeline
  std::optional<PlanRequest> requestOfBest; ///< that it was planned for
  std::string refusal;                      ///< why none of them may be the plan; empty where they may
  std::optional<double> shareOver;          ///< of the time limit, which was over before all were tried
  std::optional<StepSizes> sizes;           ///< of the step that they are for
};

/// Does a layout ask for a graph of its own: a pipeline, a micro-batch or a policy that the step beside it lacks?
bool needsOwnGraph(const ParallelDegrees &layout);

/// An error about what a layout sets, which the request has as flags would set it, in the words of the layout:
/// "copies=3 in --layout dp=1,tp=1,copies=3: .." instead of "--copies 3: ..". Others keep their texts.
llvm::Error inWordsOf(const ParallelDegrees &layout, llvm::Error error);

/// The step that layouts are chosen for.
struct StepOfLayouts {
  StepSizes sizes;
  bool hasPins = false; ///< shardings of the model pin ops of a plan on these devices
};

/// The batch, the experts and the shardings of the model. Errors: those of the importer; a model without a batch.
llvm::Expected<StepOfLayouts> stepOfLayouts(const PlanRequest &request, int64_t devices);

/// Why the model gives no training step, whatever the layout: no loss, nothing to train, an op without a gradient.
/// Errors: those of `buildStep`.
llvm::Error checkStepOf(const PlanRequest &request);

/// The numbers of layouts of experts: those that the request fixes, or any, which tells what else would fit.
enum class ExpertNumbers { Asked, Any };

/// Costs the layouts of experts, as many as the time for them allows: those that the request allows, then, where it
/// fixes more than the workers, the usual ones, which tell what that costs; and behind them those that it names and
/// that need a graph of their own. The time of all goes by \p begun, made when planning began; where little is left of
/// the request's, each named layout has a quarter of it and the plan of the fastest a half. Of experts none where the
/// request or the model has pins. Errors: those of `readTarget`; internal ones of \p evaluate, which plans the fastest
/// layout alone; those of `checkStepOf` where a layout cannot be costed.
llvm::Expected<LayoutReferences> costLayouts(const PlanRequest &request, ExpertNumbers numbers,
                                             EvaluateRequested evaluate, const PlanningControl &control,
                                             const Stopwatch &begun);

/// The fastest layout of experts for a request without pins, of those that are costed in its time limit, with no plan
/// of it; none where none fits. \p sizes: of its step, known from `costLayouts`. Errors: internal ones of \p evaluate.
llvm::Expected<std::optional<EvaluatedLayout>> fastestLayout(const PlanRequest &request, const Pool &pool,
                                                             StepSizes sizes, EvaluateRequested evaluate,
                                                             const PlanningControl &control);

/// The plan of a request. \p known: the fastest layout, with its plan; none where no layout fits.
using SearchBeside = llvm::function_ref<llvm::Expected<Plan>(const PlanRequest &, const LayoutReferences &known)>;

/// The plan that \p search finds, with the layouts among its references; or the best of them where that is faster, or
/// where nothing else fits. Errors: those of both.
llvm::Expected<Plan> planBesideLayouts(const PlanRequest &request, SearchBeside search, EvaluateRequested evaluate,
                                       const PlanningControl &control);

} // namespace apc
