// The experts of a mixture: weights that hold one matrix for each, and what is computed with them.
#pragma once

#include "apc/Graph/OpGraph.h"

namespace apc {

/// By op the factor that tells experts apart, if the op has one: of contractions with a weight in which every expert
/// has a matrix of its own (`e g c d, e d f -> e g c f`), of the ops between them, of the weights, their gradients'
/// sums, their states and updates.
std::vector<std::optional<FactorId>> expertFactors(const OpGraph &graph);

} // namespace apc
