// The table of policies: which forward ops may be recomputed.
#pragma once

#include "apc/Autodiff/Recompute.h"

namespace apc {

/// The part of a repeated layer of which all ops but draws of random numbers may be recomputed. Of `Branches` the sums
/// that the branches of attentions end in are kept.
enum class LayerPart : uint8_t { None, BehindAttention, Branches, Whole };

/// One row of the table. The flags hold outside of the part and outside of layers.
struct Recomputable {
  llvm::StringLiteral name;
  bool cheapOps = false;   ///< ops that are no contraction, no look-up in a table and no draw
  bool attentions = false; ///< attentions, and cheap ops behind them or between a kept value and them
  LayerPart part = LayerPart::None;
};

const Recomputable &recomputableBy(RecomputePolicy policy);

} // namespace apc
