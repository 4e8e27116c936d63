// A smaller model of the same structure: fewer of the layers that repeat.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Keeps the first `count` layers of every run of more (apc/IR/Program/Repetition.h), in place, and returns how many
/// are gone. What reads the last layer reads the last one kept; results of `main` that only the layers left out give
/// are gone, like their parameters and inputs. Op names stay.
///
///   96 layers, count 2: 2 layers; `past_5` and `present_5` are no input and no output any more.
///
/// Errors (input): no layers repeat, count < 1; or a value of a layer in the middle is read beyond it, so that the
/// layers cannot be left out, with the op that reads it.
llvm::Expected<unsigned> keepLayers(mlir::ModuleOp module, int64_t count);

} // namespace apc
