// Losses, and the steps of optimizers. FLOPs of losses for each score: 5 where a softmax is taken, 1 otherwise; none where a score is picked.
include "apc/IR/Base.td"

// Where losses are added up, labels are whole on every device (they are one integer for each row of scores): a mean divides by the
// number, or the summed weights, of all labels that count, and rows of padding must not be added. On a piece of the scores `offsets` holds,
// for each of their dims, the position of the piece's first element in the whole that the labels (and, in the dim of classes, what labels
// name) count.
def Apc_SoftmaxCrossEntropyLossOp : Apc_Op<"softmax_cross_entropy_loss", ["SoftmaxCrossEntropyLoss"]> {
  let summary = "Minus the logarithm of the softmax over dim 1 at each label";
  let arguments = (ins Apc_Tensor:$scores, Apc_Tensor:$labels, Apc_Optional:$weights, OptionalAttr<I64Attr>:$ignore_index,
                       DefaultValuedAttr<StrAttr, "\"mean\"">:$reduction, Apc_Offsets:$offsets);
  let types = "T: float, index, T";
  let results = (outs Apc_Tensor:$output, Apc_Optional:$log_prob);
  let ruleExpression = "::apc::lossRule(op, getReduction(), \"!\", /*givesLogProb=*/true)";
  let flops = "5";
  let evaluation = "::apc::evaluateLoss(op, operands, /*takesSoftmax=*/true)";
  let local = "::apc::localizeLoss(local);";
  let gradient = "::apc::differentiateSoftmaxCrossEntropy(g);";
  let tables = "2";
}

// A cross entropy whose classes may be cut, made of the loss above (`createCrossEntropy`): the logarithms of the sums of exponentials come from
// `log_sum_exp`, and the score of each label is picked by masking. Going forward that takes small all-reduces of the greatest score and of the
// sum (`log_sum_exp`) and of the picked scores; going backward none, as the gradient keeps `log_sum`.
def Apc_CrossEntropyOp : Apc_Op<"cross_entropy", []> {
  let summary = "`log_sum` less the score at each label";
  let description = [{
    Classes are dim `axis` of the scores, whose other dims are those of the labels. `log_sum` is `log_sum_exp` of the scores over it, and the
    gradient is that of both.
  }];
  let arguments = (ins Apc_Tensor:$scores, Apc_Tensor:$log_sum, Apc_Tensor:$labels, Apc_Optional:$weights, OptionalAttr<I64Attr>:$ignore_index,
                       DefaultValuedAttr<StrAttr, "\"mean\"">:$reduction, DefaultValuedAttr<I64Attr, "1">:$axis, Apc_Offsets:$offsets);
  let types = "T: float, float, index, T";
  let results = (outs Apc_Tensor:$output);
  let ruleExpression = "::apc::crossEntropyRule(op)";
  let flops = "0";
  let sparse = "{0}";
  let evaluation = "::apc::evaluateCrossEntropy(op, operands)";
  let local = "::apc::localizeLoss(local);";
  let gradient = "::apc::differentiateCrossEntropy(g);";
  let tables = "3";
}

// The score of each target is picked by masking, so that classes may be cut.
def Apc_NegativeLogLikelihoodLossOp : Apc_Op<"negative_log_likelihood_loss", ["NegativeLogLikelihoodLoss"]> {
  let summary = "Minus the score (a log probability, dim 1) at each target";
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$target, Apc_Optional:$weight, OptionalAttr<I64Attr>:$ignore_index,
                       DefaultValuedAttr<StrAttr, "\"mean\"">:$reduction, Apc_Offsets:$offsets);
  let types = "T: float, index, T";
  let results = (outs Apc_Tensor:$loss);
  let ruleExpression = "::apc::lossRule(op, getReduction(), \"\", /*givesLogProb=*/false)";
  let linear = "{{0}}";
  let evaluation = "::apc::evaluateLoss(op, operands, /*takesSoftmax=*/false)";
  let local = "::apc::localizeLoss(local);";
  let gradient = "::apc::differentiateLogLikelihood(g);";
  let tables = "2";
}

def Apc_SoftmaxCrossEntropyLossGradOp : Apc_Op<"softmax_cross_entropy_loss_grad", ["com.microsoft.SoftmaxCrossEntropyLossGrad"]> {
  let summary = "The gradient for the scores, from that of the loss and the log probabilities";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$log_prob, Apc_Tensor:$label, Apc_Optional:$weight, Apc_Optional:$bias,
                       OptionalAttr<I64Attr>:$ignore_index, DefaultValuedAttr<StrAttr, "\"mean\"">:$reduction,
                       DefaultValuedAttr<I64Attr, "1">:$output_type, Apc_Offsets:$offsets);
  let types = "T: float, T, index, T, T";
  let results = (outs Apc_Tensor:$d_logits);
  let ruleExpression = "::apc::lossGradientRule(op)";
  let element = "::apc::operandElement(op, 1)";
  let flops = "5";
  let evaluation = "::apc::evaluateLossGradient(op, operands)";
  let local = "::apc::localizeLossGradient(local);";
}

// Gradients of losses for the scores, from that of the loss (a scalar, or one for each row where `reduction` is none). Labels are held as the
// losses hold them. No class needs another, so classes may be cut.
class Apc_LossGradient<string mnemonic, dag sums, string sumTypes, string takesSoftmax> : Apc_Op<mnemonic, []> {
  let arguments = !con((ins Apc_Tensor:$dY, Apc_Tensor:$scores), sums,
                       (ins Apc_Tensor:$labels, Apc_Optional:$weights, OptionalAttr<I64Attr>:$ignore_index,
                            DefaultValuedAttr<StrAttr, "\"mean\"">:$reduction, DefaultValuedAttr<I64Attr, "1">:$axis, Apc_Offsets:$offsets));
  let types = "T: float, T, " # sumTypes # "index, T";
  let results = (outs Apc_Tensor:$dScores);
  let ruleExpression = "::apc::crossEntropyGradientRule(op, /*takesSoftmax=*/" # takesSoftmax # ")";
  let element = "::apc::operandElement(op, 1)";
  let linear = "{{0}}";
  let evaluation = "::apc::evaluateCrossEntropyGradient(op, operands, /*takesSoftmax=*/" # takesSoftmax # ")";
  let local = "::apc::localizeLoss(local, /*scores=*/1);";
}
def Apc_CrossEntropyGradOp : Apc_LossGradient<"cross_entropy_grad", (ins Apc_Tensor:$log_sum), "float, ", "true"> {
  let summary = "The gradient of cross_entropy for the scores: their softmax, by way of `log_sum`, less one at each label";
  let flops = "4";
}
def Apc_NegativeLogLikelihoodGradOp : Apc_LossGradient<"negative_log_likelihood_grad", (ins), "", "false"> {
  let summary = "The gradient of negative_log_likelihood_loss: minus the weight at each label, 0 elsewhere";
}

// A step of an optimizer. Behind the learning rate R and the number T of steps before it stand, for n tensors, their values X1 ... Xn, then
// their gradients, then each of `states` states of theirs; results are the new values and states in that order. Elementwise.
class Apc_Optimizer<string mnemonic, string onnx, string states, dag attributes> : Apc_Op<mnemonic, [onnx]> {
  let arguments = !con((ins Apc_Tensor:$R, Apc_Tensor:$T, Variadic<Apc_Tensor>:$inputs), attributes);
  let types = "float, i64, float";
  let results = (outs Variadic<Apc_Tensor>:$outputs);
  let variadic = 1;
  let inferBody = "{ return ::apc::inferOptimizer(getOperation(), " # states # ", types); }";
  let ruleBody = "{ return ::apc::optimizerRule(getOperation(), " # states # "); }";
  let evaluates = 1;
}

def Apc_AdagradOp : Apc_Optimizer<"adagrad", "ai.onnx.preview.training.Adagrad", "1",
                                  (ins DefaultValuedAttr<F32Attr, "0.0f">:$decay_factor, DefaultValuedAttr<F32Attr, "1e-6f">:$epsilon,
                                       DefaultValuedAttr<F32Attr, "0.0f">:$norm_coefficient)> {
  let summary = "A step against the gradient over the root of the sum of its squares so far (the state)";
}

def Apc_AdamOp : Apc_Optimizer<"adam", "ai.onnx.preview.training.Adam", "2",
                               (ins DefaultValuedAttr<F32Attr, "0.9f">:$alpha, DefaultValuedAttr<F32Attr, "0.999f">:$beta,
                                    DefaultValuedAttr<F32Attr, "1e-6f">:$epsilon, DefaultValuedAttr<F32Attr, "0.0f">:$norm_coefficient,
                                    DefaultValuedAttr<F32Attr, "0.0f">:$norm_coefficient_post)> {
  let summary = "A step against the running mean of gradients over the root of that of their squares (the states)";
}

def Apc_MomentumOp : Apc_Optimizer<"momentum", "ai.onnx.preview.training.Momentum", "1",
                                   (ins F32Attr:$alpha, F32Attr:$beta, StrAttr:$mode, F32Attr:$norm_coefficient)> {
  let summary = "A step against the momentum (the state), or with mode nesterov against where it leads";
}

// A step of one parameter as PyTorch's optimizers take it (apc/Autodiff/Optimizer.h): elementwise, in place. `rate` is the learning rate, `step`
// counts from 1, and `scale`, where it is given, multiplies the gradient first. Where there is a `master`, the parameter in higher precision, the
// step is taken on it, and the new parameter is the new master rounded.
class Apc_Update<string mnemonic, dag states, string stateTypes, dag attributes, string stateText, string stateIndices, dag made>
    : Apc_Op<mnemonic, []> {
  let arguments = !con((ins Apc_Tensor:$parameter, Apc_Tensor:$gradient), states,
                       (ins Apc_Optional:$master, Apc_Tensor:$rate, Apc_Tensor:$step, Apc_Optional:$scale,
                        DefaultValuedAttr<F64Attr, "0.0">:$weight_decay), attributes);
  let types = "T: float, G: float, " # stateTypes # "S: float, float, i64, float";
  let results = !con((outs Apc_Tensor:$updated), made, (outs Apc_Optional:$updated_master));
  let rule = "..., ..., " # stateText # "..., _, _, _ -> ..., " # stateText # "...";
  let element = "";
  let inferBody = "{ return ::apc::inferUpdate(getOperation(), types); }";
  let evaluates = 1;
  let overwritten = "0, " # stateIndices;
}
def Apc_SgdUpdateOp : Apc_Update<"sgd_update", (ins), "", (ins), "", "2", (outs)> {
  let summary = "A step against the gradient";
  let flops = "4";
}
def Apc_MomentumUpdateOp : Apc_Update<"momentum_update", (ins Apc_Tensor:$momentum), "S: float, ",
                                      (ins F64Attr:$decay, DefaultValuedAttr<F64Attr, "0.0">:$dampening, DefaultValuedAttr<I64Attr, "0">:$nesterov),
                                      "..., ", "2, 3", (outs Apc_Tensor:$updated_momentum)> {
  let summary = "A step against the momentum of gradients, or with `nesterov` against where it leads";
  let types = "T: float, G: float, S: float, S, float, i64, float";
  let flops = "7";
}
defvar adamSettings = (ins F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, DefaultValuedAttr<I64Attr, "0">:$decoupled);
def Apc_AdamUpdateOp : Apc_Update<"adam_update", (ins Apc_Tensor:$first, Apc_Tensor:$second), "S: float, S, ", adamSettings, "..., ..., ", "2, 3, 4",
                                  (outs Apc_Tensor:$updated_first, Apc_Tensor:$updated_second)> {
  let summary = "A step against the running mean of gradients over the root of that of their squares; `decoupled`: weights decay by themselves";
  let types = "T: float, G: float, S: float, S, S, float, i64, float";
  let flops = "16";
}
def Apc_AmsgradUpdateOp : Apc_Update<"amsgrad_update", (ins Apc_Tensor:$first, Apc_Tensor:$second, Apc_Tensor:$greatest), "S: float, S, S, ",
                                     adamSettings, "..., ..., ..., ", "2, 3, 4, 5",
                                     (outs Apc_Tensor:$updated_first, Apc_Tensor:$updated_second, Apc_Tensor:$updated_greatest)> {
  let summary = "Adam's step, over the root of the greatest mean of squares so far";
  let types = "T: float, G: float, S: float, S, S, S, float, i64, float";
  let flops = "17";
}
