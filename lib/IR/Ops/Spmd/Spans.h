// Positions that depend on the rank, in forms of ONNX.
#pragma once

#include "../OnnxForm.h"

#include "apc/IR/ShardingAttrs.h"

namespace apc {

/// Begin and end of what this device holds of a dim of `size` that the axes cut.
mlir::Value spanOf(OnnxForm &form, AxesAttr axes, int64_t size);

} // namespace apc
