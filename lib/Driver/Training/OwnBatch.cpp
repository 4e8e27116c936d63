// One micro-batch first, more where it does not fit.
#include "OwnBatch.h"

#include "TimeShare.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/NothingFits.h"
#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"

namespace apc {

PlanRequest withOwnBatch(const PlanRequest &request) {
  PlanRequest own = request;
  if (request.globalBatch || request.microBatch)
    return own;
  if (llvm::Expected<int64_t> batch = exportedBatch(request); !batch)
    llvm::consumeError(batch.takeError()); // as planning will say, or a model without one
  else if (*batch > 1)
    own.globalBatch = *batch;
  return own;
}

/// The batch that the model was exported with, in as many micro-batches as it takes; none where the model does not
/// allow that. Errors: nothing fits in any number of them.
static llvm::Expected<std::optional<Plan>> planCutBatch(const PlanRequest &request, double secondsLeft,
                                                        PlanOfRequest choose) {
  PlanRequest own = withOwnBatch(request);
  if (!own.globalBatch || secondsLeft <= 0)
    return std::nullopt;
  own.timeLimitSeconds = secondsLeft;
  llvm::Expected<Plan> found = choose(own);
  if (!found) {
    llvm::Error error = found.takeError();
    if (error.isA<NothingFits>())
      return std::move(error);
    return llvm::consumeError(std::move(error)), std::nullopt; // the model does not allow another batch
  }
  return std::optional(withTimeLimitOf(request, std::move(*found)));
}

llvm::Expected<Plan> planOwnBatch(const PlanRequest &request, const WorkClock &clock, PlanOfRequest plan,
                                  PlanOfRequest choose) {
  const Stopwatch watch(clock);
  bool isPolicyOpen = request.recompute == RecomputeChoice::Auto;
  llvm::Expected<Plan> whole = isPolicyOpen ? choose(request) : plan(request);
  if (whole)
    return whole;
  llvm::Error error = whole.takeError();
  if (error.isA<TooMuchHeld>()) // by any number of micro-batches
    return std::move(error);
  if (!error.isA<NothingFits>()) {
    auto [fault, message] = takeMessage(std::move(error));
    if (fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(fault, message);
    error = llvm::make_error<NothingFits>("", message, std::vector<TriedPoint>(), request);
  }
  llvm::Expected<std::optional<Plan>> cut = planCutBatch(request, request.timeLimitSeconds - watch.seconds(), choose);
  if (cut && !*cut)
    return std::move(error);
  llvm::consumeError(std::move(error));
  return cut ? llvm::Expected<Plan>(std::move(**cut)) : cut.takeError();
}

} // namespace apc
