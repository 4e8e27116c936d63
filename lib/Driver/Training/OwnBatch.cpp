// One micro-batch first, more where it does not fit.
#include "OwnBatch.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"

#include <chrono>

namespace apc {

/// The batch that the model was exported with, in as many micro-batches as it takes; none where that gives no plan.
static std::optional<Plan> planCutBatch(const PlanRequest &request, double secondsLeft, PlanOfRequest choose) {
  llvm::Expected<int64_t> batch = exportedBatch(request);
  if (!batch || *batch == 1 || secondsLeft <= 0)
    return llvm::consumeError(batch.takeError()), std::nullopt;
  PlanRequest own = request;
  own.globalBatch = *batch;
  own.timeLimitSeconds = secondsLeft;
  llvm::Expected<Plan> found = choose(own);
  if (!found) // nothing fits, or the model does not allow another batch
    return llvm::consumeError(found.takeError()), std::nullopt;
  found->request.timeLimitSeconds = request.timeLimitSeconds;
  return std::move(*found);
}

llvm::Expected<Plan> planOwnBatch(const PlanRequest &request, PlanOfRequest plan, PlanOfRequest choose) {
  auto begin = std::chrono::steady_clock::now();
  bool isPolicyOpen = request.recompute == RecomputeChoice::Auto;
  llvm::Expected<Plan> whole = isPolicyOpen ? choose(request) : plan(request);
  if (whole)
    return whole;
  llvm::Error error = whole.takeError();
  if (error.isA<TooMuchHeld>()) // by any number of micro-batches
    return std::move(error);
  auto [fault, message] = takeMessage(std::move(error));
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  if (fault == Fault::NoPlan)
    if (std::optional<Plan> cut = planCutBatch(request, request.timeLimitSeconds - spent.count(), choose))
      return std::move(*cut);
  return llvm::make_error<PlannerError>(fault, message);
}

} // namespace apc
