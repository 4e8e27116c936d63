// Ops of a model by which a sample depends on others of its batch.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace apc {

/// The name of the first op of `main`, a forward pass, whose result still has the rows of the batch, though each of
/// them depends on other samples: x - mean(x) over the batch, a softmax or a recurrence along it. In micro-batches,
/// samples depend on those of their own alone. Empty where there is none. Batch normalisations count where they are ops
/// of their own.
std::string mixerOfSamples(mlir::func::FuncOp main);

} // namespace apc
