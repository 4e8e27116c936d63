// Plans of strategies that are given, or drawn by lot, instead of searched: what tests of programs start from.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Graph/OpGraph.h"
#include "apc/Plan/Plan.h"

#include <cstdint>

namespace apc {

/// The plan of a program that runs `graph` on `mesh` under one strategy for each op: mesh, choices, shardings, moves,
/// cost and memory; no reasons, no baselines. The levels of the mesh's axes index `cluster.pool.levels`; axes are named
/// by what they carry. The mesh stays as it is given: callers put programs on the very ranks they chose, so axes that
/// every strategy uses together are not merged into one, as `planModel` does with the mesh that a search came upon.
/// Errors (internal): a strategy is illegal, or an op wants a partial operand that nobody makes.
llvm::Expected<Plan> planStrategies(const OpGraph &graph, const Cluster &cluster, const Mesh &mesh,
                                    std::vector<Strategy> strategies);

/// A legal strategy for each op of `graph`, drawn by lot: the same for the same seed on every machine. An op that takes
/// partial operands gets only such as its producers make under theirs.
std::vector<Strategy> drawStrategies(const OpGraph &graph, const Mesh &mesh, uint64_t seed);

} // namespace apc
