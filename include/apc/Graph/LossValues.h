// The logits and the loss of a training step: where a large vocabulary takes its memory.
#pragma once

#include "apc/Graph/OpGraph.h"

namespace apc {

/// By value: does it lie between the last contraction and the loss? So do results of contractions from which the loss
/// is reached without another contraction, what is made of them on the way to the loss, the gradients of all of these,
/// and what the backward pass makes again of them. Nothing does in a graph that is no step of training, nor in a stage
/// of a pipeline that has another one behind it.
///
/// h . W -> logits -> cast -> softmax cross entropy -> loss: logits, their cast, the probabilities, the loss and the
/// gradients of all four, but not h, the gradient of h, or that of W.
std::vector<bool> lossValues(const OpGraph &graph);

} // namespace apc
