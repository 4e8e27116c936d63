// The formats of the table in Emitters.cpp, one file each.
#pragma once

#include "apc/Emit/Emit.h"

namespace apc {

llvm::Error emitMlir(const EmitRequest &request, AddFile addFile);
llvm::Error emitShardMlir(const EmitRequest &request, AddFile addFile);
llvm::Error emitStablehlo(const EmitRequest &request, AddFile addFile);
llvm::Error emitSdy(const EmitRequest &request, AddFile addFile);
llvm::Error emitTorch(const EmitRequest &request, AddFile addFile);
/// The files that all stages share.
llvm::Error emitTorchRuntime(const EmitOptions &options, AddFile addFile);
llvm::Error emitOnnx(const EmitRequest &request, AddFile addFile);
llvm::Error emitOnnxRuntime(const EmitOptions &options, AddFile addFile);
llvm::Error emitTensorRt(const EmitRequest &request, AddFile addFile);
llvm::Error emitTensorRtRuntime(const EmitOptions &options, AddFile addFile);

} // namespace apc
