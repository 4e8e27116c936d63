// Puts composite operators together again that exporters take apart.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace apc {

/// How many composites of each kind were recognised.
struct RecognizedComposites {
  unsigned gelu = 0, swish = 0, layerNorm = 0, rmsNorm = 0, attention = 0, rotation = 0, crossEntropy = 0,
           longSoftmax = 0, shared = 0;
};

/// Does a plan have the normalisation, softmax or attention of that name taken apart?
using SharesRows = llvm::function_ref<bool(llvm::StringRef)>;

/// Replaces, in place, ops that together compute the same as one operator by that operator: their intermediate values
/// are then neither costed nor stored. Only values with a single use are taken in, and constants must match to 1e-3
/// relative, so results do not change beyond rounding.
///
///   x * 0.5 * (1 + erf(x / sqrt 2))                          -> apc.gelu
///   x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))   -> apc.gelu {approximate = "tanh"}
///   x * sigmoid(x)                                            -> apc.swish
///   x / sqrt(mean(x^2) + eps) * w                             -> apc.rms_normalization (with casts to f32 and back)
///   (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * w + b -> apc.layer_normalization
///
///   matmul(softmax(mask(scale * matmul(q, k))), v)            -> apc.softmax_attention
///   x * cos + concat(-x[d/2:], x[:d/2]) * sin                 -> apc.rotate_half
///
///   softmax_cross_entropy_loss, or negative_log_likelihood_loss of log_softmax over dim 1, where no other op reads the
///   log probabilities; scores and labels as they were before they were flattened to rows
///                                                             -> apc.log_sum_exp and apc.cross_entropy
///
///   softmax or log_softmax over one dim, in rows of more than 228 KiB
///                                                             -> apc.log_sum_exp and apc.softmax_by
///
///   softmax, log_softmax, softmax_attention and normalisations whose rows devices may share
///                                                             -> statistics and the rest (`takeApart`)
///
/// Devices that share rows exchange a few numbers for each of them, and every cut that is offered takes the search
/// time. So rows are shared only where that can pay:
/// - The dim comes out of contractions, through ops that keep it, and no other op reads what lies between: rows
///   come cut where columns of the contraction's weight are.
/// - In training, there are no more rows than a row has elements, in 1 MiB or more. A weight that makes or reads
///   them is larger than they are; so the rows move, and not the weight or its gradient, which are cut along both
///   dims. More rows are cut by themselves, over all devices; fewer bytes move as fast as the numbers would.
///   Normalisations of channels have no such weights.
/// - Keys and values of an attention are larger than twice its results, and 1 MiB or more: few queries look at many
///   keys. Devices that each hold some of the keys sum their results; else all keys and values come to all queries.
///
/// Losses and long softmaxes are two ops each, so that devices can share the classes. The first of them pass over the
/// scores once, as the loss does; rows that no multiprocessor holds are read twice by any softmax. Attention takes in,
/// where they are there: scaling of the scores, of queries or of keys; a mask that is added, or that fills the scores
/// (Where, with either value first); casts to f32 around softmax; zeros for NaN behind it; the transposition of keys'
/// last two dims; keys and values repeated for groups of query heads. Rules keep every cut that the ops they replace
/// share: batch, heads and groups, query positions. The scores (`heads * s * t` elements) are never written to memory
/// and never costed.
///
/// A composite takes location and value names of the last op that it replaces.
///
/// \p trains: the model will be trained. \p shares: says of each normalisation, softmax and attention whether it is
/// taken apart, for a model that was planned before and may be smaller now. A module that was settled once stays as it
/// is.
RecognizedComposites recognizeComposites(mlir::ModuleOp module, bool trains = false, SharesRows shares = nullptr);

} // namespace apc
