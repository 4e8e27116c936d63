// Seconds below which no pipeline of one point ends a step, over all its cuts and strategies.
#pragma once

#include "apc/Planning/PipelineBound.h"

namespace apc {

/// Everything that the bound of a point depends on: {8, 1, 48, false} is 1f1b, and gpipe.
struct BoundedPoint {
  int64_t workers = 1;
  int64_t chunks = 1;
  int64_t microBatches = 1;
  bool splitsBackward = false; ///< the schedule has I and W in the place of B
};

/// At a cost of a byte: what all bytes of a device cost, and the least that all workers together pay for what one
/// micro-batch keeps for its backward pass, or for ops that run again.
struct ByteBudget {
  double limit = 0, kept = 0;
};

/// The bound of a point with these layers for as many micro-batches; none where there are fewer layers than stages.
///
/// Proof. Stages are runs of layers. Layers take no less in a stage than apart, so a stage takes at least the sums of
/// its layers' `forward` for an F, of `microBatch` for an F with its B or with its I and W, and of `step` for all its
/// actions and its update. A stage waits for the F of the stages before it where each layer follows the one before it:
/// `head`. Of worker r, whose first stage is r:
///
/// - it does nothing before its first F, which has a head, and does one action at a time, then its updates:
///   head of forward + step of its stages;
/// - where B is whole, its last action is a B of its first stage, and then the stages before run theirs for the same
///   micro-batch. F before the first and B behind the last are as much as both passes of one micro-batch:
///   head of both passes + (both passes of all micro-batches of its stages);
/// - one micro-batch takes its way through all stages and back: the sum of both passes, where B is whole;
/// - where layers wait for each other both ways, no worker has anything but F to do before one micro-batch has gone
///   forward through all stages, which takes the sum of their F. All F of m micro-batches are m times that sum of work,
///   so that p workers are idle for p - m times it together where m < p, and no less than that of the layers' forward:
///   (step of all layers + (p - m) (forward of all layers)) / p.
///
/// With one chunk stages and workers are one: the largest of these at the best cut, of all cuts, bounds all (dynamic
/// programming, O(p k^2) for k layers). With several chunks a worker has runs of layers from here and there, and the r
/// stages before its first one have a layer each at least: some worker has no less than the busiest under the best
/// distribution of layers to workers that begin with their heads (`leastLargestShare`).
///
/// Eight even layers of 3 s, 1 s of it forwards, on 4 workers, 8 micro-batches: 66 s with one chunk, (8 + 3) * 6; with
/// two, 57 s, (16 + 3) * 3: what interleaved takes. The bounds of split backward passes are 54 and 51 s.
///
/// Memory: the layers of a worker take the bytes of a device together. At a cost of s seconds for a byte, a worker
/// whose layers take b bytes pays s b, which is no more than s times the limit; so its seconds are no less than the sum
/// of `withBytes` less that: `budgets`, by cost (a Lagrangian bound: Held and Karp, 1971). When the loss of a
/// micro-batch is known, all workers hold what it keeps for its backward pass, or run those ops again later. So the
/// seconds of all workers together are no less than all of `withBytes` and what that costs less all bytes.
std::optional<double> leastSecondsOf(const BoundedPoint &point, llvm::ArrayRef<LayerMinima> layers,
                                     llvm::ArrayRef<ByteBudget> budgets = {});

/// Does the bound of these workers and micro-batches need `LayerMinima::microBatch`? Schedules that split the backward
/// pass do not, and where the request allows one of them for some number of chunks, the least bound is theirs.
bool boundAsksForPasses(const PlanRequest &request, int64_t workers, int64_t microBatches, size_t numLayers);

} // namespace apc
