// Gradients of fused attentions, taken apart into heads, scores and what is behind them.
#pragma once

#include "Kernels.h"
#include "apc/IR/Gradient.h"

namespace apc {

/// Queries [b, heads, s, d], keys [b, key heads, t, d] and values [b, key heads, t, e] of an attention.
struct HeadValues {
  mlir::Value queries, keys, values;
  mlir::Value bias = {};   ///< added to the scores, broadcast to [b, heads, s, t]; null for none
  mlir::Value seen = {};   ///< bools, broadcast like those: the scores that count; null for all
  mlir::Value sink = {};   ///< [heads]: a score of each head beside those of keys, without a value; null for none
  mlir::Value result = {}; ///< [b, heads, s, e]: what the attention gave; needed where there is a sink
  double scale = 1;
  double softcap = 0;      ///< bounds the scaled scores before the mask; 0 or less: not at all
  bool mayHideAll = false; ///< a query may see no key: its result is 0, and its gradients are
};

/// The attribute `scale`; one over the root of the size of heads where it is 0 or not given.
double scaleOfHeads(mlir::Operation *op, int64_t headSize);

/// Which gradients are asked for.
struct WantedHeads {
  bool queries, keys, values, bias, sink = false;
};
/// The gradients of `heads` where `arriving` comes back to [b, heads, s, e]; null where they are not wanted.
HeadValues gradientsOfHeads(GradientBuilder &g, const HeadValues &heads, mlir::Value arriving, WantedHeads wanted);
/// The same where `arriving` comes back to the scores of a stage, [b, heads, s, t].
HeadValues gradientsOfScores(GradientBuilder &g, const HeadValues &heads, ScoreStage stage, mlir::Value arriving,
                             WantedHeads wanted);

/// [b, s, heads * size] as [b, heads, s, size], and back. The heads that share one of fewer key heads stand apart on
/// the way, so that both are factors.
mlir::Value splitIntoHeads(GradientBuilder &g, mlir::Value flat, int64_t heads, int64_t keyHeads);
mlir::Value joinFromHeads(GradientBuilder &g, mlir::Value apart, int64_t keyHeads);

/// Where the first query stands among the keys: at `begin`, or at `begins` [b] of i64 for each batch element.
struct QueryPlaces {
  int64_t begin = 0;
  mlir::Value begins = {};
};
/// Bools [queries, keys], or [b, 1, queries, keys] with `begins`: a key is not behind its query, and one of the last
/// `window` keys up to the query's own (0: of all).
mlir::Value causalMask(GradientBuilder &g, int64_t queries, int64_t keys, int64_t window,
                       const QueryPlaces &places = {});
/// Bools [b, 1, 1, keys]: the keys before the ends [b] of i64.
mlir::Value keysBefore(GradientBuilder &g, mlir::Value ends, int64_t keys);
/// A mask of bools, or one that is added, with its last dim as long as the keys: keys behind that of `mask` are not
/// seen. And the gradient of such a mask as that of `mask`.
mlir::Value wholeMask(GradientBuilder &g, mlir::Value mask, int64_t keys);
mlir::Value shortMask(GradientBuilder &g, mlir::Value gradient, mlir::Value mask);
/// The scores that count for both; null is all of them.
mlir::Value bothSee(GradientBuilder &g, mlir::Value a, mlir::Value b);
/// A list of i64: first, first + 1, ...
mlir::Value positionsFrom(GradientBuilder &g, int64_t first, int64_t count);

/// [b, heads, past, size] with `current` behind it, `current` where there is no past; and positions `begin` to `end` of
/// such a tensor.
mlir::Value behindPast(GradientBuilder &g, mlir::Value past, mlir::Value current);
mlir::Value positionSlice(GradientBuilder &g, mlir::Value value, int64_t begin, int64_t end);
/// Gives the cache of `past` positions, operand `cache`, its part of the gradient of all positions; the part of those
/// behind it comes back.
mlir::Value givePast(GradientBuilder &g, unsigned cache, int64_t past, mlir::Value gradient);
/// The sum of two gradients, either of which may be null.
mlir::Value sumOfBoth(GradientBuilder &g, mlir::Value a, mlir::Value b);
HeadValues sumOfBoth(GradientBuilder &g, HeadValues a, const HeadValues &b);

/// `value` with other dims of as many elements.
mlir::Value shaped(GradientBuilder &g, mlir::Value value, llvm::ArrayRef<int64_t> dims);

/// Elements `begin` to `end` of the last dim.
mlir::Value lastSlice(GradientBuilder &g, mlir::Value value, int64_t begin, int64_t end);

/// The addition of com.microsoft's masks (`checkPaddingMask`) to the scores of `heads`: `filter` for keys that are
/// padding, broadcast to [b, heads, s, t]; null for tables of other sizes than all queries and keys.
mlir::Value paddingBias(GradientBuilder &g, mlir::Value mask, const HeadValues &heads, double filter);
/// Adds that to the bias of `heads` where there is a mask; false where it is of none of these forms.
bool addPadding(GradientBuilder &g, mlir::Value mask, HeadValues &heads, double filter);

/// True when no gradient arrives at result `index` and those behind it; false with the reason otherwise, which names
/// the results that are accepted.
bool arrivesOnlyBefore(GradientBuilder &g, unsigned index, llvm::StringRef accepted);

} // namespace apc
