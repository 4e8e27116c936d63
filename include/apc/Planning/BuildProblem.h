// OpGraph x mesh x prices -> Problem. Node i is op i.
#pragma once

#include "apc/Cost/CostModel.h"
#include "apc/Graph/OpGraph.h"
#include "apc/Search/Problem.h"

namespace apc {

/// A problem with the strategies that its indices stand for.
struct PlanningProblem {
  Problem problem;
  /// By node table: the strategy of each row.
  std::vector<std::vector<Strategy>> strategies;

  const std::vector<Strategy> &strategiesOf(OpId op) const {
    return strategies[problem.nodes[op.index()].table.index()];
  }
  std::vector<Strategy> decode(const Assignment &assignment) const;
};

/// The problem of choosing one strategy for each op of `graph` on the mesh of `model`.
/// Node tables: seconds by `opCost`, persistent bytes for parameters, transient bytes for an op's operands and
/// results. Ops with one rule share one table. Edges: seconds of the redistribution for each pair of strategies; equal
/// edges share one table. Constants have no edge: cutting what every device holds is free.
/// \p keep, when given, drops strategies for which it returns false (at least the replicated one must stay).
PlanningProblem buildProblem(const OpGraph &graph, const CostModel &model,
                             llvm::function_ref<bool(OpId, const Strategy &)> keep = {});

} // namespace apc
