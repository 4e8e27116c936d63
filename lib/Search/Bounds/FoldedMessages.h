// The messages of TRW-S on a folded problem, as the start on the whole.
#pragma once

#include "../Reduce/Folding.h"
#include "TrwsBound.h"

namespace apc {

/// How many edges of the whole each edge of the folded problem stands for, by edge of its weighted problem.
std::vector<double> copiesOfEdges(const Folding &folding, const ReducedProblem &folded);

/// A folded problem has few nodes, so that many passes over it cost less than one over the whole. Each edge of the
/// whole gives its nodes an equal part of what the edge that stands for it has given. That changes the cost of no
/// assignment, so the bound on the whole is proven, and it is that of the folded problem, but for classes whose nodes
/// differ in their neighbours.
/// Example: 96 edges that one edge stands for. It has given a strategy 0.96 s; each of them gives it 0.01 s.
class FoldedMessages {
public:
  /// The messages of \p trws, passed on \p folded under a weight of a byte. \p problem is the whole.
  FoldedMessages(const Problem &problem, const Folding &folding, const WeightedProblem &folded, const TrwsBound &trws,
                 double secondsPerByte);

  /// The weight of a byte under which they were passed.
  double getSecondsPerByte() const { return secondsPerByte; }

  /// Gives the messages to \p trws, new on \p whole: tables of \p problem, the whole, or of a part of its strategies.
  /// Returns the bound that they give under the current weights, without `constantSeconds`; empty when no assignment
  /// is possible.
  std::optional<double> start(const Problem &problem, const WeightedProblem &whole, TrwsBound &trws) const;

private:
  /// By strategy of the problem; 0 where nothing was given.
  struct Given {
    std::vector<double> from, to;
  };

  void read(const Folding &folding, const WeightedProblem &folded, const TrwsBound &trws, const Potential &potential,
            uint32_t edge);

  double secondsPerByte;
  std::vector<std::optional<EdgeId>> edgeOf; ///< by edge of the whole: the one that stands for it
  std::vector<double> numOf;                 ///< by folded edge: the edges of the whole that it stands for
  std::vector<Given> givenBy;                ///< by folded edge: to each of these
};

} // namespace apc
