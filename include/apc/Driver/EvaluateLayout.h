// `apc evaluate`: the cost of a layout that an expert would use, on the same footing as what a search finds.
#pragma once

#include "apc/Driver/PlanModel.h"

namespace apc {

/// The plan of `layout`: mesh, strategies, cost, memory and reasons, as `planModel` gives them for what it finds;
/// `plan.search` is "layout dp=8,tp=8". Memory may exceed `memoryLimitBytes`: the caller says so.
///
/// What the layout decides: the batch of every op that has one is cut over dp; weights of contractions and tables of
/// embeddings are cut over tp along one of their dims. The rest of tp (columns or rows, heads, the shards of
/// activations between) is what an exact search finds cheapest among strategies that give all of tp to one factor or to
/// none: Megatron's pairs of column and row cuts come out of it (Shoeybi et al., "Megatron-LM", 2019, section 3).
///
/// Errors (input): those of `planModel`; dp x tp does not divide the devices; the batch is smaller than dp.
llvm::Expected<Plan> evaluateLayout(const PlanOptions &options, const Layout &layout);

} // namespace apc
