// Plans that were made in a share of the time that their user gave.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// "the time limit of 60 s"
std::string timeLimitText(double seconds);

/// \p plan, made within its own request's limit, as a plan of \p request: the limit becomes that of \p request, and
/// notes name it in place of the share that nobody set.
///
///   of 20 s, 10.29 s for this point: "the time limit of 10.29 s was over" -> "its share of the time limit of 20 s ..."
Plan withTimeLimitOf(const PlanRequest &request, Plan plan);

/// The notes of \p searched which tell that the time was over before the search, or the references beside it, were
/// done: they hold for a layout that takes the place of the plan, too. Not those on what the plan itself lacks.
std::vector<std::string> notesOnSearchTime(const Plan &searched);

} // namespace apc
