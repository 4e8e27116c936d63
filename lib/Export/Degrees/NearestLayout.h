// Things of a layout that several tools lack, and the layouts near it that they have.
#pragma once

#include "../ModelLayers.h"
#include "../Targets.h"

namespace apc {

/// The same layout with whole micro-batches, where it has copies of them; \p runner runs no copies ("Megatron").
void runWhole(TargetLayout &nearest, llvm::StringRef runner);

/// Says which stages begin inside of layers; \p tool cuts between layers.
void cutBetweenLayers(TargetLayout &nearest, const ModelLayers &layers, llvm::StringRef tool);

} // namespace apc
