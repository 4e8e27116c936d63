// Devices that do not fill the groups they come in: a plan that leaves some of them out may be faster.
#include "Candidate.h"

#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

/// A plan on some of the devices.
struct Attempt {
  const Cluster *cluster;
  Plan plan;

  bool isFasterThan(const Attempt &other) const { return plan.stepSeconds < other.plan.stepSeconds; }
};

/// The searches on fewer devices are worth their time where nothing says what all of them are to do.
bool mayLeaveOut(const PlanningTask &task) {
  return !task.fewer.empty() && task.options.parallel == "auto" && task.pins.empty();
}

/// What is proven on the devices of the plan; others may hold something faster.
void widenBound(const Plan &other, Plan &plan) {
  if (other.lowerBoundSeconds >= plan.lowerBoundSeconds)
    return;
  plan.lowerBoundSeconds = other.lowerBoundSeconds;
  plan.gap = std::max(plan.gap, 1 - plan.lowerBoundSeconds / plan.stepSeconds);
  plan.status = searchStatusName(SearchStatus::Feasible).str();
}

std::string leftOutNote(const Attempt &best, const Attempt *all, int64_t devices) {
  std::string otherwise = all ? "a step would take " + formatSeconds(all->plan.stepSeconds) : "nothing fits";
  return llvm::formatv("{0} of the {1} devices are used, which fill their groups; on all {1} {2}",
                       best.cluster->numDevices(), devices, otherwise)
      .str();
}

/// The fastest of `attempts`, with what the others say of it. The first is that on all devices if `hasAll`.
Attempt pickFastest(const PlanningTask &task, std::vector<Attempt> attempts, bool hasAll) {
  auto best = llvm::min_element(attempts, [](const Attempt &a, const Attempt &b) { return a.isFasterThan(b); });
  Plan &plan = best->plan;
  for (const Attempt &other : attempts) {
    if (&other == &*best)
      continue;
    widenBound(other.plan, plan);
    plan.timing.problemSeconds += other.plan.timing.problemSeconds;
    plan.timing.searchSeconds += other.plan.timing.searchSeconds;
    if (best->cluster == &task.cluster)
      plan.notes.push_back(llvm::formatv("on {0} devices, which fill their groups, a step would take {1}",
                                         other.cluster->numDevices(), formatSeconds(other.plan.stepSeconds))
                               .str());
  }
  if (best->cluster != &task.cluster)
    plan.notes.push_back(leftOutNote(*best, hasAll ? &attempts.front() : nullptr, task.cluster.numDevices()));
  return std::move(*best);
}

} // namespace

llvm::Error decideOn(const PlanningTask &task, const Cluster &cluster, Plan &plan, Decide decide) {
  llvm::Expected<PinnedOps> pins = PinnedOps::bind(task.graph, cluster, task.pins.getPins().vec());
  if (!pins)
    return pins.takeError();
  return decide({task.graph, cluster, task.memoryLimitBytes, task.search, task.options, *pins}, plan);
}

llvm::Expected<const Cluster *> chooseDevices(const PlanningTask &task, Plan &plan) {
  const Plan blank = plan;
  llvm::Error error = chooseBest(task, plan);
  bool hasAll = !error;
  if (!mayLeaveOut(task)) {
    if (error)
      return error;
    return &task.cluster;
  }
  std::vector<Attempt> attempts;
  if (hasAll)
    attempts.push_back({&task.cluster, std::move(plan)});
  for (const Cluster &cluster : task.fewer) {
    if (task.isStopped())
      break;
    Plan other = blank;
    llvm::erase(other.notes, task.idleNote);
    if (llvm::Error none = decideOn(task, cluster, other, chooseBest))
      llvm::consumeError(std::move(none));
    else
      attempts.push_back({&cluster, std::move(other)});
  }
  if (attempts.empty())
    return error;
  llvm::consumeError(std::move(error));
  Attempt best = pickFastest(task, std::move(attempts), hasAll);
  plan = std::move(best.plan);
  return best.cluster;
}

} // namespace apc
