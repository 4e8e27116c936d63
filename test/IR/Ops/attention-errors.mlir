// RUN: apc-opt %s --split-input-file --verify-diagnostics
// Errors for heads, masks, caches and weights that do not fit stand at the op.

func.func @heads(%q: tensor<2x9x4x8xf32>, %k: tensor<2x4x4x8xf32>) {
  %none = apc.none
  // expected-error @below {{the number of key heads is 4, which does not divide 9}}
  %0:4 = "apc.attention"(%q, %k, %k, %none, %none, %none, %none) : (tensor<2x9x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, none, none, none, none) -> (tensor<2x9x4x8xf32>, none, none, none)
  return
}

// -----

func.func @no_heads(%q: tensor<2x4x64xf32>) {
  %none = apc.none
  // expected-error @below {{'kv_num_heads' is 0, which does not divide 0}}
  %0:4 = "apc.attention"(%q, %q, %q, %none, %none, %none, %none) : (tensor<2x4x64xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>, none, none, none, none) -> (tensor<2x4x64xf32>, none, none, none)
  return
}

// -----

func.func @mask(%q: tensor<2x4x4x8xf32>, %m: tensor<3x4xf32>) {
  %none = apc.none
  // expected-error @below {{operand 'attn_mask' does not broadcast to [2, 4, 4, 4] (batch, heads, queries, keys)}}
  %0:4 = "apc.attention"(%q, %q, %q, %m, %none, %none, %none) : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<3x4xf32>, none, none, none) -> (tensor<2x4x4x8xf32>, none, none, none)
  return
}

// -----

func.func @past(%q: tensor<2x4x4x8xf32>) {
  %none = apc.none
  // expected-error @below {{operands 'past_key' and 'past_value' are given together or not at all}}
  %0:4 = "apc.attention"(%q, %q, %q, %none, %q, %none, %none) : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, none, tensor<2x4x4x8xf32>, none, none) -> (tensor<2x4x4x8xf32>, none, none, none)
  return
}

// -----

func.func @packed(%q: tensor<2x4x100xf16>, %n: tensor<2xi32>, %t: tensor<i32>) {
  %none = apc.none
  // expected-error @below {{'num_heads' + 2 * 'kv_num_heads' is 12, which does not divide 100}}
  %0:4 = "apc.group_query_attention"(%q, %none, %none, %none, %none, %n, %t, %none, %none, %none, %none, %none, %none, %none, %none, %none) {kv_num_heads = 2 : i64, num_heads = 8 : i64} : (tensor<2x4x100xf16>, none, none, none, none, tensor<2xi32>, tensor<i32>, none, none, none, none, none, none, none, none, none) -> (tensor<2x4x64xf16>, none, none, none)
  return
}

// -----

func.func @cache(%q: tensor<2x4x64xf16>, %k: tensor<2x4x16xf16>, %p: tensor<2x3x5x8xf16>, %n: tensor<2xi32>, %t: tensor<i32>) {
  %none = apc.none
  // expected-error @below {{operand 'past_key' has shape [2, 3, 5, 8] where [2, 2, -1, 8] is needed}}
  %0:4 = "apc.group_query_attention"(%q, %k, %k, %p, %p, %n, %t, %none, %none, %none, %none, %none, %none, %none, %none, %none) {kv_num_heads = 2 : i64, num_heads = 8 : i64} : (tensor<2x4x64xf16>, tensor<2x4x16xf16>, tensor<2x4x16xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2xi32>, tensor<i32>, none, none, none, none, none, none, none, none, none) -> (tensor<2x4x64xf16>, none, none, none)
  return
}

// -----

func.func @projection(%x: tensor<2x4x48xf32>, %w: tensor<48x100xf32>) {
  %none = apc.none
  // expected-error @below {{the number of projections is 3, which does not divide 100}}
  %0:2 = "apc.projected_attention"(%x, %w, %none, %none, %none, %none, %none) {num_heads = 4 : i64} : (tensor<2x4x48xf32>, tensor<48x100xf32>, none, none, none, none, none) -> (tensor<2x4x48xf32>, none)
  return
}

// -----

func.func @rotation(%x: tensor<2x8x16x64xf16>, %table: tensor<4096x16xf16>, %ids: tensor<2x16xi64>) {
  // expected-error @below {{operand 'cos_cache' has shape [4096, 16] where [-1, 32] is needed}}
  %0 = "apc.rotary_embedding"(%x, %table, %table, %ids) : (tensor<2x8x16x64xf16>, tensor<4096x16xf16>, tensor<4096x16xf16>, tensor<2x16xi64>) -> tensor<2x8x16x64xf16>
  return
}

// -----

func.func @experts(%x: tensor<64x16xf32>, %router: tensor<64x8xf32>, %up: tensor<8x32x16xf32>, %down: tensor<8x16x32xf32>) {
  %none = apc.none
  // expected-error @below {{'k' is 9; 1 to the 8 experts is needed}}
  %0 = "apc.moe"(%x, %router, %up, %none, %down, %none, %none, %none) {k = 9 : i64} : (tensor<64x16xf32>, tensor<64x8xf32>, tensor<8x32x16xf32>, none, tensor<8x16x32xf32>, none, none, none) -> tensor<64x16xf32>
  return
}

// -----

func.func @expert_weights_of_no_order(%x: tensor<64x16xf32>, %router: tensor<64x8xf32>, %up: tensor<8x32x24xf32>, %down: tensor<8x16x32xf32>) {
  %none = apc.none
  // expected-error @below {{'apc.moe' op operand 'fc1_experts_weights' has shape [8, 32, 24] where [8, -1, 16] ([experts, outputs, inputs]) or [8, 16, -1] ([experts, inputs, outputs]) is needed (-1 is any size)}}
  %0 = "apc.moe"(%x, %router, %up, %none, %down, %none, %none, %none) : (tensor<64x16xf32>, tensor<64x8xf32>, tensor<8x32x24xf32>, none, tensor<8x16x32xf32>, none, none, none) -> tensor<64x16xf32>
  return
}

// -----

func.func @expert_weights_of_two_orders(%x: tensor<64x16xf32>, %router: tensor<64x8xf32>, %square: tensor<8x16x16xf32>, %down: tensor<8x32x16xf32>) {
  %none = apc.none
  // expected-error @below {{'apc.moe' op operand 'fc2_experts_weights' has shape [8, 32, 16] where [8, 16, 16] ([experts, outputs, inputs]) or [8, 16, 16] ([experts, inputs, outputs]) is needed (-1 is any size)}}
  %0 = "apc.moe"(%x, %router, %square, %none, %down, %none, %none, %none) : (tensor<64x16xf32>, tensor<64x8xf32>, tensor<8x16x16xf32>, none, tensor<8x32x16xf32>, none, none, none) -> tensor<64x16xf32>
  return
}

// -----

func.func @packed_expert_weights(%x: tensor<64x16xf32>, %router: tensor<64x8xf32>, %up: tensor<8x32x8xui8>, %down: tensor<8x20x16xui8>, %scale: tensor<8x32xf32>) {
  %none = apc.none
  // expected-error @below {{'apc.qmoe' op operand 'fc2_experts_weights' has shape [8, 20, 16] where [8, 16, -1] ([experts, outputs, inputs]) or [8, 16, 8] ([experts, inputs, outputs]) is needed (-1 is any size)}}
  %0 = "apc.qmoe"(%x, %router, %up, %scale, %none, %down, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none) : (tensor<64x16xf32>, tensor<64x8xf32>, tensor<8x32x8xui8>, tensor<8x32xf32>, none, tensor<8x20x16xui8>, none, none, none, none, none, none, none, none, none, none, none, none, none, none, none) -> tensor<64x16xf32>
  return
}

// -----

func.func @key_heads(%q: tensor<2x8x16x32xf32>, %k: tensor<2x3x24x32xf32>) {
  %none = apc.none
  // expected-error @below {{the number of key heads is 3, which does not divide 8}}
  %0 = "apc.softmax_attention"(%q, %k, %k, %none) : (tensor<2x8x16x32xf32>, tensor<2x3x24x32xf32>, tensor<2x3x24x32xf32>, none) -> tensor<2x8x16x32xf32>
  return
}

// -----

func.func @score_mask(%q: tensor<2x8x16x32xf32>, %k: tensor<2x8x24x32xf32>, %mask: tensor<16x16xf32>) {
  // expected-error @below {{operand 'mask' of shape [16, 16] does not broadcast to the scores [2, 8, 16, 24]}}
  %0 = "apc.softmax_attention"(%q, %k, %k, %mask) : (tensor<2x8x16x32xf32>, tensor<2x8x24x32xf32>, tensor<2x8x24x32xf32>, tensor<16x16xf32>) -> tensor<2x8x16x32xf32>
  return
}

// -----

func.func @added_bools(%q: tensor<2x8x16x32xf32>, %mask: tensor<16x16xi1>) {
  // expected-error @below {{needs a mask of bools where 'fill' is given, and one of floats where it is not}}
  %0 = "apc.softmax_attention"(%q, %q, %q, %mask) : (tensor<2x8x16x32xf32>, tensor<2x8x16x32xf32>, tensor<2x8x16x32xf32>, tensor<16x16xi1>) -> tensor<2x8x16x32xf32>
  return
}

// -----

func.func @padding_mask(%q: tensor<2x4x8xf32>, %m: tensor<2x3xi32>) {
  %none = apc.none
  // expected-error @below {{operand 'key_padding_mask' has shape [2, 3]; accepted are [b], [2 b], [3 b + 2], [b, t], [b, s, t] and [b, 1, u, u] with batch b = 2, queries s = 4, keys t from 4 to 4 and u of at least 4}}
  %0:4 = "apc.multi_head_attention"(%q, %q, %q, %none, %m, %none, %none, %none, %none, %none) {num_heads = 2 : i64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, none, tensor<2x3xi32>, none, none, none, none, none) -> (tensor<2x4x8xf32>, none, none, none)
  return
}

// -----

func.func @mask_index(%x: tensor<2x4x8xf32>, %w: tensor<8x24xf32>, %m: tensor<2x3x4xi32>) {
  %none = apc.none
  // expected-error @below {{operand 'mask_index' has shape [2, 3, 4]; accepted are [b], [2 b]}}
  %0:2 = "apc.projected_attention"(%x, %w, %none, %m, %none, %none, %none) {num_heads = 2 : i64} : (tensor<2x4x8xf32>, tensor<8x24xf32>, none, tensor<2x3x4xi32>, none, none, none) -> (tensor<2x4x8xf32>, none)
  return
}

// -----

func.func @past_length(%q: tensor<2x4x8xf32>, %p: tensor<2x2x3x4xf32>, %n: tensor<1xf32>) {
  %none = apc.none
  // expected-error @below {{operand 'past_sequence_length' holds 'f32'; accepted are i32}}
  %0:4 = "apc.multi_head_attention"(%q, %q, %q, %none, %none, %none, %p, %p, %n, %none) {num_heads = 2 : i64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, none, none, none, tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<1xf32>, none) -> (tensor<2x4x8xf32>, none, none, none)
  return
}

// -----

func.func @windows(%q: tensor<2x4x4x8xf32>) {
  %none = apc.none
  // expected-error @below {{attribute 'left_window_size' failed to satisfy constraint: -1}}
  %0:4 = "apc.attention"(%q, %q, %q, %none, %none, %none, %none) {left_window_size = 2 : i64} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, none, none, none, none) -> (tensor<2x4x4x8xf32>, none, none, none)
  return
}

// -----

func.func @lengths(%q: tensor<2x4x64xf16>, %k: tensor<2x4x16xf16>, %n: tensor<3xi32>, %t: tensor<i32>) {
  %none = apc.none
  // expected-error @below {{operand 'seqlens_k' has shape [3] where [2] is needed}}
  %0:4 = "apc.group_query_attention"(%q, %k, %k, %none, %none, %n, %t, %none, %none, %none, %none, %none, %none, %none, %none, %none) {kv_num_heads = 2 : i64, num_heads = 8 : i64} : (tensor<2x4x64xf16>, tensor<2x4x16xf16>, tensor<2x4x16xf16>, none, none, tensor<3xi32>, tensor<i32>, none, none, none, none, none, none, none, none, none) -> (tensor<2x4x64xf16>, none, none, none)
  return
}

// -----

func.func @angles(%q: tensor<2x4x64xf16>, %k: tensor<2x4x16xf16>, %n: tensor<2xi32>, %t: tensor<i32>, %c: tensor<16x8xf16>) {
  %none = apc.none
  // expected-error @below {{operand 'cos_cache' has shape [16, 8]; [positions, pairs] with at most 4 pairs of elements of a head is needed}}
  %0:4 = "apc.group_query_attention"(%q, %k, %k, %none, %none, %n, %t, %c, %c, %none, %none, %none, %none, %none, %none, %none) {kv_num_heads = 2 : i64, num_heads = 8 : i64, do_rotary = 1 : i64} : (tensor<2x4x64xf16>, tensor<2x4x16xf16>, tensor<2x4x16xf16>, none, none, tensor<2xi32>, tensor<i32>, tensor<16x8xf16>, tensor<16x8xf16>, none, none, none, none, none, none, none) -> (tensor<2x4x64xf16>, none, none, none)
  return
}

// -----

func.func @expert_scales(%x: tensor<6x8xf32>, %router: tensor<6x4xf32>, %up: tensor<4x16x4xui8>, %down: tensor<4x8x8xui8>, %scale: tensor<2x16xf32>) {
  %none = apc.none
  // expected-error @below {{operand 'fc1_scales' has shape [2, 16]; its first dim must be that of the 4 experts}}
  %0 = "apc.qmoe"(%x, %router, %up, %scale, %none, %down, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none, %none) : (tensor<6x8xf32>, tensor<6x4xf32>, tensor<4x16x4xui8>, tensor<2x16xf32>, none, tensor<4x8x8xui8>, none, none, none, none, none, none, none, none, none, none, none, none, none, none, none) -> tensor<6x8xf32>
  return
}

// -----

func.func @gate_of_elements(%q: tensor<2x3x4xf32>, %gate: tensor<2x3x4xf32>) {
  %none = apc.none
  // expected-error @below {{operand 'beta' has 4 values for a position; accepted are 1, 2}}
  %0:2 = "apc.linear_attention"(%q, %q, %q, %none, %gate, %gate) {kv_num_heads = 2 : i64, q_num_heads = 2 : i64, update_rule = "gated_delta"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, none, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x2x2x2xf32>)
  return
}

// -----

func.func @gate_of_no_count(%q: tensor<2x3x4xf32>, %gate: tensor<2x3x3xf32>) {
  %none = apc.none
  // expected-error @below {{operand 'decay' has 3 values for a position; accepted are 1, 2, 4}}
  %0:2 = "apc.linear_attention"(%q, %q, %q, %none, %gate, %none) {kv_num_heads = 2 : i64, q_num_heads = 2 : i64, update_rule = "gated"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, none, tensor<2x3x3xf32>, none) -> (tensor<2x3x4xf32>, tensor<2x2x2x2xf32>)
  return
}
