// A smaller model of the same structure: narrower.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Divides by `divisor`, in place, every dim that runs through a dim of a weight matrix (hidden sizes, heads, channels,
/// vocabulary, experts), and returns the number of divided sets of tied dims.
///
/// Dims that share a factor of an op are tied. A dim made of several factors (heads x head size) is tied to the major
/// factor, and the other factors stay whole. A tied set stays as it is when one of its sizes is no multiple of
/// `divisor`, or when an op does not verify with the smaller sizes, such as a Slice at fixed positions. Attributes and
/// constants that hold sizes follow, as they do for the piece of one device (`localize`); other constants keep their
/// first elements.
///
///   hidden 4096 in 32 heads of 128, divisor 8: hidden 512 in 4 heads of 128
///
/// Errors (input): divisor < 2; nothing can be divided.
llvm::Expected<unsigned> scaleHidden(mlir::ModuleOp module, int64_t divisor);

} // namespace apc
