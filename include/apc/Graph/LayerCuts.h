// The places of a model at which it is worth to look for a cut into stages.
#pragma once

#include "apc/Graph/Algorithms.h"

#include <vector>

namespace apc {

/// Some of `cutPositions(graph, forwardOps(graph))`, by position: places with contractions of inputs on both sides at
/// which no more bytes cross than at the places around, one between two contractions where the same number crosses all
/// the way; where there are fewer than two, the narrowest between each two contractions. Such a place is left out where
/// fewer bytes cross at the one before and at the one behind. Where runs of ops between places repeat (their rules are
/// equal), one place in each repetition is left, the first with the fewest bytes: one for each layer of a Transformer.
/// Deterministic.
///
/// Bytes 4 9 6 9 9 4 between contractions: the places with 4 bytes.
std::vector<CutPosition> layerCuts(const OpGraph &graph);

} // namespace apc
