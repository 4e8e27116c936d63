// Attention over heads, with caches, grouped heads and masks, and what stands around it in transformer blocks.
include "apc/IR/Base.td"

// Rules and types come from one reading of the sizes (AttentionSizes) for each operator.
class Apc_AttentionLike<string mnemonic, list<string> onnx, string function> : Apc_Op<mnemonic, onnx> {
  let inferBody = "{ return ::apc::infer" # function # "(getOperation(), types); }";
  let ruleBody = "{ return ::apc::rule" # function # "(getOperation()); }";
}

def Apc_GroupQueryAttentionOp
    : Apc_AttentionLike<"group_query_attention", ["com.microsoft.GroupQueryAttention"], "GroupQueryAttention"> {
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
                       OptionalAttr<F32Attr>:$softcap, OptionalAttr<StrAttr>:$v_quant_type);
  let results = (outs Apc_Tensor:$output, Apc_Optional:$present_key, Apc_Optional:$present_value, Apc_Optional:$output_qk);
}
