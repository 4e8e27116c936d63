// The time of a step whose events run on a compute stream and on communication streams beside it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace apc {

/// An op; a collective for which the ops behind it wait; one that runs beside ops.
enum class StepEventKind : uint8_t { Op, Collective, CollectiveBeside };

/// One thing that a device does: an op, or a collective of one value or of several. Ops and collectives for which they
/// wait follow each other on the main stream, collectives beside them on a second one.
struct StepEvent {
  StepEventKind kind = StepEventKind::Op;
  double seconds = 0;                   ///< while nothing else runs
  llvm::SmallVector<unsigned, 2> after; ///< earlier events that must be over before this one begins
};

/// The shares of their speed that an op and a collective keep while both run, in (0, 1]. At 0.8 an op of 4 s takes 5 s
/// beside a collective.
struct OverlapRates {
  double compute = 1, communication = 1;
};

/// {10, 8, 4, 2}: 8 s of ops and 4 s of collectives took 10 s.
struct StepTime {
  double seconds = 0;
  double computeSeconds = 0;              ///< the sum of the ops
  double communicationSeconds = 0;        ///< the sum of the collectives
  double exposedCommunicationSeconds = 0; ///< the time beyond `computeSeconds`: waiting, and slower ops

  /// One after the other.
  StepTime &operator+=(const StepTime &other);
  /// `count` times, one after the other.
  StepTime times(double count) const;
};

/// Runs events in the order of their list on each stream: an event begins when the one before it on its stream, and all
/// of `after`, are over. A collective beside ops stands still while the main stream communicates: links are taken once.
/// Rates are constant between two ends of events, so the time is exact up to rounding. O(n) time for n events.
///
/// Example: ops of 4 s and 4 s and a collective of 3 s beside the second, which nothing waits for: 8 s at rates of 1.
///
/// The time is never less than the sum of either stream; where the two rates are 1/2 or more, never more than both.
StepTime simulateStep(llvm::ArrayRef<StepEvent> events, OverlapRates rates = {});

/// A bound: ops C, collectives on the main stream U, others H >= compute, exposed and hideable seconds, each times its
/// weight.
struct TimeWeights {
  double compute = 1, exposed = 1, hideable = 1;

  /// `share` of these weights, the rest of the others: as much a bound as both are.
  TimeWeights mixedWith(const TimeWeights &other, double share) const;
};

/// Weightings of a program's seconds by which no step takes less, whatever is hidden behind what: C seconds of ops and
/// U of collectives on the main stream, and H of collectives beside it.
///
/// Let ops and collectives run together for A seconds, and collectives beside a main stream that stands still for D; c
/// and k are the rates. Ops take C = c A + B, so the step is A + B + U + D = C + U + (1 - c) A + D. The second stream
/// does H = k A + D, and A is at most C / c.
/// 1. Collectives beside ops cost (1 - c) / k a second, others 1: C + U + min(1, (1 - c) / k) H.
/// 2. Where (1 - c) / k is less than 1, a step in which all ops run beside collectives takes least for its H. Then A is
///    C / c and D = H - k C / c: (1 - k) / c C + U + H.
std::vector<TimeWeights> boundingWeights(OverlapRates rates);

} // namespace apc
