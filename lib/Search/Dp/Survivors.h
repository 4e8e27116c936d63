// `dp` under a binding memory limit: the choices that can still be part of an answer within a distance of the bound.
#pragma once

#include "Elimination.h"

#include <unordered_map>

namespace apc::dp {

/// One choice for the eliminated node of a product, and for its neighbours.
struct SurvivingChoice {
  uint32_t strategy; ///< of the eliminated node
  double value;      ///< the minimal weighted sum of a whole assignment with this choice
};

/// A surviving choice of the neighbours, with the surviving choices of the eliminated node.
struct SurvivingCell {
  uint64_t cell;             ///< index in the table that the product makes
  double outside;            ///< the minimal weighted sum of everything outside that table
  size_t begin = 0, end = 0; ///< its choices, in ProductSurvivors::choices
};

/// Of all steps with this product together: repeated layers share them. A choice survives where it does at one step.
struct ProductSurvivors {
  std::vector<SurvivingCell> cells;
  std::unordered_map<uint64_t, uint32_t> indexOfCell;
  std::vector<SurvivingChoice> choices;
  /// For each choice, for each operand that a product makes: the index of its cell among that product's cells.
  std::vector<uint32_t> operandCells;
  llvm::SmallVector<uint32_t, 4> makers;        ///< the products that make operands, in the order of the operands
  llvm::SmallVector<uint32_t, 4> makerOperands; ///< the operand that each of them makes
};

/// Walks from the last products to the first, and keeps the choices of all assignments with a weighted sum of at most
/// `threshold`, under the weights of the last run. Exact: each kept choice has such an assignment. The time is in
/// proportion to the number of kept choices. Empty when more than `maxChoices` survive. The order must not be relaxed.
std::optional<std::vector<ProductSurvivors>>
findSurvivors(const EliminationOrder &order, const Elimination &elimination, double threshold, size_t maxChoices);

/// The states of a product's local variables in a cell of its table; variable 0 stays 0.
llvm::SmallVector<uint32_t, 6> statesOfCell(const Product &product, uint64_t cell);

} // namespace apc::dp
