// Attention and what stands around it, one op in each function.

func.func @attention(%q: tensor<3x4x5x2xf32>, %k: tensor<3x2x6x2xf32>, %v: tensor<3x2x6x3xf32>, %mask: tensor<4x5x6xf32>) -> (tensor<3x4x5x3xf32>, tensor<3x4x5x6xf32>) {
  %none = apc.none
  %0:4 = "apc.attention"(%q, %k, %v, %mask, %none, %none, %none) {softcap = 2.0 : f32, qk_matmul_output_mode = 3 : i64} : (tensor<3x4x5x2xf32>, tensor<3x2x6x2xf32>, tensor<3x2x6x3xf32>, tensor<4x5x6xf32>, none, none, none) -> (tensor<3x4x5x3xf32>, none, none, tensor<3x4x5x6xf32>)
  return %0#0, %0#3 : tensor<3x4x5x3xf32>, tensor<3x4x5x6xf32>
}
func.func @flat(%q: tensor<3x4x12xf32>, %k: tensor<3x4x6xf32>, %v: tensor<3x4x9xf32>, %pk: tensor<3x3x2x2xf32>, %pv: tensor<3x3x2x3xf32>) -> (tensor<3x4x18xf32>, tensor<3x3x6x2xf32>, tensor<3x3x6x3xf32>) {
  %none = apc.none
  %0:4 = "apc.attention"(%q, %k, %v, %none, %pk, %pv, %none) {is_causal = 1 : i64, q_num_heads = 6 : i64, kv_num_heads = 3 : i64} : (tensor<3x4x12xf32>, tensor<3x4x6xf32>, tensor<3x4x9xf32>, none, tensor<3x3x2x2xf32>, tensor<3x3x2x3xf32>, none) -> (tensor<3x4x18xf32>, tensor<3x3x6x2xf32>, tensor<3x3x6x3xf32>, none)
  return %0#0, %0#1, %0#2 : tensor<3x4x18xf32>, tensor<3x3x6x2xf32>, tensor<3x3x6x3xf32>
}
func.func @heads_of_three(%q: tensor<2x3x4x2xf32>, %k: tensor<2x3x4x2xf32>, %v: tensor<2x3x4x2xf32>, %lengths: tensor<2xi64> {test.below = 5 : i64}) -> tensor<2x3x4x2xf32> {
  %none = apc.none
  %0:4 = "apc.attention"(%q, %k, %v, %none, %none, %none, %lengths) : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>, none, none, none, tensor<2xi64>) -> (tensor<2x3x4x2xf32>, none, none, none)
  return %0#0 : tensor<2x3x4x2xf32>
}
func.func @group_query(%q: tensor<3x2x24xf32>, %k: tensor<3x2x12xf32>, %v: tensor<3x2x12xf32>, %pk: tensor<3x3x4x4xf32>, %pv: tensor<3x3x4x4xf32>, %lengths: tensor<3xi32> {test.below = 3 : i64}, %cos: tensor<8x2xf32>, %sin: tensor<8x2xf32>, %bias: tensor<1x6x2x6xf32>, %sink: tensor<6xf32>) -> (tensor<3x2x24xf32>, tensor<3x3x6x4xf32>, tensor<3x3x6x4xf32>) {
  %none = apc.none
  %total = apc.constant dense<6> : tensor<i32>
  %0:4 = "apc.group_query_attention"(%q, %k, %v, %pk, %pv, %lengths, %total, %cos, %sin, %none, %bias, %sink, %none, %none, %none, %none) {num_heads = 6 : i64, kv_num_heads = 3 : i64, do_rotary = 1 : i64, local_window_size = 2 : i64} : (tensor<3x2x24xf32>, tensor<3x2x12xf32>, tensor<3x2x12xf32>, tensor<3x3x4x4xf32>, tensor<3x3x4x4xf32>, tensor<3xi32>, tensor<i32>, tensor<8x2xf32>, tensor<8x2xf32>, none, tensor<1x6x2x6xf32>, tensor<6xf32>, none, none, none, none) -> (tensor<3x2x24xf32>, tensor<3x3x6x4xf32>, tensor<3x3x6x4xf32>, none)
  return %0#0, %0#1, %0#2 : tensor<3x2x24xf32>, tensor<3x3x6x4xf32>, tensor<3x3x6x4xf32>
}
func.func @group_query_packed(%q: tensor<3x2x24xf32>, %lengths: tensor<3xi32>, %qn: tensor<2xf32>, %kn: tensor<2xf32>) -> tensor<3x2x12xf32> {
  %none = apc.none
  %0:4 = "apc.group_query_attention"(%q, %none, %none, %none, %none, %lengths, %none, %none, %none, %none, %none, %none, %none, %none, %qn, %kn) {num_heads = 6 : i64, kv_num_heads = 3 : i64} : (tensor<3x2x24xf32>, none, none, none, none, tensor<3xi32>, none, none, none, none, none, none, none, none, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2x12xf32>, none, none, none)
  return %0#0 : tensor<3x2x12xf32>
}
func.func @group_query_groups(%q: tensor<2x2x16xf32>) -> (tensor<2x2x8xf32>, tensor<2x2x2x2xf32>) {
  %none = apc.none
  %0:4 = "apc.group_query_attention"(%q, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none) {num_heads = 4 : i64, kv_num_heads = 2 : i64} : (tensor<2x2x16xf32>, none, none, none, none, none, none, none, none, none, none, none, none, none, none, none) -> (tensor<2x2x8xf32>, tensor<2x2x2x2xf32>, none, none)
  return %0#0, %0#1 : tensor<2x2x8xf32>, tensor<2x2x2x2xf32>
}
func.func @multi_head(%q: tensor<3x5x12xf32>, %k: tensor<3x4x12xf32>, %v: tensor<3x4x18xf32>, %bias: tensor<42xf32>, %mask: tensor<3x4xi32>) -> tensor<3x5x18xf32> {
  %none = apc.none
  %0:4 = "apc.multi_head_attention"(%q, %k, %v, %bias, %mask, %none, %none, %none, %none, %none) {num_heads = 6 : i64} : (tensor<3x5x12xf32>, tensor<3x4x12xf32>, tensor<3x4x18xf32>, tensor<42xf32>, tensor<3x4xi32>, none, none, none, none, none) -> (tensor<3x5x18xf32>, none, none, none)
  return %0#0 : tensor<3x5x18xf32>
}
func.func @multi_head_blocks(%q: tensor<3x5x36xf32>, %bias: tensor<36xf32>, %mask: tensor<11xi32> {test.below = 5 : i64}) -> tensor<3x5x12xf32> {
  %none = apc.none
  %0:4 = "apc.multi_head_attention"(%q, %none, %none, %bias, %mask, %none, %none, %none, %none, %none) {num_heads = 6 : i64, unidirectional = 1 : i64} : (tensor<3x5x36xf32>, none, none, tensor<36xf32>, tensor<11xi32>, none, none, none, none, none) -> (tensor<3x5x12xf32>, none, none, none)
  return %0#0 : tensor<3x5x12xf32>
}
func.func @multi_head_interleaved(%q: tensor<3x5x6x3x2xf32>, %pk: tensor<3x6x2x2xf32>, %pv: tensor<3x6x2x2xf32>) -> (tensor<3x5x12xf32>, tensor<3x6x7x2xf32>) {
  %none = apc.none
  %0:4 = "apc.multi_head_attention"(%q, %none, %none, %none, %none, %none, %pk, %pv, %none, %none) {num_heads = 6 : i64} : (tensor<3x5x6x3x2xf32>, none, none, none, none, none, tensor<3x6x2x2xf32>, tensor<3x6x2x2xf32>, none, none) -> (tensor<3x5x12xf32>, tensor<3x6x7x2xf32>, none, none)
  return %0#0, %0#1 : tensor<3x5x12xf32>, tensor<3x6x7x2xf32>
}
func.func @multi_head_keys(%q: tensor<3x5x12xf32>, %kv: tensor<3x4x6x2x2xf32>, %lengths: tensor<3xi32> {test.below = 4 : i64}) -> tensor<3x5x12xf32> {
  %none = apc.none
  %0:4 = "apc.multi_head_attention"(%q, %kv, %none, %none, %lengths, %none, %none, %none, %none, %none) {num_heads = 6 : i64} : (tensor<3x5x12xf32>, tensor<3x4x6x2x2xf32>, none, none, tensor<3xi32>, none, none, none, none, none) -> (tensor<3x5x12xf32>, none, none, none)
  return %0#0 : tensor<3x5x12xf32>
}
func.func @decoder(%q: tensor<3x1x12xf32>, %k: tensor<3x1x12xf32>, %v: tensor<3x1x12xf32>, %mask: tensor<3x4xi32>, %pk: tensor<3x6x4x2xf32>, %pv: tensor<3x6x4x2xf32>, %bias: tensor<36xf32>) -> (tensor<3x1x12xf32>, tensor<3x6x4x2xf32>) {
  %none = apc.none
  %length = apc.constant dense<2> : tensor<1xi32>
  %0:4 = "apc.decoder_masked_multi_head_attention"(%q, %k, %v, %mask, %none, %pk, %pv, %length, %none, %none, %bias) {num_heads = 6 : i64, past_present_share_buffer = 1 : i64} : (tensor<3x1x12xf32>, tensor<3x1x12xf32>, tensor<3x1x12xf32>, tensor<3x4xi32>, none, tensor<3x6x4x2xf32>, tensor<3x6x4x2xf32>, tensor<1xi32>, none, none, tensor<36xf32>) -> (tensor<3x1x12xf32>, tensor<3x6x4x2xf32>, none, none)
  return %0#0, %0#1 : tensor<3x1x12xf32>, tensor<3x6x4x2xf32>
}
func.func @projected(%x: tensor<3x5x4xf32>, %w: tensor<4x30xf32>, %bias: tensor<30xf32>, %mask: tensor<6xi32> {test.below = 4 : i64}) -> tensor<3x5x6xf32> {
  %none = apc.none
  %0:2 = "apc.projected_attention"(%x, %w, %bias, %mask, %none, %none, %none) {num_heads = 6 : i64, qkv_hidden_sizes = array<i64: 12, 12, 6>} : (tensor<3x5x4xf32>, tensor<4x30xf32>, tensor<30xf32>, tensor<6xi32>, none, none, none) -> (tensor<3x5x6xf32>, none)
  return %0#0 : tensor<3x5x6xf32>
}
func.func @projected_past(%x: tensor<3x2x4xf32>, %w: tensor<4x36xf32>, %mask: tensor<3x1x8x8xi32>, %past: tensor<2x3x6x3x2xf32>) -> (tensor<3x2x12xf32>, tensor<2x3x6x5x2xf32>) {
  %none = apc.none
  %0:2 = "apc.projected_attention"(%x, %w, %none, %mask, %past, %none, %none) {num_heads = 6 : i64} : (tensor<3x2x4xf32>, tensor<4x36xf32>, none, tensor<3x1x8x8xi32>, tensor<2x3x6x3x2xf32>, none, none) -> (tensor<3x2x12xf32>, tensor<2x3x6x5x2xf32>)
  return %0#0, %0#1 : tensor<3x2x12xf32>, tensor<2x3x6x5x2xf32>
}
func.func @rotary(%x: tensor<3x5x24xf32>, %cos: tensor<7x2xf32>, %sin: tensor<7x2xf32>, %at: tensor<3x5xi64> {test.below = 7 : i64}) -> tensor<3x5x24xf32> {
  %0 = "apc.rotary_embedding"(%x, %cos, %sin, %at) {num_heads = 6 : i64} : (tensor<3x5x24xf32>, tensor<7x2xf32>, tensor<7x2xf32>, tensor<3x5xi64>) -> tensor<3x5x24xf32>
  return %0 : tensor<3x5x24xf32>
}
func.func @rotary_split(%x: tensor<3x5x4x6xf32>, %cos: tensor<3x4x2xf32>, %sin: tensor<3x4x2xf32>) -> tensor<3x5x4x6xf32> {
  %none = apc.none
  %0 = "apc.rotary_embedding"(%x, %cos, %sin, %none) {rotary_embedding_dim = 4 : i64, interleaved = 1 : i64} : (tensor<3x5x4x6xf32>, tensor<3x4x2xf32>, tensor<3x4x2xf32>, none) -> tensor<3x5x4x6xf32>
  return %0 : tensor<3x5x4x6xf32>
}
func.func @rotary_from(%x: tensor<3x5x24xf32>, %from: tensor<1xi64>, %cos: tensor<7x2xf32>, %sin: tensor<7x2xf32>) -> tensor<3x5x24xf32> {
  %0 = "apc.ms_rotary_embedding"(%x, %from, %cos, %sin) : (tensor<3x5x24xf32>, tensor<1xi64>, tensor<7x2xf32>, tensor<7x2xf32>) -> tensor<3x5x24xf32>
  return %0 : tensor<3x5x24xf32>
}
func.func @linear(%q: tensor<3x4x12xf32>, %k: tensor<3x4x6xf32>, %v: tensor<3x4x9xf32>, %decay: tensor<3x4x6xf32>, %beta: tensor<3x4x3xf32>) -> (tensor<3x4x18xf32>, tensor<3x3x2x3xf32>) {
  %none = apc.none
  %0:2 = "apc.linear_attention"(%q, %k, %v, %none, %decay, %beta) {q_num_heads = 6 : i64, kv_num_heads = 3 : i64} : (tensor<3x4x12xf32>, tensor<3x4x6xf32>, tensor<3x4x9xf32>, none, tensor<3x4x6xf32>, tensor<3x4x3xf32>) -> (tensor<3x4x18xf32>, tensor<3x3x2x3xf32>)
  return %0#0, %0#1 : tensor<3x4x18xf32>, tensor<3x3x2x3xf32>
}
func.func @causal_conv(%x: tensor<3x5x4xf32>, %w: tensor<5x1x3xf32>, %b: tensor<5xf32>) -> (tensor<3x5x4xf32>, tensor<3x5x2xf32>) {
  %none = apc.none
  %0:2 = "apc.causal_conv_with_state"(%x, %w, %b, %none) {activation = "silu"} : (tensor<3x5x4xf32>, tensor<5x1x3xf32>, tensor<5xf32>, none) -> (tensor<3x5x4xf32>, tensor<3x5x2xf32>)
  return %0#0, %0#1 : tensor<3x5x4xf32>, tensor<3x5x2xf32>
}
func.func @swiglu(%a: tensor<5x6xf32>, %b: tensor<6xf32>) -> tensor<5x6xf32> {
  %0 = "apc.swiglu"(%a, %b) : (tensor<5x6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}
func.func @moe(%x: tensor<5x4xf32>, %router: tensor<5x6xf32>, %up: tensor<6x3x4xf32>, %upBias: tensor<6x3xf32>, %down: tensor<6x4x3xf32>, %bias: tensor<6x4xf32>, %gate: tensor<6x3x4xf32>) -> tensor<5x4xf32> {
  %none = apc.none
  %0 = "apc.moe"(%x, %router, %up, %upBias, %down, %bias, %gate, %none) {activation_type = "silu", k = 2 : i64} : (tensor<5x4xf32>, tensor<5x6xf32>, tensor<6x3x4xf32>, tensor<6x3xf32>, tensor<6x4x3xf32>, tensor<6x4xf32>, tensor<6x3x4xf32>, none) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}
func.func @moe_inputs_first(%x: tensor<5x4xf32>, %router: tensor<5x6xf32>, %up: tensor<6x4x8xf32>, %upBias: tensor<6x8xf32>, %down: tensor<6x8x4xf32>, %bias: tensor<6x4xf32>, %gate: tensor<6x4x8xf32>) -> tensor<5x4xf32> {
  %none = apc.none
  %0 = "apc.moe"(%x, %router, %up, %upBias, %down, %bias, %gate, %none) {activation_type = "silu", k = 2 : i64} : (tensor<5x4xf32>, tensor<5x6xf32>, tensor<6x4x8xf32>, tensor<6x8xf32>, tensor<6x8x4xf32>, tensor<6x4xf32>, tensor<6x4x8xf32>, none) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}
func.func @moe_swiglu_inputs_first(%x: tensor<2x3x4xf32>, %router: tensor<6x5xf32>, %up: tensor<5x4x16xf32>, %down: tensor<5x8x4xf32>) -> tensor<2x3x4xf32> {
  %none = apc.none
  %0 = "apc.moe"(%x, %router, %up, %none, %down, %none, %none, %none) {activation_type = "swiglu", swiglu_fusion = 1 : i64, k = 2 : i64} : (tensor<2x3x4xf32>, tensor<6x5xf32>, tensor<5x4x16xf32>, none, tensor<5x8x4xf32>, none, none, none) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
func.func @moe_swiglu(%x: tensor<2x3x4xf32>, %router: tensor<6x5xf32>, %up: tensor<5x6x4xf32>, %down: tensor<5x4x3xf32>) -> tensor<2x3x4xf32> {
  %none = apc.none
  %0 = "apc.moe"(%x, %router, %up, %none, %down, %none, %none, %none) {activation_type = "swiglu", swiglu_fusion = 1 : i64, k = 2 : i64, normalize_routing_weights = 1 : i64} : (tensor<2x3x4xf32>, tensor<6x5xf32>, tensor<5x6x4xf32>, none, tensor<5x4x3xf32>, none, none, none) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
func.func @qmoe(%x: tensor<5x4xf32>, %router: tensor<5x6xf32>, %up: tensor<6x6x2xui8> {test.below = 256 : i64}, %us: tensor<6x6xf32>, %down: tensor<6x4x3xui8> {test.below = 256 : i64}, %ds: tensor<6x4xf32>, %bias: tensor<6x4xf32>) -> tensor<5x4xf32> {
  %none = apc.none
  %0 = "apc.qmoe"(%x, %router, %up, %us, %none, %down, %ds, %bias, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none) {k = 2 : i64} : (tensor<5x4xf32>, tensor<5x6xf32>, tensor<6x6x2xui8>, tensor<6x6xf32>, none, tensor<6x4x3xui8>, tensor<6x4xf32>, tensor<6x4xf32>, none, none, none, none, none, none, none, none, none, none, none, none, none) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}
func.func @softmax_attention(%q: tensor<3x4x5x2xf32>, %k: tensor<3x2x6x2xf32>, %v: tensor<3x2x6x3xf32>, %mask: tensor<4x5x6xf32>) -> tensor<3x4x5x3xf32> {
  %0 = "apc.softmax_attention"(%q, %k, %v, %mask) {scale = 0.5 : f32} : (tensor<3x4x5x2xf32>, tensor<3x2x6x2xf32>, tensor<3x2x6x3xf32>, tensor<4x5x6xf32>) -> tensor<3x4x5x3xf32>
  return %0 : tensor<3x4x5x3xf32>
}
func.func @softmax_attention_filled(%q: tensor<5x3x2xf32>, %k: tensor<5x2x4xf32>, %v: tensor<5x4x2xf32>, %mask: tensor<3x4xi1>) -> tensor<5x3x2xf32> {
  %0 = "apc.softmax_attention"(%q, %k, %v, %mask) {fill = -1.0e+04 : f32, keys_transposed = 1 : i64, seen = 0 : i64} : (tensor<5x3x2xf32>, tensor<5x2x4xf32>, tensor<5x4x2xf32>, tensor<3x4xi1>) -> tensor<5x3x2xf32>
  return %0 : tensor<5x3x2xf32>
}
func.func @rotate_half(%x: tensor<3x5x6xf32>, %cos: tensor<5x6xf32>, %sin: tensor<3x1x6xf32>) -> tensor<3x5x6xf32> {
  %0 = "apc.rotate_half"(%x, %cos, %sin) : (tensor<3x5x6xf32>, tensor<5x6xf32>, tensor<3x1x6xf32>) -> tensor<3x5x6xf32>
  return %0 : tensor<3x5x6xf32>
}
func.func @log_sum(%q: tensor<3x6x5x2xf32>, %k: tensor<3x3x5x2xf32>, %mask: tensor<5x5xi1>) -> tensor<3x6x5xf32> {
  %0 = "apc.softmax_attention_log_sum"(%q, %k, %mask) {fill = -2.0 : f32} : (tensor<3x6x5x2xf32>, tensor<3x3x5x2xf32>, tensor<5x5xi1>) -> tensor<3x6x5xf32>
  return %0 : tensor<3x6x5xf32>
}
func.func @by_log_sum(%q: tensor<3x6x2x2xf32>, %k: tensor<3x3x2x5xf32>, %v: tensor<3x3x5x3xf32>, %mask: tensor<6x1x5xf32>, %s: tensor<3x6x2xf32>) -> tensor<3x6x2x3xf32> {
  %0 = "apc.softmax_attention_by"(%q, %k, %v, %mask, %s) {keys_transposed = 1 : i64, scale = 0.5 : f32} : (tensor<3x6x2x2xf32>, tensor<3x3x2x5xf32>, tensor<3x3x5x3xf32>, tensor<6x1x5xf32>, tensor<3x6x2xf32>) -> tensor<3x6x2x3xf32>
  return %0 : tensor<3x6x2x3xf32>
}
// Queries that see no key of a piece, or none at all.
func.func @unseen(%q: tensor<2x1x3x2xf32>, %k: tensor<2x1x5x2xf32>, %v: tensor<2x1x5x3xf32>) -> tensor<2x1x3x3xf32> {
  %mask = apc.constant dense<[[0.0, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000], [0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0.0], [0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000]]> : tensor<3x5xf32>
  %s = "apc.softmax_attention_log_sum"(%q, %k, %mask) : (tensor<2x1x3x2xf32>, tensor<2x1x5x2xf32>, tensor<3x5xf32>) -> tensor<2x1x3xf32>
  %0 = "apc.softmax_attention_by"(%q, %k, %v, %mask, %s) {nan_is_zero = 1 : i64} : (tensor<2x1x3x2xf32>, tensor<2x1x5x2xf32>, tensor<2x1x5x3xf32>, tensor<3x5xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3x3xf32>
  return %0 : tensor<2x1x3x3xf32>
}
