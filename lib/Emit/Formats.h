// The formats of the table in Emitters.cpp, one file each.
#pragma once

#include "apc/Emit/Emit.h"

namespace apc {

llvm::Error emitMlir(const EmitRequest &request, AddFile addFile);
llvm::Error emitShardMlir(const EmitRequest &request, AddFile addFile);

} // namespace apc
