// The passes of this room, for apc-opt.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace apc {

/// `--apc-print-rules`: one line to stdout for each apc op, `apc.matmul: m k, k n -> m n {m=8, ...} flops=2`. A rule
/// that cannot be bound is an error.
std::unique_ptr<mlir::Pass> createPrintRulesPass();

/// Makes all passes known by name.
void registerTransformsPasses();

} // namespace apc
