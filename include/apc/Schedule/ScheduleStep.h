// The time of a step of a graph: its program's ops and collectives as events.
#pragma once

#include "apc/Cost/GraphCost.h"
#include "apc/Schedule/SimulateStep.h"

namespace apc {

/// The part of a program's events: one of several equal micro-batches, or the last of them with everything that runs
/// once in a step behind it. A step without micro-batches is all `Last`.
enum class StepSection : uint8_t { MicroBatch, Last };

/// The events of a program that `costOfGraph` costed, in the order of the program. The main stream waits for
/// collectives whose first user is exposed to them (`Exposures`), and for all of a bucket in which one is; others
/// run beside it. Collectives of one move follow each other. A collective begins when everything in front of it on the
/// main stream is over (`GraphMove::before`), an op when the collectives are over that bring what it reads. A
/// collective that runs once but reads a sum over micro-batches is sent right behind that sum's last op. Copies of a
/// micro-batch take turns on the main stream: one goes on when another would wait for a collective that it just began.
std::vector<StepEvent> stepEvents(const OpGraph &graph, const GraphCost &cost, const CostModel &model,
                                  StepSection part = StepSection::Last);

/// The rates of a device while it computes and communicates.
OverlapRates overlapRates(const Device &device);

/// The time of a step. In training its events are simulated: each micro-batch apart, with all of its copies, without an
/// overlap from one to the next. A forward pass is a chain, in which each op waits for the collective before it: its
/// time is the sum.
StepTime stepTime(const OpGraph &graph, const GraphCost &cost, const CostModel &model);
/// The time of the same program where collectives may run beside ops, whatever the graph says (`OpGraph::overlaps`): a
/// step of training simulated as in `stepTime`, so 0.9 s where that is 0.7 s of ops and 0.5 s of collectives, of which
/// 0.3 s hide. A forward pass takes its sum.
StepTime overlappedTime(const OpGraph &graph, const GraphCost &cost, const CostModel &model);

} // namespace apc
