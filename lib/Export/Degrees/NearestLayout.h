// Things of a layout that several tools lack, and the layouts near it that they have.
#pragma once

#include "../ModelLayers.h"
#include "../Refusals.h"
#include "../Targets.h"

namespace apc {

/// Refuses workers of unequal devices, each of which has degrees of its own.
void refuseUnequalWorkers(const Plan &plan, Refusals &refusals);

/// The same layout with whole micro-batches, where it has copies of them; \p runner runs no copies ("Megatron").
void runWhole(TargetLayout &nearest, llvm::StringRef runner);

/// Ranks of dp that hold the same parts of what ZeRO cuts: all of them without ZeRO, one with it, and with a shard one
/// of each group. dp=16,zero=3,shard=8: 2.
int64_t replicasOf(const ParallelDegrees &layout);

/// The same layout with ZeRO over all ranks of dp and cp; \p runner cuts over no groups of them ("DeepSpeed").
void cutOverAll(TargetLayout &nearest, llvm::StringRef runner);

/// The same where groups of them hold a part of the ranks of cp; \p runner cuts over all of these ("torchtitan").
void cutOverContexts(TargetLayout &nearest, llvm::StringRef runner);

/// The same where whole experts are not spread; \p tool cuts them over ranks of tp, too.
void cutCopiedExperts(TargetLayout &nearest, llvm::StringRef tool);

/// Says which stages begin inside of layers; \p tool cuts between layers.
void cutBetweenLayers(TargetLayout &nearest, const ModelLayers &layers, llvm::StringRef tool);

} // namespace apc
