// Device counts that divide badly: a plan that leaves some devices out may be faster.
#include "Decide.h"
#include "Meshes/Meshes.h"
#include "NameAxes.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// The searches on fewer devices are worth their time only where the user fixed nothing.
bool mayLeaveOut(const PlanningTask &task) { return task.request.parallel == ParallelMode::Auto && task.pins.empty(); }

/// Devices on which nothing was found before the time was over: a step takes so many seconds there at the least.
struct UntriedDevices {
  int64_t count = 0;
  double leastSeconds = 0;
};

/// Decisions on all devices, where something fits there, and on fewer; and the numbers of devices that were left out.
struct Attempts {
  std::vector<DevicesDecision> found;
  std::vector<UntriedDevices> untried;
};

/// The bound on the devices of the decision says nothing about other devices, which may hold something faster.
/// \p unlimitedSeconds: the bound of plans there that may need any memory.
void widenBound(double seconds, double unlimitedSeconds, Decision &decision) {
  decision.unlimitedBoundSeconds = std::min(decision.unlimitedBoundSeconds, unlimitedSeconds);
  if (seconds >= decision.lowerBoundSeconds)
    return;
  decision.lowerBoundSeconds = seconds;
  decision.gap = std::max(decision.gap, 1 - decision.lowerBoundSeconds / decision.seconds());
  decision.status = PlanStatus::Feasible;
}

/// The same for devices that were left out, with a note on them.
void widenByUntried(const PlanningTask &task, llvm::ArrayRef<UntriedDevices> untried, Decision &decision) {
  std::vector<std::string> counts;
  for (const UntriedDevices &own : untried) {
    if (own.leastSeconds >= decision.seconds())
      continue;
    widenBound(own.leastSeconds, own.leastSeconds, decision);
    counts.push_back(std::to_string(own.count));
  }
  if (!counts.empty())
    decision.notes.push_back(
        llvm::formatv("{0} before plans on {1} of the devices were looked for, which may be faster", task.endText(),
                      llvm::join(counts, ", "))
            .str());
}

std::string leftOutNote(const DevicesDecision &chosen, int64_t devices, std::optional<double> secondsOnAll) {
  const Decision &decision = chosen.decision;
  std::string otherwise = "nothing fits";
  if (secondsOnAll)
    otherwise = areEqualSeconds(*secondsOnAll, decision.seconds())
                    ? "a step would take as long, with more memory or collectives"
                    : "a step would take " + formatSeconds(*secondsOnAll);
  return llvm::formatv("planned on {0} of the {1} devices; on all {1} {2}",
                       devicesUsed(chosen.task.graph, decision.candidate), devices, otherwise)
      .str();
}

PlanRank rankOfAttempt(const DevicesDecision &attempt) { return rankOf(attempt.task, attempt.decision.candidate); }

/// The best of `attempts`, with notes on the others; \p devices: all that there are. Of equal ones it is the first, on
/// all devices: the plan of one device is the same on any.
DevicesDecision pickFastest(std::vector<DevicesDecision> attempts, int64_t devices) {
  std::vector<PlanRank> ranks;
  llvm::transform(attempts, std::back_inserter(ranks), rankOfAttempt);
  size_t best = bestOf(ranks);
  std::optional<double> secondsOnAll;
  for (const DevicesDecision &attempt : attempts)
    if (attempt.usesAll)
      secondsOnAll = attempt.decision.seconds();
  DevicesDecision &chosen = attempts[best];
  Decision &decision = chosen.decision;
  std::string fewer, longer = "take longer";
  for (auto [index, other] : llvm::enumerate(attempts)) {
    if (index == best)
      continue;
    widenBound(other.decision.lowerBoundSeconds, other.decision.unlimitedBoundSeconds, decision);
    decision.problemSeconds += other.decision.problemSeconds;
    decision.searchSeconds += other.decision.searchSeconds;
    if (areEqualSeconds(ranks[index].seconds, ranks[best].seconds)) {
      if (ranks[index].bytes == ranks[best].bytes) // the same plan on other devices
        continue;
      longer = "take longer or more memory";
    } else if (formatSeconds(other.decision.seconds()) == formatSeconds(decision.seconds())) {
      longer = "not be faster"; // in the digits that are shown
    }
    fewer += llvm::formatv("{0}{1} on {2}", fewer.empty() ? "" : ", ", formatSeconds(other.decision.seconds()),
                           other.task.pool.numDevices())
                 .str();
  }
  if (chosen.usesAll && !fewer.empty())
    decision.notes.push_back("on fewer devices a step would " + longer + ": " + fewer);
  if (!chosen.usesAll)
    decision.notes.push_back(leftOutNote(chosen, devices, secondsOnAll));
  return std::move(chosen);
}

/// Is nothing on these devices faster than what is known?
bool isHopeless(const PlanningTask &task) {
  llvm::Expected<double> least = leastSeconds(task);
  if (least)
    return *least > *task.knownSeconds;
  llvm::consumeError(least.takeError());
  return false;
}

/// Adds what is found on `pool`, fewer devices than those of the task. Errors (internal): those of the search.
llvm::Error tryFewer(const PlanningTask &task, const Pool &pool, Attempts &attempts) {
  auto isOver = [&] { return task.isStopped() || task.isOutOfTime(PlanningTask::Part::Search); };
  auto leaveOut = [&] {
    attempts.untried.push_back({pool.numDevices(), leastSecondsOn(task.graph, pool)});
    return llvm::Error::success();
  };
  if (isOver())
    return leaveOut();
  llvm::Expected<PlanningTask> smaller = onPool(task, pool, task.memoryLimitBytes);
  if (smaller && !attempts.found.empty() && attempts.found.front().usesAll) {
    smaller->knownSeconds = attempts.found.front().decision.seconds();
    if (isHopeless(*smaller))
      return llvm::Error::success();
    if (isOver())
      return leaveOut();
  }
  llvm::Expected<Decision> decision = smaller ? decide(*smaller) : smaller.takeError();
  if (decision) {
    attempts.found.push_back({*smaller, std::move(*decision), false});
    return llvm::Error::success();
  }
  llvm::Error failure = decision.takeError();
  if (faultOf(failure) == Fault::Internal)
    return failure;
  llvm::consumeError(std::move(failure));
  return isOver() ? leaveOut() : llvm::Error::success();
}

} // namespace

llvm::Expected<DevicesDecision> decideDevices(const PlanningTask &task, llvm::ArrayRef<Pool> fewer) {
  llvm::Expected<Decision> onAll = decide(task);
  llvm::Error failure = onAll ? llvm::Error::success() : onAll.takeError();
  const bool triesFewer = !fewer.empty() && mayLeaveOut(task);
  if (failure && (!triesFewer || faultOf(failure) == Fault::Internal))
    return std::move(failure);
  Attempts attempts;
  if (!failure)
    attempts.found.push_back({task, std::move(*onAll)});
  if (!triesFewer)
    return std::move(attempts.found.front());
  for (const Pool &pool : fewer)
    if (llvm::Error error = tryFewer(task, pool, attempts)) {
      llvm::consumeError(std::move(failure));
      return std::move(error);
    }
  if (attempts.found.empty())
    return std::move(failure);
  llvm::consumeError(std::move(failure));
  DevicesDecision fastest = pickFastest(std::move(attempts.found), task.pool.numDevices());
  widenByUntried(task, attempts.untried, fastest.decision);
  return fastest;
}

} // namespace apc
