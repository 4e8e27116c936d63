// Normalisations: softmax along a dim, layers over the last dims, batches over channels. FLOPs for each element: softmax 5, layer normalisation
// 8, root mean square 5, batch normalisation 2 (scale and shift folded), an operand added on the way 1 more.
include "apc/IR/Base.td"

// The type in which statistics are computed: f32, f16, f64, bf16 by ONNX's numbers.
def Apc_StashType : Apc_OneOfInts<[1, 10, 11, 16]>;

// Before opset 13 all dims from axis on count as one dim; the default axis is 1, later -1.
class Apc_SoftmaxLike<string mnemonic, string onnx, string kind> : Apc_Op<mnemonic, [onnx]> {
  let arguments = (ins Apc_Tensor:$input, OptionalAttr<I64Attr>:$axis, DefaultValuedAttr<I64Attr, "23">:$opset_version);
  let types = "float";
  let results = (outs Apc_Tensor:$output);
  let ruleExpression = "::apc::softmaxRule(op, getAxis(), getOpsetVersion())";
  let flops = "5";
  let evaluation = "::apc::evaluateSoftmax(op, operands, ::apc::SoftmaxKind::" # kind # ", getAxis(), getOpsetVersion())";
}
def Apc_SoftmaxOp : Apc_SoftmaxLike<"softmax", "Softmax", "Plain"> {
  let gradient = "::apc::differentiateSoftmax(g, ::apc::SoftmaxKind::Plain);";
}
def Apc_LogSoftmaxOp : Apc_SoftmaxLike<"log_softmax", "LogSoftmax", "Log"> {
  let gradient = "::apc::differentiateSoftmax(g, ::apc::SoftmaxKind::Log);";
}
def Apc_HardmaxOp : Apc_SoftmaxLike<"hardmax", "Hardmax", "Hard"> {
  let flops = "1";
  let gradient = "return g.refuse(\"its results are steps, through which nothing is trained, and Softmax is accepted\");";
}

// The gradients of the two, from those of their results and the results.
class Apc_SoftmaxGradient<string mnemonic, string kind, string cost> : Apc_Op<mnemonic, []> {
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$Y, OptionalAttr<I64Attr>:$axis, DefaultValuedAttr<I64Attr, "23">:$opset_version);
  let types = "T: float, T";
  let results = (outs Apc_Tensor:$dX);
  let ruleExpression = "::apc::softmaxGradientRule(op, getAxis(), getOpsetVersion())";
  let flops = cost;
  let linear = "{{0}}";
  let evaluation = "::apc::evaluateSoftmaxGradient(op, operands, ::apc::SoftmaxKind::" # kind # ", getAxis(), getOpsetVersion())";
}
def Apc_SoftmaxGradOp : Apc_SoftmaxGradient<"softmax_grad", "Plain", "4"> { let summary = "Y (dY - sum of dY Y)"; }
def Apc_LogSoftmaxGradOp : Apc_SoftmaxGradient<"log_softmax_grad", "Log", "4"> { let summary = "dY - exp(Y) (sum of dY)"; }

// A softmax whose dim may be cut, where rows are too long for one pass (`createSoftmax`): `log_sum_exp` takes the small all-reduces of the
// greatest and of the sum going forward, `softmax_grad_sum` the one going backward.
def Apc_SoftmaxByOp : Apc_Op<"softmax_by", []> {
  let summary = "exp(input - log_sum), or input - log_sum where `log` is set";
  let description = [{ `log_sum` is `log_sum_exp` of the input over one dim, and the gradient is that of both. }];
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$log_sum, DefaultValuedAttr<I64Attr, "0">:$log);
  let types = "float, float";
  let results = (outs Apc_Tensor:$output);
  let rule = "..., ... -> ...";
  let flops = "2";
  let evaluation = "::apc::evaluateSoftmaxBy(op, operands, getLog() != 0)";
  let gradient = "::apc::differentiateSoftmaxBy(g, getLog() != 0);";
}
def Apc_SoftmaxGradSumOp : Apc_Op<"softmax_grad_sum", []> {
  let summary = "The sum of dY Y over the dim `axis`, or of dY without Y, in f32 or f64";
  let arguments = (ins Apc_Tensor:$dY, Apc_Optional:$Y, I64Attr:$axis);
  let types = "T: float, T";
  let results = (outs Apc_Tensor:$sum);
  let ruleExpression = "::apc::softmaxSumRule(op, getAxis())";
  let element = "::apc::preciseElement(op)";
  let flops = "2";
  let linear = "{{0}}";
  let evaluation = "::apc::evaluateSoftmaxSum(op, operands)";
}
def Apc_SoftmaxGradByOp : Apc_Op<"softmax_grad_by", []> {
  let summary = "Y (dY - sum), or dY - exp(Y) sum where `log` is set";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$Y, Apc_Tensor:$sum, DefaultValuedAttr<I64Attr, "0">:$log);
  let types = "T: float, T, float";
  let results = (outs Apc_Tensor:$dX);
  let rule = "..., ..., ... -> ...";
  let flops = "3";
  let linear = "{{0, 2}}";
  let evaluation = "::apc::evaluateSoftmaxGradientBy(op, operands, getLog() != 0)";
}

def Apc_LayerNormalizationOp : Apc_Op<"layer_normalization", ["LayerNormalization", "com.microsoft.LayerNormalization"]> {
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$Scale, Apc_Optional:$B, DefaultValuedAttr<I64Attr, "-1">:$axis,
                       DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon, DefaultValuedAttr<Apc_StashType, "1">:$stash_type);
  let types = "float, T: float, T";
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$Mean, Apc_Optional:$InvStdDev);
  let ruleExpression = "::apc::layerRule(op, getAxis(), /*numStatistics=*/2)";
  let element = "{::apc::operandElement(op, 1), ::apc::elementType(op->getContext(), getStashType()), "
                "::apc::elementType(op->getContext(), getStashType())}";
  let flops = "8";
  let gradient = "::apc::differentiateLayer(g, {.axis = static_cast<int64_t>(getAxis()), .epsilon = getEpsilon().convertToDouble(), .bias = 2});";
  let evaluation = "::apc::evaluateLayerNormalization(op, operands, {.axis = static_cast<int64_t>(getAxis()), .epsilon = getEpsilon().convertToDouble(), .bias = 2})";
}
def Apc_RMSNormalizationOp : Apc_Op<"rms_normalization", ["RMSNormalization"]> {
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$scale, DefaultValuedAttr<I64Attr, "-1">:$axis,
                       DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon, DefaultValuedAttr<Apc_StashType, "1">:$stash_type);
  let types = "float, float";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::layerRule(op, getAxis(), /*numStatistics=*/0)";
  let element = "::apc::operandElement(op, 1)";
  let flops = "5";
  let gradient = "::apc::differentiateLayer(g, {.axis = static_cast<int64_t>(getAxis()), .epsilon = getEpsilon().convertToDouble(), .isCentred = false});";
  let evaluation = "::apc::evaluateLayerNormalization(op, operands, {.axis = static_cast<int64_t>(getAxis()), .epsilon = getEpsilon().convertToDouble(), .isCentred = false})";
}
def Apc_SimplifiedLayerNormalizationOp
    : Apc_Op<"simplified_layer_normalization", ["SimplifiedLayerNormalization", "com.microsoft.SimplifiedLayerNormalization"]> {
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$scale, DefaultValuedAttr<I64Attr, "-1">:$axis,
                       DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon, DefaultValuedAttr<Apc_StashType, "1">:$stash_type);
  let types = "float, float";
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$inv_std_var);
  let ruleExpression = "::apc::layerRule(op, getAxis(), /*numStatistics=*/1)";
  let element = "{::apc::operandElement(op, 1), ::apc::elementType(op->getContext(), getStashType())}";
  let flops = "5";
  let gradient = "::apc::differentiateLayer(g, {.axis = static_cast<int64_t>(getAxis()), .epsilon = getEpsilon().convertToDouble(), .isCentred = false, .meanResult = 0});";
  let evaluation = "::apc::evaluateLayerNormalization(op, operands, {.axis = static_cast<int64_t>(getAxis()), .epsilon = getEpsilon().convertToDouble(), .isCentred = false, .meanResult = 0})";
}
def Apc_SkipLayerNormalizationOp : Apc_Op<"skip_layer_normalization", ["com.microsoft.SkipLayerNormalization"]> {
  let summary = "Layer normalisation of input + skip + bias, which is also the last result";
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$skip, Apc_Tensor:$gamma, Apc_Optional:$beta, Apc_Optional:$bias,
                       DefaultValuedAttr<F32Attr, "1e-12f">:$epsilon);
  let types = "T: float, T, T, T, T";
  let results = (outs Apc_Tensor:$output, Apc_Optional:$mean, Apc_Optional:$inv_std_var, Apc_Optional:$input_skip_bias_sum);
  let ruleExpression = "::apc::skipLayerRule(op)";
  let element = "::apc::skipLayerElements(op)";
  let flops = "10";
  let gradient = "::apc::differentiateLayer(g, {.epsilon = getEpsilon().convertToDouble(), .scale = 2, .bias = 3, .addends = {1, 4}, .sumResult = 3});";
  let evaluation = "::apc::evaluateLayerNormalization(op, operands, {.epsilon = getEpsilon().convertToDouble(), .scale = 2, .bias = 3, .addends = {1, 4}, .sumResult = 3})";
}
def Apc_SkipSimplifiedLayerNormalizationOp
    : Apc_Op<"skip_simplified_layer_normalization", ["com.microsoft.SkipSimplifiedLayerNormalization"]> {
  let summary = "Root mean square normalisation of input + skip + bias, which is also the last result";
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$skip, Apc_Tensor:$gamma, Apc_Optional:$bias,
                       DefaultValuedAttr<F32Attr, "1e-12f">:$epsilon);
  let types = "T: float, T, T, T";
  let results = (outs Apc_Tensor:$output, Apc_Optional:$mean, Apc_Optional:$inv_std_var, Apc_Optional:$input_skip_bias_sum);
  let ruleExpression = "::apc::skipLayerRule(op)";
  let element = "::apc::skipLayerElements(op)";
  let flops = "7";
  let gradient = "::apc::differentiateLayer(g, {.epsilon = getEpsilon().convertToDouble(), .isCentred = false, .scale = 2, .addends = {1, 3}, .sumResult = 3});";
  let evaluation = "::apc::evaluateLayerNormalization(op, operands, {.epsilon = getEpsilon().convertToDouble(), .isCentred = false, .scale = 2, .addends = {1, 3}, .sumResult = 3})";
}

// Gradients of the normalisations of layers, whose statistics are taken again. `centred` 0: by the mean square alone.
class Apc_LayerGradient<string mnemonic> : Apc_Op<mnemonic, []> {
  let results = (outs Apc_Tensor:$gradient);
  let linear = "{{0}}";
  let evaluates = 1;
}
def Apc_LayerNormalizationGradOp : Apc_LayerGradient<"layer_normalization_grad"> {
  let summary = "r (q - mean(q) - xh mean(q xh)) of q = dY scale and the normalised xh";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$X, Apc_Optional:$scale, DefaultValuedAttr<I64Attr, "-1">:$axis,
                       DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon, DefaultValuedAttr<I64Attr, "1">:$centred);
  let types = "float, float, float";
  let ruleExpression = "::apc::layerRule(op, getAxis(), /*numStatistics=*/0)";
  let element = "::apc::operandElement(op, 1)";
  let flops = "16";
}
def Apc_LayerNormalizationScaleGradOp : Apc_LayerGradient<"layer_normalization_scale_grad"> {
  let summary = "The sum of dY xh over all rows, xh being X normalised";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$X, DefaultValuedAttr<I64Attr, "-1">:$axis,
                       DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon, DefaultValuedAttr<I64Attr, "1">:$centred);
  let types = "float, float";
  let ruleExpression = "::apc::layerScaleGradientRule(op, getAxis())";
  let flops = "8";
}

// Normalisations of layers in parts, so that devices can share the dims from `axis` on (`takeApart`). Going forward that takes one small
// all-reduce of `layer_statistics`, going backward one of `layer_gradient_statistics`; each has two numbers for each row, or one where
// `centred` is 0. The sums are divided by the size of whole rows, `count` on pieces, so that partial means sum to the mean.
class Apc_LayerPart<string mnemonic> : Apc_Op<mnemonic, []> {
  let evaluates = 1;
}
class Apc_LayerStatistics<string mnemonic, dag operands, string gradientOf, string cost> : Apc_LayerPart<mnemonic> {
  let arguments = !con(operands, (ins DefaultValuedAttr<I64Attr, "-1">:$axis, DefaultValuedAttr<I64Attr, "1">:$centred,
                                      OptionalAttr<I64Attr>:$count));
  let results = (outs Apc_Tensor:$means);
  let inferBody = "{ return ::apc::inferLayerStatistics(getOperation(), types); }";
  let ruleBody = "{ return ::apc::layerStatisticsRule(getOperation(), " # gradientOf # ", " # cost # "); }";
  let local = "::apc::localizeLayerStatistics(local);";
}
def Apc_LayerStatisticsOp : Apc_LayerStatistics<"layer_statistics", (ins Apc_Tensor:$X, Apc_Optional:$skip, Apc_Optional:$bias),
                                                "std::nullopt", "4"> {
  let summary = "Mean and mean square of the rows of X + skip + bias, or the latter alone, in f32 or f64";
  let types = "T: float, T, T";
}
def Apc_LayerNormalizeOp : Apc_LayerPart<"layer_normalize"> {
  let summary = "X + skip + bias, also the last result, less the mean of its rows over their deviation, scaled and shifted";
  let description = [{ `statistics` are `layer_statistics` of the same operands, and the gradient is that of both. }];
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$statistics, Apc_Tensor:$scale, Apc_Optional:$B, Apc_Optional:$skip, Apc_Optional:$bias,
                       DefaultValuedAttr<I64Attr, "-1">:$axis, DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon,
                       DefaultValuedAttr<I64Attr, "1">:$centred);
  let types = "X: float, float, T: float, T, X, X";
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$sum);
  let ruleExpression = "::apc::layerPartRule(op, /*statistics=*/{1}, getAxis(), /*numResults=*/2)";
  let element = "{::apc::operandElement(op, 2), ::apc::operandElement(op, 0)}";
  let flops = "getCentred() != 0 ? 8.0 / 2 : 5.0";
  let gradient = "::apc::differentiateLayerApart(g);";
}
def Apc_LayerGradientStatisticsOp
    : Apc_LayerStatistics<"layer_gradient_statistics", (ins Apc_Tensor:$dY, Apc_Tensor:$X, Apc_Tensor:$statistics, Apc_Tensor:$scale,
                               DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon), "/*statistics=*/2", "8"> {
  let summary = "The means over rows of q = dY scale and of q xh, xh being X normalised, or the latter alone, in f32 or f64";
  let types = "float, float, float, float";
}
def Apc_LayerNormalizeGradOp : Apc_LayerPart<"layer_normalize_grad"> {
  let summary = "r (q - mean(q) - xh mean(q xh)) of q = dY scale, the normalised xh, 1 / deviation r and both `means`";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$X, Apc_Tensor:$statistics, Apc_Tensor:$scale, Apc_Tensor:$means,
                       DefaultValuedAttr<I64Attr, "-1">:$axis, DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon,
                       DefaultValuedAttr<I64Attr, "1">:$centred);
  let types = "float, float, float, float, float";
  let results = (outs Apc_Tensor:$dX);
  let ruleExpression = "::apc::layerPartRule(op, /*statistics=*/{2, 4}, getAxis(), /*numResults=*/1)";
  let element = "::apc::operandElement(op, 1)";
  let flops = "16.0 / (getCentred() != 0 ? 2 : 1)";
  let linear = "{{0, 4}}";
}
def Apc_LayerNormalizeScaleGradOp : Apc_LayerPart<"layer_normalize_scale_grad"> {
  let summary = "The sum of dY xh over all rows, xh being X normalised";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$X, Apc_Tensor:$statistics, DefaultValuedAttr<I64Attr, "-1">:$axis,
                       DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon, DefaultValuedAttr<I64Attr, "1">:$centred);
  let types = "float, float, float";
  let results = (outs Apc_Tensor:$dscale);
  let ruleExpression = "::apc::layerPartScaleRule(op, getAxis())";
  let flops = "8.0 / (getCentred() != 0 ? 2 : 1)";
  let linear = "{{0}}";
}

def Apc_EmbedLayerNormalizationOp : Apc_Op<"embed_layer_normalization", ["com.microsoft.EmbedLayerNormalization"]> {
  let summary = "Layer normalisation of the sum of word, position and segment embeddings";
  let arguments = (ins Apc_Tensor:$input_ids, Apc_Optional:$segment_ids, Apc_Tensor:$word_embedding, Apc_Tensor:$position_embedding,
                       Apc_Optional:$segment_embedding, Apc_Tensor:$gamma, Apc_Tensor:$beta, Apc_Optional:$mask,
                       Apc_Optional:$position_ids, DefaultValuedAttr<F32Attr, "1e-12f">:$epsilon,
                       DefaultValuedAttr<I64Attr, "0">:$mask_index_type);
  let types = "index, index, T: float, T, T, T, T, index, index";
  let results = (outs Apc_Tensor:$output, Apc_Optional:$mask_index, Apc_Optional:$embedding_sum);
  let evaluates = 1;
}

def Apc_BatchNormalizationOp : Apc_Op<"batch_normalization", ["BatchNormalization"]> {
  let summary = "Each channel (dim 1) scaled and shifted by its statistics, or, in training, normalised over the other dims";
  let description = [{ The results after the third are those of opsets before 14; `spatial` 0, before 9, has statistics for each point. }];
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$scale, Apc_Tensor:$B, Apc_Tensor:$input_mean, Apc_Tensor:$input_var,
                       DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon, DefaultValuedAttr<F32Attr, "0.9f">:$momentum,
                       DefaultValuedAttr<I64Attr, "0">:$training_mode, DefaultValuedAttr<I64Attr, "1">:$spatial,
                       OptionalAttr<I64Attr>:$is_test);
  let types = "float, T: float, T, V: float, V";
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$running_mean, Apc_Optional:$running_var, Apc_Optional:$saved_mean,
                      Apc_Optional:$saved_var);
  let ruleExpression = "::apc::batchRule(op, ::apc::isBatchTraining(op), getSpatial())";
  let element = "{::apc::operandElement(op, 0), ::apc::operandElement(op, 3), ::apc::operandElement(op, 4), "
                "::apc::operandElement(op, 3), ::apc::operandElement(op, 4)}";
  let flops = "2";
  let tables = "3, 4";
  let gradient = "if (getSpatial() == 0) return g.refuse(\"attribute 'spatial' is 0, and 1 is accepted\"); "
                 "return !::apc::isBatchTraining(op) && ::apc::differentiateFrozenBatch(g, getEpsilon());";
  let evaluates = 1;
}

// Batch normalisation in parts, so that batch and space may be cut: mean and variance are means over both, made before. `mean` and `variance`
// are those of X itself, so gradients go through them, too, all at once.
def Apc_BatchNormalizeOp : Apc_Op<"batch_normalize", []> {
  let summary = "Each channel (dim 1) less its mean, over the root of its variance, scaled and shifted";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$scale, Apc_Tensor:$B, Apc_Tensor:$mean, Apc_Tensor:$variance,
                       DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon);
  let types = "float, float, float, float, float";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::channelRule(op, {0}, /*sums=*/false)";
  let flops = "2";
  let evaluates = 1;
  let gradient = "::apc::differentiateBatch(g, getEpsilon());";
}
def Apc_BatchNormalizeGradOp : Apc_Op<"batch_normalize_grad", []> {
  let summary = "scale r (dY - dB / count - xh dscale / count), count being the number of elements of a channel";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$X, Apc_Tensor:$scale, Apc_Tensor:$mean, Apc_Tensor:$variance, Apc_Tensor:$dscale,
                       Apc_Tensor:$dB, DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon, OptionalAttr<I64Attr>:$count);
  let types = "float, float, float, float, float, float, float";
  let results = (outs Apc_Tensor:$dX);
  let ruleExpression = "::apc::channelRule(op, {0, 1}, /*sums=*/false)";
  let element = "::apc::operandElement(op, 1)";
  let flops = "6";
  let linear = "{{0, 5, 6}}";
  let evaluates = 1;
  let local = "::apc::localizeBatchGradient(local);";
}
def Apc_BatchScaleGradOp : Apc_Op<"batch_scale_grad", []> {
  let summary = "The sum of dY xh over batch and space, xh being X normalised";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$X, Apc_Tensor:$mean, Apc_Tensor:$variance, DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon);
  let types = "float, float, float, float";
  let results = (outs Apc_Tensor:$dscale);
  let ruleExpression = "::apc::channelRule(op, {0, 1}, /*sums=*/true)";
  let flops = "4";
  let linear = "{{0}}";
  let evaluates = 1;
}
def Apc_InstanceNormalizationOp : Apc_Op<"instance_normalization", ["InstanceNormalization"]> {
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$scale, Apc_Tensor:$B, DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon);
  let types = "T: float, T, T";
  let results = (outs Apc_Tensor:$output);
  let ruleExpression = "::apc::instanceRule(op)";
  let flops = "8";
  let gradient = "return ::apc::differentiateGroups(g, std::nullopt, getEpsilon());";
  let evaluates = 1;
}
def Apc_GroupNormalizationOp : Apc_Op<"group_normalization", ["GroupNormalization"]> {
  let summary = "Groups of channels (dim 1) normalised; scale and bias have one number for each channel, or, before opset 21, group";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$scale, Apc_Tensor:$bias, DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon,
                       I64Attr:$num_groups, DefaultValuedAttr<Apc_StashType, "1">:$stash_type);
  let types = "T: float, T, T";
  let results = (outs Apc_Tensor:$Y);
  let evaluates = 1;
  let gradient = "return ::apc::differentiateGroups(g, getNumGroups(), getEpsilon());";
  let local = "::apc::localizeGroups(local);";
}
// Groups of channels, which are the last dim unless `channels_last` is 0; with `activation` each result y is y sigmoid(y).
def Apc_GroupNormOp : Apc_Op<"group_norm", ["com.microsoft.GroupNorm"]> {
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$gamma, Apc_Tensor:$beta, Apc_OneOfInts<[0, 1]>:$activation,
                       DefaultValuedAttr<I64Attr, "1">:$channels_last, DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon, I64Attr:$groups);
  let types = "float, float, float";
  let results = (outs Apc_Tensor:$Y);
  let evaluates = 1;
  let localizes = 1;
  let differentiates = 1;
}
def Apc_SkipGroupNormOp : Apc_Op<"skip_group_norm", ["com.microsoft.SkipGroupNorm"]> {
  let summary = "The same of X + skip + bias, which is also the last result";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$gamma, Apc_Tensor:$beta, Apc_Tensor:$skip, Apc_Optional:$bias,
                       Apc_OneOfInts<[0, 1]>:$activation, DefaultValuedAttr<I64Attr, "1">:$channels_last,
                       DefaultValuedAttr<F32Attr, "1e-05f">:$epsilon, I64Attr:$groups);
  let types = "T: float, float, float, T, T";
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$S);
  let evaluates = 1;
  let localizes = 1;
  let differentiates = 1;
}
def Apc_LpNormalizationOp : Apc_Op<"lp_normalization", ["LpNormalization"]> {
  let arguments = (ins Apc_Tensor:$input, DefaultValuedAttr<I64Attr, "-1">:$axis, DefaultValuedAttr<Apc_OneOfInts<[1, 2]>, "2">:$p);
  let types = "float";
  let results = (outs Apc_Tensor:$output);
  let ruleExpression = "::apc::wholeRule(op, {static_cast<int64_t>(getAxis())})";
  let flops = "3";
  let evaluates = 1;
}
def Apc_MeanVarianceNormalizationOp : Apc_Op<"mean_variance_normalization", ["MeanVarianceNormalization"]> {
  let arguments = (ins Apc_Tensor:$X, DefaultValuedAttr<DenseI64ArrayAttr, "{0, 2, 3}">:$axes);
  let types = "float";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::wholeRule(op, getAxes())";
  let flops = "6";
  let evaluates = 1;
}
def Apc_LRNOp : Apc_Op<"lrn", ["LRN"]> {
  let summary = "Elements divided by a power of the squares of `size` neighbouring channels (dim 1)";
  let arguments = (ins Apc_Tensor:$X, DefaultValuedAttr<F32Attr, "0.0001f">:$alpha, DefaultValuedAttr<F32Attr, "0.75f">:$beta,
                       DefaultValuedAttr<F32Attr, "1.0f">:$bias, I64Attr:$size);
  let types = "float";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::wholeRule(op, {1})";
  let flops = "6 + 2 * static_cast<double>(std::max<int64_t>(getSize(), 0))";
  let evaluates = 1;
  let differentiates = 1;
}
