// The table of a plan's ops, and the layer that they repeat.
#pragma once

#include "apc/Report/Summary.h"

namespace apc {

/// One row for each group of ops, longest first: the first of them or, with `all`, every one. Below it the letters of
/// its strategies.
void printOps(const Plan &plan, bool all, llvm::raw_ostream &os);

/// The groups by compute and communication together; equal ones keep their order.
std::vector<LayerGroup> longestFirst(std::vector<LayerGroup> groups);

/// Seconds of the ops and collectives of all stages, per step: of a pipeline those of all its workers together.
double busySeconds(const Plan &plan);

/// Layers that are told by one number in the names of their ops, and have ops of the same names otherwise.
struct RepeatedLayer {
  std::string pattern; ///< "/model/h.*"
  unsigned count = 0;
  double seconds = 0; ///< of one, on average
};
/// The layers that take the most time together; none where nothing repeats for half of the step at least.
std::optional<RepeatedLayer> repeatedLayer(const Plan &plan);

} // namespace apc
