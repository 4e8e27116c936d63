// The time of a step of a graph: its program's ops and collectives as events.
#pragma once

#include "apc/Cost/GraphCost.h"
#include "apc/Schedule/SimulateStep.h"

namespace apc {

/// The part of a program's events: one of several equal micro-batches, or the last of them with everything that runs
/// once in a step behind it. A step without micro-batches is all `Last`.
enum class StepSection : uint8_t { MicroBatch, Last };

/// The events of a program that `costOfGraph` costed, in the order of the program. Ops run on stream 0. Collectives of
/// one move follow each other, each on the stream of the outermost level that its group spans: 1 for the outermost
/// level of the mesh, 2 for the next. A collective begins when everything in front of it on the compute stream is over
/// (`GraphMove::before`), an op when the collectives are over that bring what it reads. A collective that runs once but
/// reads a sum over micro-batches is sent right behind that sum's last op.
std::vector<StepEvent> stepEvents(const OpGraph &graph, const GraphCost &cost, const CostModel &model,
                                  StepSection part = StepSection::Last);

/// The rates of a device while it computes and communicates.
OverlapRates overlapRates(const Device &device);

/// The time of a step. In training its events are simulated: each micro-batch apart, without an overlap from one to the
/// next. A forward pass is a chain, in which each op waits for the collective before it: its time is the sum.
StepTime stepTime(const OpGraph &graph, const GraphCost &cost, const CostModel &model);

/// For every operand of every op: is the op the first that takes time behind the one that makes what it reads, so that
/// nothing runs while the operand is brought to it? Of several such operands of one op one counts, for their
/// collectives may run beside each other; it counts with the views that it comes through. By op and operand.
///
/// Ops that may wait for a bucket of \p fusion have none, for others may run before them.
///
/// Example: y = x w; z = relu(y); x is an input. Of relu the operand y is exposed, of the product none.
std::vector<llvm::SmallVector<bool, 4>> exposedOperands(const OpGraph &graph, const Fusion &fusion = {});

/// The streams on which the collectives of a mesh run: its levels.
unsigned numStreams(const Mesh &mesh);

} // namespace apc
