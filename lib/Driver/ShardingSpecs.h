// The sharding specs of one node (ONNX IR 11) as a pin.
#pragma once

#include "apc/Import/Import.h"
#include "apc/Plan/Pins.h"

namespace apc {

/// The factors of the tensors with a spec are cut as the spec says, or stay whole where it says nothing; other factors
/// are open. `rule` is that of the node's op. Errors (input) begin with `source` and name the tensor and dim: a dim
/// that the tensor does not have; specs that disagree about a factor.
llvm::Expected<Pin> pinOf(const FactorRule &rule, const NodeSharding &sharding, llvm::StringRef source);

} // namespace apc
