// Mixed-integer programs as values, and the adapter to the solver (CBC).
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace apc {

/// min cost . x where every row has lower <= row . x <= upper and every column is in [0, upper].
struct MixedIntegerProgram {
  struct Row {
    double lower, upper;
    std::vector<int> columns;
    std::vector<double> coefficients;
  };
  std::vector<double> cost, upper;
  std::vector<int> integerColumns;
  std::vector<Row> rows;

  int addColumn(double columnCost, double columnUpper);
};

struct MipLimits {
  double seconds = 60;
  double gap = 0;                ///< relative
  std::optional<double> cutoff;  ///< solutions with a higher cost are not searched
  const std::atomic<bool> *stop; ///< may be null
};

struct MipAnswer {
  std::optional<std::vector<double>> solution;
  /// The search was complete: the solution is optimal, or there is no solution up to the cutoff.
  bool isComplete = false;
  std::optional<double> bound; ///< a lower bound on the cost of every solution up to the cutoff
  std::string failure;         ///< the exception of the solver; empty without one
};

/// Branch and bound; prints nothing. One thread, deterministic unless a limit is hit. Feasible to 1e-7, integer to
/// 1e-9.
MipAnswer solveMip(const MixedIntegerProgram &program, const MipLimits &limits);

} // namespace apc
