// The shardings that programs say of arguments, results, parameters and transferred values.
#pragma once

#include "apc/IR/Ops/Spmd/Spmd.h"

namespace apc {

/// The sharding and the whole tensor's dims of an argument, result, parameter or transferred value.
struct ShardedShape {
  Sharding sharding;
  llvm::SmallVector<int64_t, 4> dims;
};

/// Reads the attributes of a value of type `type` on a stage's mesh; without a mesh, `mesh` being null, the value is
/// whole on one rank. Errors name `what`.
llvm::Expected<ShardedShape> readShape(mlir::DictionaryAttr attributes, MeshAttr mesh, mlir::Type type,
                                       llvm::StringRef what);

} // namespace apc
