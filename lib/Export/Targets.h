// The targets, one file each. The functions are those of `ExportTarget`.
#pragma once

#include "apc/Export/Export.h"

namespace apc {

llvm::Expected<TargetLayout> nearestMegatron(const ExportSource &source);
llvm::Expected<Exported> writeMegatron(const ExportSource &source, const ParallelDegrees &layout);

llvm::Expected<TargetLayout> nearestTorchTitan(const ExportSource &source);
llvm::Expected<Exported> writeTorchTitan(const ExportSource &source, const ParallelDegrees &layout);

llvm::Expected<TargetLayout> nearestDeepSpeed(const ExportSource &source);
llvm::Expected<Exported> writeDeepSpeed(const ExportSource &source, const ParallelDegrees &layout);

llvm::Expected<TargetLayout> nearestHuggingFace(const ExportSource &source);
llvm::Expected<Exported> writeHuggingFace(const ExportSource &source, const ParallelDegrees &layout);

llvm::Expected<TargetLayout> nearestGalvatron(const ExportSource &source);
llvm::Expected<Exported> writeGalvatron(const ExportSource &source, const ParallelDegrees &layout);

llvm::Expected<Exported> writeMindSpore(const ExportSource &source, const ParallelDegrees &layout);

llvm::Expected<Exported> writeJax(const ExportSource &source, const ParallelDegrees &layout);
llvm::Expected<Exported> writeDTensor(const ExportSource &source, const ParallelDegrees &layout);
llvm::Expected<Exported> writeAutoParallel(const ExportSource &source, const ParallelDegrees &layout);

llvm::Expected<Exported> writeOnnx(const ExportSource &source, const ParallelDegrees &layout);

llvm::Expected<Exported> writeDot(const ExportSource &source, const ParallelDegrees &layout);
llvm::Expected<Exported> writePerfetto(const ExportSource &source, const ParallelDegrees &layout);

llvm::Expected<Exported> writeChakra(const ExportSource &source, const ParallelDegrees &layout);

} // namespace apc
