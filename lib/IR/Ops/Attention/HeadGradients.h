// Gradients of fused attentions, taken apart into heads, scores and what is behind them.
#pragma once

#include "apc/IR/Gradient.h"

namespace apc {

/// Queries [b, heads, s, d], keys [b, key heads, t, d] and values [b, key heads, t, e] of an attention.
struct HeadValues {
  mlir::Value queries, keys, values;
  mlir::Value bias = {}; ///< added to the scores, broadcast to [b, heads, s, t]; null for none
  mlir::Value seen = {}; ///< bools [s, t]: the scores that count; null for all
  double scale = 1;
  double softcap = 0;      ///< bounds the scaled scores before the mask; 0 or less: not at all
  bool mayHideAll = false; ///< a query may see no key: its result is 0, and its gradients are
};

/// The attribute `scale`; one over the root of the size of heads where it is 0 or not given.
double scaleOfHeads(mlir::Operation *op, int64_t headSize);

/// Which gradients are asked for.
struct WantedHeads {
  bool queries, keys, values, bias;
};
/// The gradients of `heads` where `arriving` comes back to [b, heads, s, e]; null where they are not wanted.
HeadValues gradientsOfHeads(GradientBuilder &g, const HeadValues &heads, mlir::Value arriving, WantedHeads wanted);

/// [b, s, heads * size] as [b, heads, s, size], and back. The heads that share one of fewer key heads stand apart on
/// the way, so that both are factors.
mlir::Value splitIntoHeads(GradientBuilder &g, mlir::Value flat, int64_t heads, int64_t keyHeads);
mlir::Value joinFromHeads(GradientBuilder &g, mlir::Value apart, int64_t keyHeads);

/// Bools [queries, keys]: a key is not behind its query, nor more than `window` before it (0: however far).
mlir::Value causalMask(GradientBuilder &g, int64_t queries, int64_t keys, int64_t window);

/// `value` with other dims of as many elements.
mlir::Value shaped(GradientBuilder &g, mlir::Value value, llvm::ArrayRef<int64_t> dims);

/// Elements `begin` to `end` of the last dim.
mlir::Value lastSlice(GradientBuilder &g, mlir::Value value, int64_t begin, int64_t end);

/// The addition of com.microsoft's masks (`checkPaddingMask`) to the scores of `heads`: `filter` for keys that are
/// padding, broadcast to [b, heads, s, t]; null for tables of other sizes than all queries and keys.
mlir::Value paddingBias(GradientBuilder &g, mlir::Value mask, const HeadValues &heads, double filter);
/// Adds that to the bias of `heads` where there is a mask; false where it is of none of these forms.
bool addPadding(GradientBuilder &g, mlir::Value mask, HeadValues &heads, double filter);

/// True when a gradient arrives at the first result and at no other.
bool arrivesAtFirstOnly(GradientBuilder &g);

} // namespace apc
