// The choice of values whose collectives may be taken together.
#pragma once

#include "apc/Cost/Fusion.h"
#include "apc/Plan/PlanRequest.h"

namespace apc {

/// The groups of a training step, as `--fusion-bytes` allows them; none for inference. Values of one group have
/// elements of one type and a common purpose:
///
/// - parameters, and views of them: gathered for their use;
/// - new values of parameters: gathered after the update;
/// - gradients: what nothing but updates, and sums and squares that are decided with them, read; of these, sums over
///   micro-batches apart;
/// - squares of gradients, of which a norm is made: single numbers.
///
/// Nothing of these is waited for by the forward or backward pass but parameters, which are there from the start.
/// \p layerElements: of the parameters of a layer (`elementsOfLayer`), by which gathered parameters and gradients that
/// are reduced into parts travel at most.
Fusion fusionOf(const OpGraph &graph, const PlanRequest &request, std::optional<int64_t> layerElements = {});

/// Of the parameters that the middle one of equal layers reads; none where the graph repeats none.
std::optional<int64_t> elementsOfLayer(const OpGraph &graph);

} // namespace apc
