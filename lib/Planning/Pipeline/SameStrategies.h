// The strategies of one stage for another of the same model.
#pragma once

#include "StageAnswers.h"

namespace apc {

/// By op of `graph`, the strategy of the op that stands at its place in the layers of `other`; none where there is no
/// such op, or where it is another kind of op, or tied to others.
std::vector<std::optional<Strategy>> strategiesAsIn(const StageAnswer &other, const OpGraph &graph);

} // namespace apc
