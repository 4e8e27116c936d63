// The operand of an op that tensor parallelism cuts.
#pragma once

#include "apc/Graph/OpGraph.h"

#include <optional>
#include <vector>

namespace apc {

/// The operand of a contraction, or the table of an embedding, that is a weight and that tp therefore cuts, if the op
/// has one. The mask of an attention, which may be made of constants alone, is none: tp cuts the heads. \p isWeight
/// says by value which are weights (OpGraph::weights).
std::optional<unsigned> cutWeight(const OpGraph &graph, const std::vector<bool> &isWeight, OpId op);

} // namespace apc
