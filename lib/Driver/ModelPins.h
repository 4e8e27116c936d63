// Pins from the sharding specs that a model holds (ONNX IR 11).
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Import/Import.h"
#include "apc/Plan/Pins.h"

namespace apc {

/// One pin for each op whose node has a sharding for a configuration of `devices` devices: the factors of the tensors
/// with a spec as the spec says, uncut where it says nothing; other factors are open. Where a node has several such
/// configurations, the first counts. Notes say what is not used. Errors (input) name `path`, node, tensor and dim: a
/// dim that the tensor does not have; specs of one node that disagree about a factor.
llvm::Expected<std::vector<Pin>> modelPins(const OpGraph &graph, const ImportReport &report, int64_t devices,
                                           llvm::StringRef path, std::vector<std::string> &notes);

} // namespace apc
