// Settings of a training step beside its layout, and those that a tool is not told.
#pragma once

#include "../Targets.h"

namespace apc {

/// A setting that some tools have a word for.
enum class StepSetting : uint8_t { Overlap, Clipping, WideSums, LossScale, Figures, Optimizer };

/// Adds a sentence for each setting of the request that is not the usual one and not among \p told. Usual are AdamW
/// with PyTorch's figures, gradients as they come, and collectives in turn with ops. \p tool: "DeepSpeed".
void tellSettings(const ExportSource &source, llvm::ArrayRef<StepSetting> told, llvm::StringRef tool,
                  TargetLayout &nearest);

/// The weight decay of the request, or PyTorch's for its optimizer.
double weightDecayOf(const PlanRequest &request);

/// Are gradients in 16 bits summed in 32?
bool sumsInWide(const ExportSource &source);

} // namespace apc
