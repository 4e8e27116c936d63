// Memory of copies in 8 bits that products take (`narrowProducts`).
#pragma once

#include "Timeline.h"

namespace apc {

/// The places from which products alone read a value, in 8 bits: one of its two copies is kept for them, and the value
/// itself is needed no longer.
struct NarrowedPlaces {
  std::vector<std::optional<size_t>> values; ///< by value; none for views, and for what stays as it is
  std::vector<std::optional<size_t>> moves;  ///< by moved copy
};

/// Of a program; all none but where a trainer keeps these copies (`OpGraph::keepsNarrowCopies`). x is read by y = x . W
/// at place 3 and by dW = x^T . dy at place 9: it is there in 16 bits up to place 3, then in 8. Weights rest in 8 bits
/// in both orders, which is as much as in 16 (NVIDIA/Megatron-LM, --fp8-param-gather).
NarrowedPlaces narrowedPlaces(const OpGraph &graph, llvm::ArrayRef<GraphMove> moves, const Timeline &time);

} // namespace apc
