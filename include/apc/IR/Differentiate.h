// The gradients of one op, or why there are none.
#pragma once

namespace apc {

class GradientBuilder;

/// Builds the gradients of the op of `gradient` as its operator defines them. False, with the reason in
/// `getRefusal()`, where the operator has none, or where the op or an op of its gradient is not well formed, such as
/// an attention with more samples than its shapes allow.
bool differentiate(GradientBuilder &gradient);

} // namespace apc
