// The time of a step whose events run on a compute stream and on communication streams beside it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace apc {

/// One thing that a device does: an op, or a collective of one value or of several.
struct StepEvent {
  unsigned stream = 0;                  ///< 0: compute; others: one for each kind of links
  double seconds = 0;                   ///< while nothing else runs
  llvm::SmallVector<unsigned, 2> after; ///< earlier events that must be over before this one begins
};

/// The shares of their speed that the streams keep while a compute event and a collective run at the same time, in (0,
/// 1]. At 0.8 an op of 4 s takes 5 s beside a collective.
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
/// of `after`, are over. Rates are constant between two ends of events, so the time is exact up to rounding. Events
/// are n, streams s: O(n s) time.
///
/// Example: ops of 4 s and 4 s and a collective of 3 s behind the first, which nothing waits for: 8 s at rates of 1.
///
/// Where the two rates are 1/2 or more, the time lies between the largest sum of a stream and the sum of all events.
StepTime simulateStep(llvm::ArrayRef<StepEvent> events, OverlapRates rates = {});

/// A bound: compute C, U exposed, H hideable >= compute, exposed and hideable seconds, each times its weight.
struct TimeWeights {
  double compute = 1, exposed = 1, hideable = 1;
};

/// Weightings of a program's seconds by which no step takes less, whatever is hidden behind what: C seconds of ops, U
/// of collectives while which no op can run, and H of others, on s communication streams.
///
/// Let A be the time during which ops and collectives run together, B that of ops alone, D that of collectives alone,
/// c and k the rates. Ops take C = c A + B, so the step is A + B + D = C + (1 - c) A + D. D is U at least, and the
/// streams do U + H <= s (k A + D).
/// 1. D costs 1 / s a second of collectives, A (1 - c) / (s k). With a = (1 - c) / k, at most 1, the least is reached
/// at
///    D = U, where A = (H - (s - 1) U) / (s k): C + (1 - a (s - 1) / s) U + (a / s) H.
/// 2. C + U, which 1 is where s is 1 and a is 0.
/// 3. The step takes as long as a stream, and the longest has (U + H) / s: half of 1 and half of that.
std::vector<TimeWeights> boundingWeights(OverlapRates rates, unsigned numStreams);

} // namespace apc
