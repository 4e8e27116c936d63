// A layout on the devices that work on one graph, a model's or that of a stage.
#pragma once

#include "../Task.h"
#include "LayoutMesh.h"

#include "apc/Plan/ParallelDegrees.h"
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

/// Errors (internal): the degrees do not fit the levels.
llvm::Expected<std::unique_ptr<LayoutCosts>> costsOfLayout(const Pool &pool, const ParallelDegrees &layout);

/// The cheapest way to carry out what dp, tp, cp, ep, sp and zero of a layout leave open, on all or some devices of the
/// task. Where that does not fit and \p keepsToLimit is set, the cheapest way within the limit, if there is one. Errors
/// (internal): the degrees do not fit the levels.
llvm::Expected<Candidate> carryOutLayout(const PlanningTask &task, const ParallelDegrees &layout, bool keepsToLimit);
/// The same with the costs of \p layout on the task's pool.
llvm::Expected<Candidate> carryOutLayout(const PlanningTask &task, const ParallelDegrees &layout, bool keepsToLimit,
                                         LayoutCosts &costs);

/// Errors (input): a batch that dp cannot cut, sequences or experts that the model does not have.
llvm::Error checkLayoutOnModel(const PlanningTask &task, const ParallelDegrees &layout);

/// Devices that the layout leaves idle, stages of ZeRO that change nothing, a pipeline of one micro-batch; empty for
/// none.
std::string remarkOnLayout(const PlanningTask &task, const ParallelDegrees &layout);

} // namespace apc
