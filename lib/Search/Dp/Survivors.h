// `dp` under a binding memory limit: which choices can still be part of an answer within a given distance of the bound.
#pragma once

#include "Elimination.h"

#include <unordered_map>

namespace apc::dp {

/// One choice for a step's node and its neighbours.
struct SurvivingChoice {
  uint32_t strategy; ///< of the step's node
  double value;      ///< the least weighted sum of a whole assignment that makes this choice
};

/// A choice of a step's neighbours that survives, and the choices of the node with it.
struct SurvivingCell {
  uint64_t cell;             ///< index in the table that the step makes
  double outside;            ///< the least weighted sum of everything that is not in that table
  size_t begin = 0, end = 0; ///< its choices, in StepSurvivors::choices
};

struct StepSurvivors {
  std::vector<SurvivingCell> cells;
  std::unordered_map<uint64_t, uint32_t> indexOfCell;
  std::vector<SurvivingChoice> choices;
  /// For each choice, for each operand made by a step: the index of its cell among that step's cells.
  std::vector<uint32_t> operandCells;
  llvm::SmallVector<uint32_t, 4> producers; ///< those steps
  llvm::SmallVector<uint32_t, 4> producerOperands;
};

/// Walks down from the last eliminated nodes and keeps what is part of an assignment with a weighted sum of at most
/// `threshold`, under the weights of the elimination's last run. Exact: each kept choice has such an assignment. Costs
/// time in proportion to what survives. Empty when more than `maxChoices` survive. The plan must not be relaxed.
std::optional<std::vector<StepSurvivors>> findSurvivors(const Reduction &reduction, const Plan &plan,
                                                        const Elimination &elimination, double threshold,
                                                        size_t maxChoices);

/// The states of a step's local variables in a cell of its table; variable 0 is left 0.
llvm::SmallVector<uint32_t, 6> statesOfCell(const Product &product, uint64_t cell);

} // namespace apc::dp
