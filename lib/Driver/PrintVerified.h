// The answer of `apc verify`, for people and for scripts.
#pragma once

#include "apc/Driver/VerifyPlan.h"

namespace apc {

/// A few lines; `seconds` is how long the verification took.
std::string verifiedSummary(const Plan &plan, const VerifiedPlan &verified, double seconds);
/// One JSON document: "verified", "operators", "collectives", ..., "outputs".
std::string verifiedDocument(const Plan &plan, const VerifiedPlan &verified);

} // namespace apc
