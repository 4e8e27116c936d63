// Pins from the sharding specs that a model holds (ONNX IR 11).
#pragma once

#include "apc/Import/Import.h"
#include "apc/Planning/Planning.h"

namespace apc {

/// The pins that a model brings along for a request. None where the request leaves them out or cuts the batch alone.
/// One pin for each op whose node has a sharding for a configuration of `devices` devices: the factors of the tensors
/// with a spec as the spec says, uncut where it says nothing; other factors are open. Where a node has several such
/// configurations, the first counts. The order of devices is the plan's own. Notes name the shardings that are not
/// used. Errors (input) name the model, node, tensor and dim: a dim that the tensor does not have; specs of one node
/// that disagree about a factor; nodes behind a pipeline's first stage, or on some of the devices.
llvm::Expected<ModelPins> modelPins(const OpGraph &graph, const ImportReport &report, const PlanRequest &request,
                                    int64_t devices);

} // namespace apc
