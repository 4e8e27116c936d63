// The ways of batch and sequence through a graph.
#pragma once

#include "apc/Graph/OpGraph.h"

namespace apc {

/// By op the factor that a dim of the graph's inputs runs through, if the op has one.
struct InputFactors {
  std::vector<std::optional<FactorId>> batch; ///< from dim 0
  /// From dim 1 of inputs of two or three dims (tokens, or their vectors). It is the factor of the batch where both are
  /// one dim and the op does not tell them apart. An attention has the sequence of its queries.
  std::vector<std::optional<FactorId>> sequence;
};

/// Does the op stand for an input of the graph?
bool isInput(const GraphOp &op);

/// Follows the dims from op to op, along the first operand that has them.
InputFactors inputFactors(const OpGraph &graph);

/// `inputFactors(graph).batch`.
std::vector<std::optional<FactorId>> batchFactors(const OpGraph &graph);

} // namespace apc
