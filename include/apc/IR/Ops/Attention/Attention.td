// Attention over heads, with caches, grouped heads and masks, and operators around it in transformer blocks.
include "apc/IR/Base.td"

// Shapes, rules and kernels are written in C++ (lib/IR/Ops/Attention), from one reading of the sizes for each operator.
class Apc_AttentionLike<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let evaluates = 1;
  let localizes = 1;
}
// Two operators that differ in a few operands share their functions.
class Apc_AttentionOfTwo<string mnemonic, list<string> onnx, string function> : Apc_Op<mnemonic, onnx> {
  let inferBody = "{ return ::apc::infer" # function # "(getOperation(), types); }";
  let ruleBody = "{ return ::apc::rule" # function # "(getOperation()); }";
  let evaluation = "::apc::evaluate" # function # "(op, operands)";
  let local = "::apc::localize" # function # "(local);";
}

// Operands that have all heads, one behind the other, are cut inside queries, keys and values. Where a cut goes between the query heads of
// one key head, `offsets` is the first head of the piece, and `total_heads` says how many heads the operands have.

def Apc_GroupQueryAttentionOp
    : Apc_AttentionLike<"group_query_attention", ["com.microsoft.GroupQueryAttention"]> {
  let summary = "Causal attention of [b, s, heads * size] with fewer key and value heads, rotation and caches inside";
  let arguments = (ins Apc_Tensor:$query, Apc_Optional:$key, Apc_Optional:$value, Apc_Optional:$past_key,
                       Apc_Optional:$past_value, Apc_Optional:$seqlens_k, Apc_Optional:$total_sequence_length,
                       Apc_Optional:$cos_cache, Apc_Optional:$sin_cache, Apc_Optional:$position_ids,
                       Apc_Optional:$attention_bias, Apc_Optional:$head_sink, Apc_Optional:$k_scale, Apc_Optional:$v_scale,
                       Apc_Optional:$q_norm_weight, Apc_Optional:$k_norm_weight, DefaultValuedAttr<I64Attr, "1">:$causal,
                       DefaultValuedAttr<I64Attr, "0">:$do_rotary, OptionalAttr<StrAttr>:$k_quant_type,
                       OptionalAttr<I64Attr>:$kv_cache_bit_width, I64Attr:$kv_num_heads,
                       DefaultValuedAttr<I64Attr, "-1">:$local_window_size, I64Attr:$num_heads,
                       OptionalAttr<F32Attr>:$qk_norm_epsilon, DefaultValuedAttr<I64Attr, "0">:$qk_output,
                       DefaultValuedAttr<I64Attr, "0">:$rotary_interleaved, OptionalAttr<F32Attr>:$scale,
                       DefaultValuedAttr<I64Attr, "0">:$sliding_window_cache, OptionalAttr<I64Attr>:$smooth_softmax,
                       OptionalAttr<F32Attr>:$softcap, OptionalAttr<StrAttr>:$v_quant_type, Apc_Offsets:$offsets,
                       OptionalAttr<I64Attr>:$total_heads, OptionalAttr<I64Attr>:$total_kv_heads);
  let types = "T: float, T, T, C: float|byte|float8, C, i32, i32, T, T, i64, T, T, f32, f32, T, T";
  let differentiates = 1;
  let results = (outs Apc_Tensor:$output, Apc_Optional:$present_key, Apc_Optional:$present_value, Apc_Optional:$output_qk);
}

def Apc_AttentionOp : Apc_AttentionOfTwo<"attention", ["Attention"], "Attention"> {
  let summary = "Attention of [b, heads, s, size] or [b, s, heads * size], with fewer key heads, masks and caches";
  let arguments = (ins Apc_Tensor:$Q, Apc_Tensor:$K, Apc_Tensor:$V, Apc_Optional:$attn_mask, Apc_Optional:$past_key,
                       Apc_Optional:$past_value, Apc_Optional:$nonpad_kv_seqlen,
                       DefaultValuedAttr<I64Attr, "0">:$is_causal, OptionalAttr<I64Attr>:$kv_num_heads,
                       DefaultValuedAttr<Apc_OneOfInts<[-1]>, "-1">:$left_window_size, OptionalAttr<I64Attr>:$q_num_heads,
                       DefaultValuedAttr<I64Attr, "0">:$qk_matmul_output_mode,
                       DefaultValuedAttr<Apc_OneOfInts<[-1]>, "-1">:$right_window_size, OptionalAttr<F32Attr>:$scale, DefaultValuedAttr<F32Attr, "0.0f">:$softcap,
                       OptionalAttr<I64Attr>:$softmax_precision);
  let types = "T: float, T, V: float, number|bool, T, V, i64";
  let tables = "3";
  let gradient = "return ::apc::differentiateAttention(g);";
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$present_key, Apc_Optional:$present_value,
                      Apc_Optional:$qk_matmul_output);
}

def Apc_FlexAttentionOp : Apc_AttentionOfTwo<"flex_attention", ["ai.onnx.preview.FlexAttention"], "Attention"> {
  let summary = "Attention of [b, heads, s, size] without masks or caches";
  let arguments = (ins Apc_Tensor:$Q, Apc_Tensor:$K, Apc_Tensor:$V, OptionalAttr<F32Attr>:$scale,
                       OptionalAttr<I64Attr>:$softmax_precision);
  let types = "T: float, T, T";
  let gradient = "return ::apc::differentiateAttention(g);";
  let results = (outs Apc_Tensor:$Y);
}

def Apc_MultiHeadAttentionOp
    : Apc_AttentionOfTwo<"multi_head_attention", ["com.microsoft.MultiHeadAttention"], "MultiHeadAttention"> {
  let summary = "Attention of [b, s, heads * size], or of queries, keys and values packed as [b, s, heads, 3, size]";
  let arguments = (ins Apc_Tensor:$query, Apc_Optional:$key, Apc_Optional:$value, Apc_Optional:$bias,
                       Apc_Optional:$key_padding_mask, Apc_Optional:$attention_bias, Apc_Optional:$past_key,
                       Apc_Optional:$past_value, Apc_Optional:$past_sequence_length, Apc_Optional:$cache_indirection,
                       OptionalAttr<F32Attr>:$mask_filter_value, I64Attr:$num_heads, OptionalAttr<F32Attr>:$scale,
                       DefaultValuedAttr<I64Attr, "0">:$unidirectional, Apc_Offsets:$offsets,
                       OptionalAttr<I64Attr>:$total_heads);
  let types = "T: float, T, T, T, i32, T, T, T, i32, i32";
  let gradient = "return ::apc::differentiateMultiHead(g);";
  let results = (outs Apc_Tensor:$output, Apc_Optional:$present_key, Apc_Optional:$present_value, Apc_Optional:$qk);
}

def Apc_DecoderMaskedMultiHeadAttentionOp
    : Apc_AttentionOfTwo<"decoder_masked_multi_head_attention", ["com.microsoft.DecoderMaskedMultiHeadAttention"],
                         "MultiHeadAttention"> {
  let summary = "Attention of one new position over a cache";
  let arguments = (ins Apc_Tensor:$query, Apc_Optional:$key, Apc_Optional:$value, Apc_Optional:$mask_index,
                       Apc_Optional:$attention_bias, Apc_Optional:$past_key, Apc_Optional:$past_value,
                       Apc_Optional:$past_sequence_length, Apc_Optional:$beam_width, Apc_Optional:$cache_indirection,
                       Apc_Optional:$bias, OptionalAttr<F32Attr>:$mask_filter_value, I64Attr:$num_heads,
                       DefaultValuedAttr<I64Attr, "0">:$output_qk,
                       DefaultValuedAttr<I64Attr, "0">:$past_present_share_buffer, OptionalAttr<F32Attr>:$scale,
                       Apc_Offsets:$offsets, OptionalAttr<I64Attr>:$total_heads);
  let types = "T: float, T, T, i32, T, T, T, i32, i32, i32, T";
  let results = (outs Apc_Tensor:$output, Apc_Optional:$present_key, Apc_Optional:$present_value, Apc_Optional:$qk);
  let gradient = "return g.refuse(\"it makes one new position, which is inference, and MultiHeadAttention is accepted\");";
}

def Apc_ProjectedAttentionOp
    : Apc_AttentionLike<"projected_attention", ["com.microsoft.Attention"]> {
  let summary = "The projection to queries, keys and values and self-attention in one";
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$weights, Apc_Optional:$bias, Apc_Optional:$mask_index,
                       Apc_Optional:$past, Apc_Optional:$attention_bias, Apc_Optional:$past_sequence_length,
                       DefaultValuedAttr<I64Attr, "0">:$do_rotary, OptionalAttr<F32Attr>:$mask_filter_value,
                       I64Attr:$num_heads, DefaultValuedAttr<I64Attr, "0">:$past_present_share_buffer,
                       OptionalAttr<DenseI64ArrayAttr>:$qkv_hidden_sizes, OptionalAttr<I64Attr>:$rotary_embedding_dim,
                       OptionalAttr<F32Attr>:$scale, DefaultValuedAttr<I64Attr, "0">:$unidirectional,
                       Apc_Offsets:$offsets, OptionalAttr<I64Attr>:$total_heads);
  let types = "T: float, T, T, i32, T, T, i32";
  let differentiates = 1;
  let results = (outs Apc_Tensor:$output, Apc_Optional:$present);
}

def Apc_RotaryEmbeddingOp : Apc_AttentionOfTwo<"rotary_embedding", ["RotaryEmbedding"], "RotaryEmbedding"> {
  let summary = "Rotates pairs of elements of each head by angles that grow with the position";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$cos_cache, Apc_Tensor:$sin_cache, Apc_Optional:$position_ids,
                       DefaultValuedAttr<I64Attr, "0">:$interleaved, DefaultValuedAttr<I64Attr, "0">:$num_heads,
                       DefaultValuedAttr<I64Attr, "0">:$rotary_embedding_dim);
  let types = "T: float, T, T, i64";
  let results = (outs Apc_Tensor:$Y);
  let tables = "1, 2";
  let gradient = "::apc::differentiateRotation(g, /*sines=*/2);";
}

def Apc_MsRotaryEmbeddingOp
    : Apc_AttentionOfTwo<"ms_rotary_embedding", ["com.microsoft.RotaryEmbedding"], "RotaryEmbedding"> {
  let summary = "The same with its operands in another order; one position id [1] stands for all that follow it";
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$position_ids, Apc_Tensor:$cos_cache, Apc_Tensor:$sin_cache,
                       DefaultValuedAttr<I64Attr, "0">:$interleaved, DefaultValuedAttr<I64Attr, "0">:$is_packed_batching,
                       DefaultValuedAttr<I64Attr, "0">:$num_heads, DefaultValuedAttr<I64Attr, "0">:$rotary_embedding_dim,
                       OptionalAttr<F32Attr>:$scale);
  let types = "T: float, i64, T, T";
  let results = (outs Apc_Tensor:$output);
  let tables = "2, 3";
  let gradient = "::apc::differentiateRotation(g, /*sines=*/3);";
}

def Apc_LinearAttentionOp
    : Apc_AttentionLike<"linear_attention", ["LinearAttention", "com.microsoft.LinearAttention"]> {
  let summary = "A matrix per head that each position updates and asks, instead of keys and values kept";
  let arguments = (ins Apc_Tensor:$query, Apc_Tensor:$key, Apc_Tensor:$value, Apc_Optional:$past_state,
                       Apc_Optional:$decay, Apc_Optional:$beta, OptionalAttr<I64Attr>:$chunk_size, I64Attr:$kv_num_heads,
                       I64Attr:$q_num_heads, OptionalAttr<F32Attr>:$scale,
                       DefaultValuedAttr<StrAttr, "\"gated_delta\"">:$update_rule);
  let types = "T: float, T, T, S: float, T, T";
  let differentiates = 1;
  let results = (outs Apc_Tensor:$output, Apc_Optional:$present_state);
}

// The backward pass of linear attention through the positions, from the operands and what arrives: it makes the states again. Operands are
// [b, t, key heads, heads of one, size], states [b, key heads, heads of one, d, e]; each head has a query, a key, a value and gates of its
// own, so that nothing is summed over heads.
def Apc_LinearAttentionGradOp : Apc_AttentionLike<"linear_attention_grad", []> {
  let summary = "Gradients of linear_attention for all its operands, head by head";
  let arguments = (ins Apc_Tensor:$query, Apc_Tensor:$key, Apc_Tensor:$value, Apc_Optional:$past_state,
                       Apc_Optional:$decay, Apc_Optional:$beta, Apc_Optional:$dY, Apc_Optional:$dState,
                       DefaultValuedAttr<I64Attr, "0">:$delta, DefaultValuedAttr<F32Attr, "1.0f">:$scale);
  let types = "T: float, T, T, S: float, T, T, T, S";
  let results = (outs Apc_Tensor:$query_gradient, Apc_Tensor:$key_gradient, Apc_Tensor:$value_gradient,
                      Apc_Tensor:$state_gradient, Apc_Optional:$decay_gradient, Apc_Optional:$beta_gradient);
  let localizes = 0;
}

def Apc_CausalConvWithStateOp
    : Apc_AttentionLike<"causal_conv_with_state", ["CausalConvWithState", "com.microsoft.CausalConvWithState"]> {
  let summary = "Convolution of each channel of [b, c, s] with what came before, across calls";
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$weight, Apc_Optional:$bias, Apc_Optional:$past_state,
                       DefaultValuedAttr<StrAttr, "\"none\"">:$activation, DefaultValuedAttr<I64Attr, "0">:$channels_last,
                       DefaultValuedAttr<I64Attr, "1">:$dilation, DefaultValuedAttr<I64Attr, "1">:$ndim);
  let types = "T: float, T, T, T";
  let results = (outs Apc_Tensor:$output, Apc_Optional:$present_state);
  let differentiates = 1;
  let localizes = 0;
}

def Apc_SwiGLUOp : Apc_Op<"swiglu", ["SwiGLU"]> {
  let summary = "a * sigmoid(alpha * a) * b";
  let arguments = (ins Apc_Tensor:$a, Apc_Tensor:$b, DefaultValuedAttr<F32Attr, "1.0f">:$alpha);
  let types = "T: float, T";
  let results = (outs Apc_Tensor:$y);
  let rule = "..., ... -> ...";
  let flops = "6";
  let linear = "{{1}}";
  let evaluates = 1;
  let differentiates = 1;
}

// Weights are [experts, outputs, inputs] or, as in the first generation of the operators, [experts, inputs, outputs], in all layers alike.
// Shapes say which; where both fit (as many inner elements as hidden ones), outputs are first. On a piece `offsets` are its first expert
// and its first inner element, where the bias of the second layer is added; `inputs_first` says the order, which shapes of pieces may not.
def Apc_MoEOp : Apc_AttentionLike<"moe", ["com.microsoft.MoE"]> {
  let summary = "Two or three layers of each token's k best experts, weighted by the router";
  let description = [{
    Weights of the first and third layer are [experts, inner, hidden] and of the second [experts, hidden, inner], or all of them with the
    last two dims exchanged. Where hidden and inner sizes are equal, so that both fit, they are read as [experts, outputs, inputs].
  }];
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$router_probs, Apc_Tensor:$fc1_experts_weights,
                       Apc_Optional:$fc1_experts_bias, Apc_Tensor:$fc2_experts_weights, Apc_Optional:$fc2_experts_bias,
                       Apc_Optional:$fc3_experts_weights, Apc_Optional:$fc3_experts_bias,
                       OptionalAttr<F32Attr>:$activation_alpha, OptionalAttr<F32Attr>:$activation_beta,
                       DefaultValuedAttr<StrAttr, "\"relu\"">:$activation_type, DefaultValuedAttr<I64Attr, "1">:$k,
                       DefaultValuedAttr<I64Attr, "0">:$normalize_routing_weights,
                       DefaultValuedAttr<I64Attr, "0">:$swiglu_fusion, OptionalAttr<F32Attr>:$swiglu_limit,
                       DefaultValuedAttr<I64Attr, "0">:$use_sparse_mixer, Apc_Offsets:$offsets, UnitAttr:$inputs_first);
  let types = "T: float, T, T, T, T, T, T, T";
  let differentiates = 1;
  let results = (outs Apc_Tensor:$output);
}

def Apc_QMoEOp : Apc_AttentionLike<"qmoe", ["com.microsoft.QMoE"]> {
  let summary = "The same with quantised weights, packed into bytes along their last dim";
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$router_probs, Apc_Tensor:$fc1_experts_weights,
                       Apc_Optional:$fc1_scales, Apc_Optional:$fc1_experts_bias, Apc_Tensor:$fc2_experts_weights,
                       Apc_Optional:$fc2_scales, Apc_Optional:$fc2_experts_bias, Apc_Optional:$fc3_experts_weights,
                       Apc_Optional:$fc3_scales, Apc_Optional:$fc3_experts_bias, Apc_Optional:$fc1_zero_points,
                       Apc_Optional:$fc2_zero_points, Apc_Optional:$fc3_zero_points, Apc_Optional:$router_weights,
                       Apc_Optional:$fc1_global_scale, Apc_Optional:$fc2_global_scale, Apc_Optional:$fc1_act_scale,
                       Apc_Optional:$fc2_act_scale, Apc_Optional:$fc1_act_block_scale,
                       Apc_Optional:$fc2_act_block_scale, OptionalAttr<I64Attr>:$accuracy_level,
                       OptionalAttr<F32Attr>:$activation_alpha, OptionalAttr<F32Attr>:$activation_beta,
                       DefaultValuedAttr<StrAttr, "\"relu\"">:$activation_type, OptionalAttr<I64Attr>:$block_size,
                       DefaultValuedAttr<I64Attr, "4">:$expert_weight_bits, DefaultValuedAttr<I64Attr, "1">:$k,
                       DefaultValuedAttr<I64Attr, "0">:$normalize_routing_weights,
                       DefaultValuedAttr<StrAttr, "\"int\"">:$quant_type, DefaultValuedAttr<I64Attr, "0">:$swiglu_fusion,
                       OptionalAttr<F32Attr>:$swiglu_limit, DefaultValuedAttr<I64Attr, "0">:$use_sparse_mixer,
                       OptionalAttr<I64Attr>:$weights_prepacked, Apc_Offsets:$offsets, UnitAttr:$inputs_first);
  let types = "T: float, T, W: byte|float8, S: float|float8, T, W, S, T, W, S, T, Z: byte|float8, Z, Z, T, f32, f32, f32, f32, float|float8, float|float8";
  let results = (outs Apc_Tensor:$output);
  let tables = "3, 6, 9, 11, 12, 13, 15, 16, 17, 18, 19, 20";
  let differentiates = 1;
}

// Several operators in exporters' graphs, one computation on devices: made by recognising, never imported. Keys are [..., key heads, t, d], or
// [..., key heads, d, t] with `keys_transposed`. Without `fill` the mask is added to the scores; with it the mask is of bools, and scores
// become `fill` where it is not `seen`. With `nan_is_zero`, weights that are NaN are 0.
class Apc_ScoresOp<string mnemonic, dag operands, dag behind = (ins)> : Apc_Op<mnemonic, []> {
  let arguments = !con(operands, (ins OptionalAttr<F32Attr>:$fill, DefaultValuedAttr<I64Attr, "0">:$keys_transposed,
                                      DefaultValuedAttr<I64Attr, "0">:$nan_is_zero, DefaultValuedAttr<F32Attr, "1.0f">:$scale,
                                      DefaultValuedAttr<I64Attr, "1">:$seen), behind);
  let inferBody = "{ return ::apc::inferSoftmaxAttention(getOperation(), types); }";
  let ruleBody = "{ return ::apc::softmaxAttentionRule(getOperation(), std::nullopt); }";
}
def Apc_SoftmaxAttentionOp
    : Apc_ScoresOp<"softmax_attention", (ins Apc_Tensor:$Q, Apc_Tensor:$K, Apc_Tensor:$V, Apc_Optional:$mask)> {
  let summary = "softmax(mask(scale * queries keys)) values of [..., heads, s, d], with fewer key heads";
  let types = "T: float, T, T, float|bool";
  let results = (outs Apc_Tensor:$Y);
  let evaluation = "::apc::evaluateSoftmaxAttention(op, operands)";
  let differentiates = 1;
}

// Its gradients, from the same operands and what arrives: each takes the weights again. With `softcap` they are those of scores that are
// bounded before the mask: softcap tanh(scale * queries keys / softcap).
class Apc_SoftmaxAttentionGradient<string mnemonic, int which>
    : Apc_ScoresOp<mnemonic, (ins Apc_Tensor:$Q, Apc_Tensor:$K, Apc_Tensor:$V, Apc_Optional:$mask, Apc_Tensor:$dY),
                   (ins OptionalAttr<F32Attr>:$softcap)> {
  let types = "T: float, T, T, float|bool, T";
  let results = (outs Apc_Tensor:$gradient);
  let inferBody = "{ return ::apc::inferAttentionGradient(getOperation(), " # which # ", types); }";
  let ruleBody = "{ return ::apc::softmaxAttentionRule(getOperation(), " # which # "); }";
  let evaluation = "::apc::evaluateAttentionGradient(op, operands, " # which # ")";
}
def Apc_SoftmaxAttentionQueryGradOp : Apc_SoftmaxAttentionGradient<"softmax_attention_query_grad", 0> {
  let summary = "The gradient of softmax_attention for the queries";
}
def Apc_SoftmaxAttentionKeyGradOp : Apc_SoftmaxAttentionGradient<"softmax_attention_key_grad", 1> {
  let summary = "The gradient of softmax_attention for the keys, summed over query positions and the query heads of a key head";
}
def Apc_SoftmaxAttentionValueGradOp : Apc_SoftmaxAttentionGradient<"softmax_attention_value_grad", 2> {
  let summary = "The gradient of softmax_attention for the values, summed like that for the keys";
}
def Apc_SoftmaxAttentionMaskGradOp : Apc_SoftmaxAttentionGradient<"softmax_attention_mask_grad", 3> {
  let summary = "The gradient of softmax_attention for a mask that is added, summed over the scores that an element is added to";
}

// Attention whose keys and values may be cut along their positions (`splitKeys`). Going forward that takes small all-reduces of the greatest
// score and the sum of each query, and the sum of the results over the pieces; going backward the sum of the gradient for the queries. On a
// piece with padding behind its keys `offsets` is the place of its first key, and `total_keys` how many keys the whole has. `softcap` bounds
// the scores as it does in the gradients above.
class Apc_SplitScoresOp<string mnemonic, dag operands>
    : Apc_ScoresOp<mnemonic, operands, (ins OptionalAttr<F32Attr>:$softcap, Apc_Offsets:$offsets, OptionalAttr<I64Attr>:$total_keys)> {
  let local = "::apc::localizeKeys(local);";
}
def Apc_SoftmaxAttentionLogSumOp
    : Apc_SplitScoresOp<"softmax_attention_log_sum", (ins Apc_Tensor:$Q, Apc_Tensor:$K, Apc_Optional:$mask)> {
  let summary = "The logarithm of the sum of exp(mask(scale * queries keys)) over the keys, in f32 or f64";
  let types = "T: float, T, float|bool";
  let results = (outs Apc_Tensor:$log_sum);
  let evaluates = 1;
}
def Apc_SoftmaxAttentionByOp
    : Apc_SplitScoresOp<"softmax_attention_by", (ins Apc_Tensor:$Q, Apc_Tensor:$K, Apc_Tensor:$V, Apc_Optional:$mask, Apc_Tensor:$log_sum)> {
  let summary = "exp(mask(scale * queries keys) - log_sum) values";
  let description = [{ `log_sum` is `softmax_attention_log_sum` of the same operands, and the gradient is that of both. }];
  let types = "T: float, T, T, float|bool, float";
  let results = (outs Apc_Tensor:$Y);
  let evaluation = "::apc::evaluateSoftmaxAttention(op, operands)";
  let differentiates = 1;
}
class Apc_SoftmaxAttentionByGradient<string mnemonic, int which>
    : Apc_SplitScoresOp<mnemonic, (ins Apc_Tensor:$Q, Apc_Tensor:$K, Apc_Tensor:$V, Apc_Optional:$mask, Apc_Tensor:$dY, Apc_Optional:$Y,
                                   Apc_Tensor:$log_sum)> {
  let types = "T: float, T, T, float|bool, T, T, float";
  let results = (outs Apc_Tensor:$gradient);
  let inferBody = "{ return ::apc::inferAttentionGradient(getOperation(), " # which # ", types); }";
  let ruleBody = "{ return ::apc::softmaxAttentionRule(getOperation(), " # which # "); }";
  let evaluation = "::apc::evaluateAttentionGradient(op, operands, " # which # ")";
}
def Apc_SoftmaxAttentionByQueryGradOp : Apc_SoftmaxAttentionByGradient<"softmax_attention_by_query_grad", 0> {
  let summary = "The gradient of both for the queries, summed over the keys";
}
def Apc_SoftmaxAttentionByKeyGradOp : Apc_SoftmaxAttentionByGradient<"softmax_attention_by_key_grad", 1> {
  let summary = "The gradient of both for the keys, summed over query positions and the query heads of a key head";
}
def Apc_SoftmaxAttentionByValueGradOp : Apc_SoftmaxAttentionByGradient<"softmax_attention_by_value_grad", 2> {
  let summary = "The gradient for the values, summed like that for the keys; the result of the attention is not read";
}
def Apc_SoftmaxAttentionByMaskGradOp : Apc_SoftmaxAttentionByGradient<"softmax_attention_by_mask_grad", 3> {
  let summary = "The gradient of both for a mask that is added, summed over the scores that an element is added to";
}

def Apc_RotateHalfOp : Apc_Op<"rotate_half", []> {
  let summary = "x * cos + [-second half of x, first half of x] * sin, along the last dim";
  let description = [{ With `transposed` the gradient of that: x * cos + [second half of x * sin, -first half of x * sin]. }];
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$cos, Apc_Tensor:$sin, DefaultValuedAttr<I64Attr, "0">:$transposed);
  let types = "T: float, T, T";
  let results = (outs Apc_Tensor:$Y);
  let rule = "... !d, ... !d, ... !d -> ... !d";
  let flops = "4";
  let evaluates = 1;
  let tables = "1, 2";
  let linear = "{{0}}";
  let gradient = "g.give(0, g.sumTo(g.make<::apc::RotateHalfOp>({g.incoming(), g.operand(1), g.operand(2)}, "
                 "g.attribute(\"transposed\", int64_t(getTransposed() == 0))), g.operand(0)));";
}
