// The changes from one plan to another: settings, strategies, predicted seconds and bytes.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// A setting that differs: {"devices", "64", "128"}.
struct TextChange {
  std::string name, before, after;
};

/// A predicted figure, differing or not.
struct FigureChange {
  std::string name; ///< "step", "memory total", "AllReduce"
  double before = 0, after = 0;

  bool differs() const { return before != after; }
  /// after / before - 1; empty when there was nothing before.
  std::optional<double> relative() const;
};

/// Ops of repeated layers that went from one strategy to another together: 96 x "/h.*/MatMul", "k:model" -> "n:model".
/// A side is empty where the plan lacks the ops.
struct StrategyChange {
  std::string pattern, operatorName;
  std::string before, after;
  unsigned count = 0;
  double beforeSeconds = 0, afterSeconds = 0; ///< ops and the communication before them
};

struct PlanDiff {
  std::vector<TextChange> settings;
  std::vector<FigureChange> seconds; ///< step, compute, communication, bound
  std::vector<FigureChange> bytes;   ///< memory by category, total and limit, then communication by collective
  std::vector<StrategyChange> strategies;
  unsigned numOps = 0; ///< ops of both plans together, each name once

  bool isEmpty() const;
};

/// Ops are matched by name. Strategies are the same when they cut over the same devices: `n:data` on data=4 and
/// `n:(data data2)` on data=2 data2=2; between meshes of other devices, over the same part of each level. Meshes that
/// differ in the names of their axes alone are listed only where strategies differ.
PlanDiff diffPlans(const Plan &before, const Plan &after);

} // namespace apc
