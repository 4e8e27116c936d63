// Names by which a plan's repeated layers and its mesh are told.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// The name of an op with its numbers as `*`, the same for all repeated layers: "/h.12/MatMul_3" -> "/h.*/MatMul_*".
std::string layerPattern(llvm::StringRef name);

/// The mesh on one line: "data=8 (node) model=4 (device)"; "one device" without axes.
std::string meshText(const Plan &plan);

} // namespace apc
