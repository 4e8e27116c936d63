// The numbers that a model's parameters begin with.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/Import/Import.h"
#include "apc/Import/ModelData.h"

namespace apc {

/// The type of a whole parameter, of which a program may hold a part.
mlir::RankedTensorType wholeTypeOf(ParameterOp parameter);
/// The name of a parameter in the file; a master has that of its parameter.
llvm::StringRef storedNameOf(ParameterOp parameter);
/// The numbers of a whole parameter as they are stored: those of the file, or that its import computed; zeros where it
/// begins with them. Errors: those of `ModelData::tensor`.
llvm::Expected<Tensor> storedNumbers(ParameterOp parameter, const ModelData &data, const FoldedWeights *folded);

} // namespace apc
