// A smaller model of the same structure: narrower.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Divides by `divisor`, in place, every dim that runs through a dim of a weight matrix (hidden sizes, heads, channels,
/// vocabulary, experts), and returns how many such dims, each with all that it is tied to, were divided.
///
/// Dims that the factors of an op put side by side are tied; where a dim is made of several factors (heads x head
/// size), it is tied to the major one, and the others stay whole. A tied set stays as it is when one of its sizes is no
/// multiple of `divisor`, or when an op cannot be had with the smaller sizes: what picks fixed positions (Slice), for
/// instance. Attributes and constants that say sizes follow, as they do for the piece of one device (`localize`); other
/// constants keep their first elements.
///
///   hidden 4096 in 32 heads of 128, divisor 8: hidden 512 in 4 heads of 128
///
/// Errors (input): divisor < 2; nothing can be divided.
llvm::Expected<unsigned> scaleHidden(mlir::ModuleOp module, int64_t divisor);

} // namespace apc
