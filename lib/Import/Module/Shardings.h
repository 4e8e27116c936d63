// The sharding specs of a model's nodes (ONNX IR 11).
#pragma once

#include "ImportState.h"

namespace apc::onnx {

/// Adds the sharding specs of `node`, one entry for each configuration, to the report under `name`. Errors: a spec of a
/// tensor that is not the node's, parts that are not above 0.
llvm::Error readShardings(const NodeProto &node, llvm::StringRef name, ImportState &state);

/// Fills the numbers of devices of the report's shardings. Error: a configuration that the model does not define.
llvm::Error bindConfigurations(const ModelProto &model, ImportState &state);

} // namespace apc::onnx
