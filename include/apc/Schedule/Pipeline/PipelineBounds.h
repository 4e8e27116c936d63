// Seconds below which no order of actions ends a step.
#pragma once

#include "apc/Schedule/Pipeline/SimulatePipeline.h"

namespace apc {

/// A lower bound of the step of any lists for `shape` and `work`; `splitsBackward` allows lists with I and W.
///
/// With one stage s per worker, hops of c and m micro-batches it is the largest of these, where b = i + w:
///   whole B: (f before s) + m (f + b of s) + (b before s) + 2 s c, for every s; sum f + sum b + 2 (p - 1) c
///   split B: (f before s) + s c + m (f + b of s); (f before s) + m (f + i of s) + (i before s) + 2 s c + w of stage 0;
///            sum f + sum i + 2 (p - 1) c + w of stage 0
///
/// Proof. A worker's first action is an F of its first stage s (an F of a later stage of its own needs one of s), which
/// has come through all stages before s: the head. The worker then runs all its actions, one at a time: the load. Its
/// last action is a B of stage s, because a B of a later stage of its own, and every F, is followed by one of s; that
/// micro-batch still goes back through all stages before s. So the last B of a stage ends no sooner than head and load
/// say, nor sooner than the last B of the next stage, a hop and its own B. With split backward passes the last I takes
/// the place of the last B, the load of F and I that of the load, and a W follows the last I; the whole load holds for
/// the end of the list. Where a link carries one message at a time, all of m messages take their time between the first
/// F before the link and the way on of the last. The tail only adds to
/// the ends of the lists.
double pipelineBound(const PipelineShape &shape, const PipelineWork &work, bool splitsBackward);

} // namespace apc
