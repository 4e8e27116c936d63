// A layout on the devices that work on one graph, a model's or that of a stage.
#pragma once

#include "../Task.h"
#include "LayoutMesh.h"

#include "apc/Plan/ParallelDegrees.h"
#include "apc/Planning/BuildProblem.h"
#include "apc/Sharding/RedistributionSeconds.h"

namespace apc {

/// A layout on one pool: its mesh, and the seconds of moves of values alone, which graphs that are carried out there
/// share.
struct LayoutCosts {
  LayoutCosts(const Pool &pool, LayoutMesh arranged)
      : mesh(std::move(arranged)), model(pool, mesh.mesh),
        moves(mesh.mesh, [model = model](const Collective &each) { return model.collectiveSeconds(each); }) {}

  LayoutMesh mesh;
  CostModel model;
  RedistributionSeconds moves;
};

/// Errors (internal): the degrees do not fit the levels; (input): the ranks of a shard do not lie next to each other.
llvm::Expected<std::unique_ptr<LayoutCosts>> costsOfLayout(const Pool &pool, const ParallelDegrees &layout);

/// A layout on the devices of a task, as fast as can be, whatever the memory.
struct CarriedLayout {
  Candidate fastest;
  PlanningProblem planning; ///< what the layout leaves open
};

/// The cheapest way to carry out what dp, tp, cp, ep, sp and zero of a layout leave open, on all or some devices of the
/// task. \p costs: of the layout on the task's pool. Errors: those of the search.
llvm::Expected<CarriedLayout> carryOutLayout(const PlanningTask &task, const ParallelDegrees &layout,
                                             LayoutCosts &costs);

/// The cheapest way within the memory limit of the task; none where none is found. \p carried: of the same graph, or of
/// it with another number of micro-batches in flight.
std::optional<Candidate> carryOutWithin(const PlanningTask &task, const ParallelDegrees &layout,
                                        const CarriedLayout &carried, const LayoutCosts &costs);

/// Errors (input): a batch that dp cannot cut, sequences or experts that the model does not have.
llvm::Error checkLayoutOnModel(const PlanningTask &task, const ParallelDegrees &layout);

/// Devices that the layout leaves idle, stages of ZeRO that change nothing, a pipeline of one micro-batch; empty for
/// none.
std::string remarkOnLayout(const PlanningTask &task, const ParallelDegrees &layout);

} // namespace apc
