// Why nothing fits: the fewest causes that conflict, and what would resolve them.
#include "../Decide.h"
#include "EvenShare.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace apc {

namespace {

/// Memory that every plan on this mesh needs on each device, at least.
struct Needs {
  int64_t parameterBytes = 0; ///< each parameter cut as far as its dims allow
  int64_t opBytes = 0; ///< operands, results and workspace of the op that needs most, under the strategy with fewest
  int64_t workspaceBytes = 0; ///< in `opBytes`; no cut makes it less
  OpId op;
  int64_t togetherBytes = 0; ///< parameters and op
};

Needs needsOn(const PlanningTask &task, const Mesh &mesh) {
  Needs needs;
  PlanningProblem planning = problemOf(task, mesh, startingMoment(task.graph));
  CostModel model(task.pool, mesh);
  for (size_t node = 0; node < planning.problem.nodes.size(); ++node) {
    const std::vector<StrategyCost> &costs = planning.problem.tableOf(NodeId(node)).costs;
    int64_t persistent = costs.front().persistentBytes, transient = costs.front().transientBytes;
    for (const StrategyCost &cost : costs) {
      persistent = std::min(persistent, cost.persistentBytes);
      transient = std::min(transient, cost.transientBytes);
    }
    needs.parameterBytes += persistent;
    int64_t workspace = 0;
    for (OpId op : planning.ops[node])
      workspace = std::max(workspace, model.workspaceBytes(task.graph.ruleOf(op)));
    if (transient <= needs.opBytes)
      continue;
    needs.opBytes = transient;
    needs.workspaceBytes = workspace;
    needs.op = planning.ops[node].front();
  }
  needs.togetherBytes = needs.parameterBytes + needs.opBytes;
  return needs;
}

std::string parametersText(const PlanningTask &task, const Needs &needs) {
  int64_t parameters = 0, states = 0;
  const GraphValue *largest = nullptr;
  for (const GraphValue &value : task.graph.values) {
    if (value.role == ValueRole::OptimizerState)
      states += value.shape.bytes();
    if (value.role != ValueRole::Parameter)
      continue;
    parameters += value.shape.bytes();
    if (!largest || value.shape.bytes() > largest->shape.bytes())
      largest = &value;
  }
  std::string needed = llvm::formatv("parameters: of {0},", bytesText(parameters)).str();
  if (task.request.mode == StepMode::Train)
    needed =
        llvm::formatv("parameters ({0}), states ({1}) and what waits for the backward pass:", bytesText(parameters),
                      bytesText(states))
            .str();
  return llvm::formatv(
             "{0} at least {1} on every device, each cut as far as its dims allow (the largest is '{2}', {3})", needed,
             bytesText(needs.parameterBytes), largest->name, bytesText(largest->shape.bytes()))
      .str();
}

std::string opText(const PlanningTask &task, const Needs &needs) {
  const GraphOp &op = task.graph.op(needs.op);
  std::string workspace;
  if (needs.workspaceBytes > 0)
    workspace = llvm::formatv(" and its workspace of {0}", bytesText(needs.workspaceBytes)).str();
  return llvm::formatv("activations: operands and results of op '{0}' ({1}){2}, at least {3} on every device", op.name,
                       op.operatorName, workspace, bytesText(needs.opBytes))
      .str();
}

/// The fewest of the terms that exceed the limit together; empty when all of them fit.
std::vector<std::string> conflict(const PlanningTask &task, const Needs &needs) {
  int64_t limit = task.memoryLimitBytes;
  if (needs.parameterBytes > limit)
    return {parametersText(task, needs)};
  if (needs.opBytes > limit)
    return {opText(task, needs)};
  if (needs.togetherBytes > limit)
    return {parametersText(task, needs), opText(task, needs)};
  return {};
}

/// The least of each need over all meshes: what holds whatever mesh is chosen. Nothing is known to be needed where the
/// time is over before all meshes were looked at.
llvm::Expected<Needs> leastNeeds(const PlanningTask &task) {
  llvm::Expected<std::vector<Mesh>> meshes = task.pins.suitableMeshes(task.graph, mostAxes(task.request));
  if (!meshes)
    return meshes.takeError();
  std::optional<Needs> least;
  for (const Mesh &mesh : *meshes) {
    if (task.isOutOfTime(PlanningTask::Part::Reasons))
      return Needs();
    Needs needs = needsOn(task, mesh);
    if (!least) {
      least = needs;
      continue;
    }
    least->parameterBytes = std::min(least->parameterBytes, needs.parameterBytes);
    least->togetherBytes = std::min(least->togetherBytes, needs.togetherBytes);
    if (needs.opBytes < least->opBytes)
      std::tie(least->opBytes, least->workspaceBytes, least->op) =
          std::tie(needs.opBytes, needs.workspaceBytes, needs.op);
  }
  return *least;
}

/// A set of causes, and what the least is that is needed under the pins among them.
struct Causes {
  std::vector<std::string> texts; ///< empty when every term fits
  Needs needs;
};

llvm::Expected<Causes> causesUnder(const PlanningTask &task, llvm::ArrayRef<Pin> pins) {
  llvm::Expected<PinnedOps> bound = PinnedOps::bind(task.graph, task.pool, pins.vec());
  if (!bound)
    return bound.takeError();
  PlanningTask reduced = task;
  reduced.pins = std::move(*bound);
  llvm::Expected<Needs> needs = leastNeeds(reduced);
  if (!needs)
    return needs.takeError();
  return Causes{conflict(reduced, *needs), *needs};
}

/// The causes with as few pins as conflict: those without which there is still a conflict are left out, one by one.
llvm::Expected<Causes> findCauses(const PlanningTask &task) {
  std::vector<Pin> pins = task.pins.getPins().vec();
  llvm::Expected<Causes> causes = causesUnder(task, pins);
  if (!causes)
    return causes;
  if (causes->texts.empty()) {
    for (const Pin &pin : pins)
      causes->texts.push_back(llvm::formatv("pin '{0}' ({1})", pin.str(), pin.source).str());
    return causes;
  }
  constexpr size_t mostTrials = 32; // each builds the problems of all meshes
  for (size_t index = 0, trial = 0; index < pins.size() && trial < mostTrials; ++trial) {
    std::vector<Pin> fewer = pins;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(index));
    llvm::Expected<Causes> remaining = causesUnder(task, fewer);
    if (!remaining)
      return remaining;
    if (remaining->texts.empty()) {
      ++index;
      continue;
    }
    pins = std::move(fewer);
    causes = std::move(remaining);
  }
  for (const Pin &pin : pins)
    causes->texts.push_back(llvm::formatv("pin '{0}' ({1})", pin.str(), pin.source).str());
  return causes;
}

std::string limitText(const PlanningTask &task) {
  return llvm::formatv("memory: {0} of a device's {1} may be used ({2})", bytesText(task.memoryLimitBytes),
                       bytesText(task.pool.device.memoryBytes),
                       task.request.memoryLimitBytes ? "--memory-limit" : "the default, 95 %")
      .str();
}

/// The program that comes nearest to the limit, of all that were costed.
std::string nearestText(const PlanningTask &task, const MeshChoice &choice,
                        llvm::ArrayRef<CostedReference> references) {
  std::optional<int64_t> least = choice.leastBytes;
  for (const CostedReference &entry : references)
    if (entry.reference.memoryBytes)
      least = std::min(least.value_or(*entry.reference.memoryBytes), *entry.reference.memoryBytes);
  if (!least || *least <= task.memoryLimitBytes)
    return "";
  return llvm::formatv("; the nearest program needs {0} on a device, {1} too much", bytesText(*least),
                       bytesText(*least - task.memoryLimitBytes))
      .str();
}

std::string remedyText(const PlanningTask &task, const Needs &needs, bool proven) {
  if (!proven)
    return "a higher limit, or a search with more time";
  std::string text = llvm::formatv("a limit above {0}", bytesText(needs.togetherBytes)).str();
  int64_t room = task.memoryLimitBytes - needs.workspaceBytes; // for what more devices have less of
  if (room <= 0)
    return text;
  double share = static_cast<double>(needs.togetherBytes - needs.workspaceBytes) / static_cast<double>(room);
  double devices = static_cast<double>(task.pool.numDevices()) * share;
  if (devices < static_cast<double>(1 << 20))
    text += llvm::formatv(", or more than {0} (where dims can be cut so often)",
                          counted(static_cast<int64_t>(devices), "device"));
  return text;
}

} // namespace

llvm::Error nothingFits(const PlanningTask &task, const MeshChoice &choice,
                        llvm::ArrayRef<CostedReference> references) {
  llvm::Expected<Causes> found = findCauses(task);
  if (!found)
    return found.takeError();
  const Needs &needs = found->needs;
  std::vector<std::string> causes = std::move(found->texts);
  bool proven = !conflict(task, needs).empty();
  if (!proven && task.isStopped())
    return noPlanError("stopped before a plan was found that fits {0} devices, and before it was known that none does; "
                       "nothing was written",
                       task.pool.numDevices());
  if (!proven)
    causes.insert(causes.begin(), "search: " + choice.reason + nearestText(task, choice, references));
  causes.push_back(limitText(task));
  std::string text = llvm::formatv("no plan fits {0}; {1}:", counted(task.pool.numDevices(), "device"),
                                   proven ? "the smallest set of causes; removing any one of them makes a plan possible"
                                          : "no single term of memory exceeds the limit, but all that was tried does")
                         .str();
  for (const std::string &cause : causes)
    text += "\n  - " + cause;
  if (proven || task.request.mode == StepMode::Infer) // changes of a training step are planned, not guessed
    text += "\nwhat would help: " + remedyText(task, needs, proven);
  for (const CostedReference &entry : references)
    text += "\n  " + entry.reference.name + ": " + entry.reference.reason;
  return noPlanError("{0}", text);
}

} // namespace apc
