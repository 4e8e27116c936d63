// Device counts that divide badly: a plan that leaves some devices out may be faster.
#include "Decide.h"
#include "Meshes/Meshes.h"

#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

/// The searches on fewer devices are worth their time only where the user fixed nothing.
bool mayLeaveOut(const PlanningTask &task) { return task.request.parallel == ParallelMode::Auto && task.pins.empty(); }

/// The bound on the devices of the decision says nothing about other devices, which may hold something faster.
void widenBound(const Decision &other, Decision &decision) {
  decision.unlimitedBoundSeconds = std::min(decision.unlimitedBoundSeconds, other.unlimitedBoundSeconds);
  if (other.lowerBoundSeconds >= decision.lowerBoundSeconds)
    return;
  decision.lowerBoundSeconds = other.lowerBoundSeconds;
  decision.gap = std::max(decision.gap, 1 - decision.lowerBoundSeconds / decision.seconds());
  decision.status = PlanStatus::Feasible;
}

std::string leftOutNote(int64_t used, int64_t devices, std::optional<double> secondsOnAll) {
  std::string otherwise = secondsOnAll ? "a step would take " + formatSeconds(*secondsOnAll) : "nothing fits";
  return llvm::formatv("planned on {0} of the {1} devices; on all {1} {2}", used, devices, otherwise).str();
}

/// The devices of a rank are all that the attempt had.
PlanRank rankOfAttempt(const DevicesDecision &attempt) {
  PlanRank rank = rankOf(attempt.task, attempt.decision.candidate);
  rank.devices = attempt.task.pool.numDevices();
  return rank;
}

/// The best of `attempts`, with notes on the others.
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
  std::string fewer, longer = "longer";
  for (auto [index, other] : llvm::enumerate(attempts)) {
    if (index == best)
      continue;
    widenBound(other.decision, decision);
    decision.problemSeconds += other.decision.problemSeconds;
    decision.searchSeconds += other.decision.searchSeconds;
    if (areEqualSeconds(ranks[index].seconds, ranks[best].seconds))
      longer = "longer or more memory";
    fewer += llvm::formatv("{0}{1} on {2}", fewer.empty() ? "" : ", ", formatSeconds(other.decision.seconds()),
                           other.task.pool.numDevices())
                 .str();
  }
  if (chosen.usesAll && !fewer.empty())
    decision.notes.push_back("on fewer devices a step would take " + longer + ": " + fewer);
  if (!chosen.usesAll)
    decision.notes.push_back(leftOutNote(chosen.task.pool.numDevices(), devices, secondsOnAll));
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

} // namespace

llvm::Expected<DevicesDecision> decideDevices(const PlanningTask &task, llvm::ArrayRef<Pool> fewer) {
  llvm::Expected<Decision> onAll = decide(task);
  if (fewer.empty() || !mayLeaveOut(task)) {
    if (!onAll)
      return onAll.takeError();
    return DevicesDecision{task, std::move(*onAll)};
  }
  std::vector<DevicesDecision> attempts;
  bool fitsAll = static_cast<bool>(onAll);
  if (fitsAll)
    attempts.push_back({task, std::move(*onAll)});
  auto isOver = [&] { return task.isStopped() || task.isOutOfTime(PlanningTask::Part::Search); };
  for (const Pool &pool : fewer) {
    if (isOver())
      break;
    llvm::Expected<PlanningTask> smaller = onPool(task, pool, task.memoryLimitBytes);
    if (smaller && fitsAll) {
      smaller->knownSeconds = attempts.front().decision.seconds();
      if (isHopeless(*smaller))
        continue;
      if (isOver())
        break;
    }
    llvm::Expected<Decision> decision = smaller ? decide(*smaller) : smaller.takeError();
    if (decision)
      attempts.push_back({*smaller, std::move(*decision), false});
    else
      llvm::consumeError(decision.takeError());
  }
  if (attempts.empty())
    return onAll.takeError();
  if (!fitsAll)
    llvm::consumeError(onAll.takeError());
  return pickFastest(std::move(attempts), task.pool.numDevices());
}

} // namespace apc
