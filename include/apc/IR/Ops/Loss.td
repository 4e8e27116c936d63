// Losses. FLOPs for each score: 5 where a softmax is taken, 1 otherwise.
include "apc/IR/Base.td"

// A mean divides by the number (or the summed weights) of all targets that count, on every device: partial means sum to the mean.
def Apc_SoftmaxCrossEntropyLossOp : Apc_Op<"softmax_cross_entropy_loss", ["SoftmaxCrossEntropyLoss"]> {
  let summary = "Minus the logarithm of the softmax over dim 1 at each label";
  let arguments = (ins Apc_Tensor:$scores, Apc_Tensor:$labels, Apc_Optional:$weights, OptionalAttr<I64Attr>:$ignore_index,
                       DefaultValuedAttr<StrAttr, "\"mean\"">:$reduction);
  let results = (outs Apc_Tensor:$output, Apc_Optional:$log_prob);
  let ruleExpression = "::apc::lossRule(op, getReduction(), \"!\", /*givesLogProb=*/true)";
  let flops = "5";
}

// The score of each target is picked by masking, so that classes may be cut.
def Apc_NegativeLogLikelihoodLossOp : Apc_Op<"negative_log_likelihood_loss", ["NegativeLogLikelihoodLoss"]> {
  let summary = "Minus the score (a log probability, dim 1) at each target";
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$target, Apc_Optional:$weight, OptionalAttr<I64Attr>:$ignore_index,
                       DefaultValuedAttr<StrAttr, "\"mean\"">:$reduction);
  let results = (outs Apc_Tensor:$loss);
  let ruleExpression = "::apc::lossRule(op, getReduction(), \"\", /*givesLogProb=*/false)";
  let linear = "{{0}}";
}

def Apc_SoftmaxCrossEntropyLossGradOp : Apc_Op<"softmax_cross_entropy_loss_grad", ["com.microsoft.SoftmaxCrossEntropyLossGrad"]> {
  let summary = "The gradient for the scores, from that of the loss and the log probabilities";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$log_prob, Apc_Tensor:$label, Apc_Optional:$weight, Apc_Optional:$bias,
                       OptionalAttr<I64Attr>:$ignore_index, DefaultValuedAttr<StrAttr, "\"mean\"">:$reduction,
                       DefaultValuedAttr<I64Attr, "1">:$output_type);
  let results = (outs Apc_Tensor:$d_logits);
  let ruleExpression = "::apc::lossGradientRule(op)";
  let element = "::apc::operandElement(op, 1)";
  let flops = "5";
}
