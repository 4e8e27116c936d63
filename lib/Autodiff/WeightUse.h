// Parameters that hold weights, and those that hold tables.
#pragma once

#include "apc/IR/Apc.h"

namespace apc {

/// True when a parameter is used, and every use is one that an operator declares to be no weight.
bool holdsTable(ParameterOp parameter);

/// True for a parameter of floats that is neither a table nor a constant of the model, trained or frozen.
bool isWeight(mlir::Value value);

} // namespace apc
