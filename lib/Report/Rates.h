// Speeds of a plan as texts.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// Where an input is named for its tokens ("input_ids") and has a sequence behind its batch; none for other models.
std::optional<double> tokensPerSecond(const Plan &plan);

/// 22888.4 -> "22,888"; below 100 three digits: "4.17".
std::string rateText(double perSecond);

/// 1 and 8 -> "12.5 %"; "-" of nothing.
std::string percent(double part, double whole);

} // namespace apc
