// Data of parameters: where the files of a model hold it, or what stands for it.
#pragma once

#include "apc/Driver/PlannedProgram.h"
#include "apc/Emit/Emit.h"

namespace apc {

/// Data of each parameter of `model` by its name: a piece of a file beside `modelPath`, bytes that folding left, the
/// value with which a state of an optimizer begins, or the reason why there is none. Fails where a file cannot be read.
llvm::Expected<llvm::StringMap<ParameterData>> findWeightData(mlir::ModuleOp model, llvm::StringRef modelPath,
                                                              const FoldedWeights &folded);

} // namespace apc
