// `dp` under a binding memory limit: the choices that can still be part of an answer within a distance of the bound.
#pragma once

#include "Elimination.h"

#include <unordered_map>

namespace apc::dp {

/// One choice for a step's node and its neighbours.
struct SurvivingChoice {
  uint32_t strategy; ///< of the step's node
  double value;      ///< the minimal weighted sum of a whole assignment with this choice
};

/// A surviving choice of a step's neighbours, with the surviving choices of its node.
struct SurvivingCell {
  uint64_t cell;             ///< index in the table that the step makes
  double outside;            ///< the minimal weighted sum of everything outside that table
  size_t begin = 0, end = 0; ///< its choices, in StepSurvivors::choices
};

struct StepSurvivors {
  std::vector<SurvivingCell> cells;
  std::unordered_map<uint64_t, uint32_t> indexOfCell;
  std::vector<SurvivingChoice> choices;
  /// For each choice, for each operand that a step makes: the index of its cell among that step's cells.
  std::vector<uint32_t> operandCells;
  llvm::SmallVector<uint32_t, 4> producers;        ///< the steps that make operands
  llvm::SmallVector<uint32_t, 4> producerOperands; ///< the operand that each of them makes
};

/// Walks from the last eliminated nodes to the first, and keeps the choices of all assignments with a weighted sum of
/// at most `threshold`, under the weights of the last run. Exact: each kept choice has such an assignment. The time is
/// in proportion to the number of kept choices. Empty when more than `maxChoices` survive. The order must not be
/// relaxed.
std::optional<std::vector<StepSurvivors>> findSurvivors(const ReducedProblem &reduced, const EliminationOrder &order,
                                                        const Elimination &elimination, double threshold,
                                                        size_t maxChoices);

/// The states of a step's local variables in a cell of its table; variable 0 stays 0.
llvm::SmallVector<uint32_t, 6> statesOfCell(const Product &product, uint64_t cell);

} // namespace apc::dp
