// Axes that are always used together become one: [data=2, data2=2, data3=2] that cut the batch everywhere, and nothing
// else, are [data=8].
#include "Task.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// True when each list holds both axes, the minor right behind the major, or neither.
bool areTogether(llvm::ArrayRef<AxisList> lists, AxisId major, AxisId minor) {
  return llvm::all_of(lists, [&](const AxisList &list) {
    const auto *first = llvm::find(list, major), *second = llvm::find(list, minor);
    bool holdsBoth = first != list.end() && second != list.end(); // else the end is no second one behind the first
    return holdsBoth ? second == first + 1 : first == second;
  });
}

/// For each axis of the mesh the axis that it is, or is a part of, after merging: [2, 2, 2 | 2] with all of the first
/// level together -> {0, 0, 0, 1}.
std::vector<unsigned> mergedIndices(const Mesh &mesh, llvm::ArrayRef<Strategy> strategies) {
  std::vector<unsigned> indices(mesh.numAxes());
  for (unsigned axis = 1; axis < mesh.numAxes(); ++axis) {
    AxisId major(axis - 1), minor(axis);
    bool merges =
        mesh.axis(major).level == mesh.axis(minor).level && llvm::all_of(strategies, [&](const Strategy &strategy) {
          return areTogether(strategy.axes, major, minor) && areTogether(strategy.partialInputs, major, minor);
        });
    indices[axis] = indices[axis - 1] + (merges ? 0 : 1);
  }
  return indices;
}

/// The lists in terms of the merged axes. {0, 1, 3} with {0, 0, 0, 1} -> {0, 1}.
void rename(llvm::MutableArrayRef<AxisList> lists, llvm::ArrayRef<unsigned> indices) {
  for (AxisList &list : lists) {
    AxisList merged;
    for (AxisId axis : list)
      if (AxisId now(indices[axis.index()]); merged.empty() || merged.back() != now)
        merged.push_back(now);
    list = std::move(merged);
  }
}

/// 6 elements can be cut over (2 2), as 3 and then 2, but not over 4 where they share a dim with others.
bool areLegal(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const Mesh &mesh) {
  for (auto [index, strategy] : llvm::enumerate(strategies))
    if (llvm::Error error = check(graph.ruleOf(OpId(index)), strategy, mesh)) {
      llvm::consumeError(std::move(error));
      return false;
    }
  return true;
}

} // namespace

llvm::Expected<Candidate> mergeAxes(const PlanningTask &task, Candidate candidate) {
  std::vector<unsigned> indices = mergedIndices(candidate.mesh, candidate.strategies);
  if (indices.empty() || indices.back() + 1 == indices.size())
    return candidate;
  std::vector<MeshAxis> axes;
  for (auto [axis, index] : llvm::zip_equal(candidate.mesh.getAxes(), indices)) {
    if (index < axes.size())
      axes.back().size *= axis.size;
    else
      axes.push_back({"x" + std::to_string(index), axis.size, axis.level});
  }
  std::vector<Strategy> strategies = candidate.strategies;
  for (Strategy &strategy : strategies) {
    rename(strategy.axes, indices);
    rename(strategy.partialInputs, indices);
  }
  Mesh mesh(std::move(axes));
  if (!areLegal(task.graph, strategies, mesh))
    return candidate;
  llvm::Expected<Candidate> merged = costCandidate(task, mesh, std::move(strategies), candidate.cost.hubsOfComeAgain());
  if (!merged)
    return merged.takeError();
  // The finer mesh stays where a step on the way from one sharding to the next gains by moving a part of the axis.
  constexpr double rounding = 1e-9;
  bool costsMore = merged->cost.seconds() > candidate.cost.seconds() * (1 + rounding) ||
                   merged->cost.memory.total() > task.memoryLimitBytes;
  return costsMore ? std::move(candidate) : std::move(*merged);
}

} // namespace apc
