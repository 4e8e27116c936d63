// Data of tensors that stands in files beside the model.
#pragma once

#include "Tensors.h"

namespace apc::onnx {

/// The tensor with its data in it, read from the file that `external_data` names, in the folder of `modelPath`. Errors
/// (input) name `what`, location and file: `AbsentData`, also of a location outside the folder; an offset or a length
/// that is no number, a file that cannot be read or is too short.
llvm::Expected<TensorProto> readExternal(TensorProto tensor, const TensorHeader &header, llvm::StringRef modelPath,
                                         llvm::StringRef what);

} // namespace apc::onnx
