// Cuts into stages of equally many layers.
#pragma once

#include "apc/Graph/OpGraph.h"

#include <vector>

namespace apc {

/// The places in `forwardOps(graph)` at which layers begin that repeat: runs of ops between places of `layerCuts` with
/// equal rules. The ops before the first of them and behind the last (embedding, head) count as a layer where as many
/// contractions are among them as in one. 96 layers of GPT-3: 96 places, the first of which is 0. Empty without
/// repetition.
std::vector<size_t> layerStarts(const OpGraph &graph);

/// Cuts into stages of equally many layers; empty where the layers do not divide into the stages.
std::vector<size_t> layerwiseCuts(const OpGraph &graph, size_t numStages);

} // namespace apc
