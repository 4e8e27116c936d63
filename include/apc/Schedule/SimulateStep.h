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
  double hostSeconds = 0;                 ///< beyond both: the device waits for launches of a slower host

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

/// A bound: the seconds of each kind >= each times its weight. Of collectives beside ops, those are near that only a
/// few ops can hide, which cover them.
struct TimeWeights {
  double compute = 1;  ///< of ops that cover nothing near
  double covering = 1; ///< of the others
  double exposed = 1;  ///< of collectives on the main stream
  double near = 1;     ///< of collectives beside ops
  double hideable = 1; ///< of the other collectives beside ops

  /// The sum of weights, each times its share. As much a bound as all are, where the shares add up to 1.
  static TimeWeights mixed(llvm::ArrayRef<TimeWeights> weights, llvm::ArrayRef<double> shares);
};

/// Weightings of a program's seconds by which no step takes less, whatever is hidden behind what: C seconds of ops, of
/// them V by those that cover what is near; collectives, U on the main stream, N near ones and H others beside it.
///
/// Let ops and collectives run together for A seconds, and collectives beside a main stream that stands still for D; c
/// and k are the rates. Ops take C = c A + B, so the step is A + B + U + D = C + U + (1 - c) A + D. The second stream
/// does N + H = k A + D, and A is at most C / c; of that, at most V / c with near ones.
/// 1. Collectives beside ops cost a = (1 - c) / k a second, others 1: C + U + min(1, a) (N + H).
/// 2. Where a is less than 1, a step in which all ops run beside collectives takes least for its H. Then A is C / c and
///    D = N + H - k C / c: (1 - k) / c C + U + N + H.
/// 3. The same for near ones alone: C - V + (1 - k) / c V + U + N + a H.
std::vector<TimeWeights> boundingWeights(OverlapRates rates);

} // namespace apc
