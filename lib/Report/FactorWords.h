// Words for the letters of strategies, and for the axes that the letters give work to.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// A letter as a legend names it, and its meaning: "b0" is the batch, "k" is summed.
struct FactorWord {
  std::string letter; ///< as in strategies; letters that are numbered stand for all: "d0, d1, .."
  std::string word;
};

/// The meaning of `factor` in an op with the bound rule `rule` (`PlanRejections::rule`).
FactorWord wordOf(llvm::StringRef factor, llvm::StringRef rule);

/// The letters of a plan's strategies, each once, in the order of the table of words:
/// "b0 batch; m rows; n columns; k summed".
std::string legendOf(const Plan &plan);

/// The work that each axis of a stage cuts, most seconds first: "node: batch; device: heads, columns, summed". An axis
/// over which nothing is cut is idle.
std::string carriesText(const StagePlan &stage);

} // namespace apc
