// Requests near one that has no plan: what a user may change to get one.
#pragma once

#include "apc/Plan/PlanRequest.h"

namespace apc {

/// A request with one change: {"--recompute full", ...}.
struct Alternative {
  std::string flags; ///< as the user would write the change
  PlanRequest request;
};

/// Changes of one setting.
struct Alternatives {
  std::vector<Alternative> nearestFirst; ///< the first that fits makes the others needless
  bool isLastResort = false;             ///< of interest only where no other change fits
};

/// Settings to change of a training step that does not fit: the stage of ZeRO, recomputation, micro-batches, precision,
/// optimizer, devices, each in a list of its own; recomputation and micro-batches together as the last resort. Their
/// plans need to fit and not to be the fastest, so the requests ask for any answer.
///
/// \p batch: samples of a step; none where they are unknown, and then no micro-batches are offered.
/// \p isTooMuchHeld: neither storage, recomputation nor micro-batches can help, and are left out.
std::vector<Alternatives> alternativesTo(const PlanRequest &request, std::optional<int64_t> batch, bool isTooMuchHeld);

} // namespace apc
